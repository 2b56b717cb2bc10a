"""The sample of the partials: of the keys with the smallest hashes, however the stream is cut."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.aggregate.kind import Aggregate
from tailrace.disorder.quantile.key_sketch import GROUPS
from tailrace.partition.by_key import hash_of
from tailrace.windows.sliding import Sliding

SUM = Aggregate(Sliding(20, 10), "sum", {"value": "value"}, pa.string())
# (key, event time, tick, value)
TUPLES = st.lists(
    st.tuples(st.integers(0, 40).map(str), st.integers(-200, 200), st.integers(0, 3), st.integers(-9, 9)), max_size=80
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


def comparable(groups: dict) -> set:
    return {tuple(sorted((place, tuple(sums)) for place, sums in rows.items())) for rows in groups.values()}


def counting(rows: list[tuple[str, int, int, int]]) -> dict[int, dict]:
    """What a sample must have at least: the rows of each stretch's sixteen smallest hashes so far."""
    found: dict[int, dict] = defaultdict(lambda: defaultdict(lambda: np.zeros(3)))
    hashes = {key: int(hash_of(pa.array([key]))[0]) for key, *_ in rows}
    for key, event, tick, value in rows:
        come = {hashes[other] for other, e, t, _ in rows if t <= tick and e // 160 == event // 160}
        if sorted(come).index(hashes[key]) < GROUPS:
            found[hashes[key]][tick, event // 10 * 10] += [1, value, value**2]
    return found


def merged(parts: list[dict[int, dict]], groups: dict[int, dict]) -> dict[int, dict]:
    """What the parts have at the places of `groups`, by unsigned hash."""
    found: dict[int, dict] = {group: {place: np.zeros(3) for place in places} for group, places in groups.items()}
    for part in parts:
        for group, places in part.items():
            for place, sums in places.items():
                if place in found.get(group % 2**64, {}):
                    found[group % 2**64][place] += sums
    return found


@settings(max_examples=80, deadline=None)
@given(TUPLES.map(lambda rows: sorted(rows, key=lambda row: row[2])), st.lists(st.integers(0, 80), max_size=3))
def test_the_keys_that_count_at_a_tick_are_there_in_whole_however_the_log_is_cut(rows, cuts):
    bounds = [0, *sorted(cuts), len(rows)]
    must = counting(rows)
    parts = [drawn(rows[low:high]) for low, high in pairwise(bounds)]
    assert comparable(merged(parts, must)) == comparable(must)
    assert comparable(merged([drawn(rows)], must)) == comparable(must)


@given(TUPLES.map(lambda rows: sorted(rows, key=lambda row: row[2])))
def test_it_has_no_more_than_sixteen_keys_of_a_tick_and_a_stretch(rows):
    by_tick: dict[tuple[int, int], set] = defaultdict(set)
    for group, places in drawn(rows).items():
        for tick, pane in places:
            by_tick[tick, pane // 160].add(group)
    assert all(len(groups) <= GROUPS for groups in by_tick.values())


def test_a_stream_without_keys_is_one_group():
    rows = [(None, 0, 0, 1), (None, 5, 0, 2)]
    (told,) = drawn(rows).values()
    assert {place: sums.tolist() for place, sums in told.items()} == {(0, 0): [2, 3, 5]}
