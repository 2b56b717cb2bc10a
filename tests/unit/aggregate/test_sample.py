"""The sample of the partials: of the keys with the smallest hashes, however the stream is cut."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.aggregate.kind import Aggregate
from tailrace.aggregate.sample import KEYS
from tailrace.windows.sliding import Sliding

SUM = Aggregate(Sliding(20, 10), "sum", {"value": "value"}, pa.string())
# (key, event time, tick, value)
TUPLES = st.lists(
    st.tuples(st.integers(0, 40).map(str), st.integers(-50, 50), st.integers(0, 3), st.integers(-9, 9)), max_size=80
)


def drawn(rows: list[tuple[str, int, int, int]], kind: Aggregate = SUM) -> dict[int, dict]:
    """By group: what was told of each (tick, pane)."""
    key, event, tick, value = zip(*rows, strict=True) if rows else ([], [], [], [])
    columns = {"event_time": pa.array(event, pa.int64()), "tick": pa.array(tick, pa.int64())}
    columns |= {"key": pa.array(key, pa.string()), "value": pa.array(value, pa.float64())}
    found: dict[int, dict] = defaultdict(lambda: defaultdict(lambda: np.zeros(3)))
    for row in kind.sample(pa.RecordBatch.from_pydict(columns)).to_pylist():
        found[row["group"]][row["tick"], row["pane"]] += [row["tuples"], row["total"], row["squares"]]
    return found


def plainly(rows: list[tuple[str, int, int, int]]) -> dict[str, dict]:
    """By key, the same."""
    found: dict[str, dict] = defaultdict(lambda: defaultdict(lambda: np.zeros(3)))
    for key, event, tick, value in rows:
        found[key][tick, event // 10 * 10] += [1, value, value**2]
    return found


def comparable(groups: dict) -> set:
    return {tuple(sorted((place, tuple(sums)) for place, sums in rows.items())) for rows in groups.values()}


@settings(max_examples=60, deadline=None)
@given(TUPLES)
def test_it_has_whole_keys_and_no_more_than_sixteen(rows):
    found = drawn(rows)
    assert len(found) == min(KEYS, len({key for key, *_ in rows}))
    assert comparable(found) <= comparable(plainly(rows))


@settings(max_examples=60, deadline=None)
@given(TUPLES, st.integers(0, 80))
def test_the_keys_of_the_whole_are_in_the_parts_however_it_is_cut(rows, cut):
    whole, parts = drawn(rows), [drawn(rows[:cut]), drawn(rows[cut:])]
    for group, told in whole.items():
        together: dict = defaultdict(lambda: np.zeros(3))
        for part in parts:
            for place, sums in part.get(group, {}).items():
                together[place] += sums
        assert comparable({group: together}) == comparable({group: told})


@settings(max_examples=30, deadline=None)
@given(TUPLES)
def test_the_groups_of_the_whole_are_the_smallest_of_all_parts(rows):
    parts = [drawn(rows[:40]), drawn(rows[40:])]
    groups = sorted({group for part in parts for group in part}, key=lambda group: group % 2**64)
    assert sorted(drawn(rows), key=lambda group: group % 2**64) == groups[:KEYS]


def test_a_stream_without_keys_is_one_group():
    rows = [(None, 0, 0, 1), (None, 5, 0, 2)]
    (told,) = drawn(rows).values()
    assert {place: sums.tolist() for place, sums in told.items()} == {(0, 0): [2, 3, 5]}
