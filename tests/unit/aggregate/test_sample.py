"""The sample of the partials holds the keys with the smallest hashes, however the stream is cut into batches."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.aggregates import kind_of
from kit.suite.examples import drawn
from tailrace.aggregate.kind import Aggregate
from tailrace.aggregate.named_section import NAMED, NamedAggregatesSection
from tailrace.aggregate.planning import aggregate_of
from tailrace.disorder.quantile.key_sketch import GROUPS
from tailrace.kind.inputs import ColumnTypes
from tailrace.partition.by_key import hash_of
from tailrace.windows.sliding import Sliding

SUM = kind_of(Sliding(20, 10), "sum")
# (key, event time, tick, value)
TUPLES = st.lists(
    st.tuples(st.integers(0, 40).map(str), st.integers(-200, 200), st.integers(0, 3), st.integers(-9, 9)), max_size=80
)


def sample_sums(rows: list[tuple[str, int, int, int]], kind: Aggregate = SUM) -> dict[int, dict]:
    """The sampled sums (tuples, total, squares) by key group and (tick, pane)."""
    key, event, tick, value = zip(*rows, strict=True) if rows else ([], [], [], [])
    columns = {"event_time": pa.array(event, pa.int64()), "tick": pa.array(tick, pa.int64())}
    columns |= {"key": pa.array(key, pa.string()), "value": pa.array(value, pa.float64())}
    sums: dict[int, dict] = defaultdict(lambda: defaultdict(lambda: np.zeros(3)))
    for row in kind.sample(pa.RecordBatch.from_pydict(columns), [None]).to_pylist():
        sums[row["group"]][row["tick"], row["pane"]] += [row["tuples"], row["value:total"], row["value:squared"]]
    return sums


def comparable(groups: dict) -> set:
    return {tuple(sorted((place, tuple(sums)) for place, sums in rows.items())) for rows in groups.values()}


def required_sums(rows: list[tuple[str, int, int, int]]) -> dict[int, dict]:
    """The least that a sample must hold: the rows of the sixteen smallest key hashes so far in each stretch."""
    sums_by_group: dict[int, dict] = defaultdict(lambda: defaultdict(lambda: np.zeros(3)))
    hashes = {key: int(hash_of(pa.array([key]))[0]) for key, *_ in rows}
    for key, event, tick, value in rows:
        hashes_so_far = {hashes[other] for other, e, t, _ in rows if t <= tick and e // 160 == event // 160}
        if sorted(hashes_so_far).index(hashes[key]) < GROUPS:
            sums_by_group[hashes[key]][tick, event // 10 * 10] += [1, value, value**2]
    return sums_by_group


def merge(parts: list[dict[int, dict]], groups: dict[int, dict]) -> dict[int, dict]:
    """Add up what the parts hold at the places of `groups`, by unsigned hash."""
    sums_by_group: dict[int, dict] = {
        group: {place: np.zeros(3) for place in places} for group, places in groups.items()
    }
    for part in parts:
        for group, places in part.items():
            for place, sums in places.items():
                if place in sums_by_group.get(group % 2**64, {}):
                    sums_by_group[group % 2**64][place] += sums
    return sums_by_group


@drawn(80)
@given(TUPLES.map(lambda rows: sorted(rows, key=lambda row: row[2])), st.lists(st.integers(0, 80), max_size=3))
def test_the_keys_with_the_smallest_hashes_are_complete_however_the_log_is_cut(rows, cuts):
    bounds = [0, *sorted(cuts), len(rows)]
    required = required_sums(rows)
    parts = [sample_sums(rows[low:high]) for low, high in pairwise(bounds)]
    assert comparable(merge(parts, required)) == comparable(required)
    assert comparable(merge([sample_sums(rows)], required)) == comparable(required)


@given(TUPLES.map(lambda rows: sorted(rows, key=lambda row: row[2])))
def test_the_sample_has_at_most_sixteen_keys_per_tick_and_stretch(rows):
    by_tick: dict[tuple[int, int], set] = defaultdict(set)
    for group, places in sample_sums(rows).items():
        for tick, pane in places:
            by_tick[tick, pane // 160].add(group)
    assert all(len(groups) <= GROUPS for groups in by_tick.values())


def test_a_stream_without_keys_is_one_group():
    rows = [(None, 0, 0, 1), (None, 5, 0, 2)]
    (places,) = sample_sums(rows).values()
    assert {place: sums.tolist() for place, sums in places.items()} == {(0, 0): [2, 3, 5]}


def test_what_no_policy_promises_is_left_out_of_rows_and_columns():
    section = {"total": {"function": "sum", "column": "v"}, "middle": {"function": "median", "column": "v"}}
    section |= {"texts": {"function": "count_distinct", "column": "t"}, "rate": {"expression": "total / tuples"}}
    types = ColumnTypes(carried={"value_v": pa.int64(), "value_t": pa.string()})
    kind = aggregate_of(
        Sliding(20, 10), NamedAggregatesSection.model_validate({"function": NAMED, "each": section}), types
    )
    many = 2**60 + 1
    times = pa.array([0] * 5, pa.int64())
    columns = {"key": pa.array(["a"] * 5), "event_time": times, "tick": times, "arrival_time": times}
    columns |= {"id": pa.array([*"abcde"]), "value_v": pa.array([many] * 5), "value_t": pa.array([*"vwxyz"])}
    tuples = pa.RecordBatch.from_pydict(columns)
    (row,) = kind.sample(tuples, [("total",), ("rate",)]).to_pylist()
    assert row["tuples"] == row["value_v:count"] == 5
    low, high = row["value_v:digit0"], row["value_v:digit1"]
    assert (high << 32) + low == 5 * many
    assert (row["value_v:doubles"], row["value_v:doubles:has"], row["value_t:values"]) == (0, 0, None)
    assert kind.sample(tuples, [("total",), None]).num_rows == 5, "one that keeps values has a row for each tuple"
    assert kind.sample(tuples, []).num_rows == 0
    assert len({kind.sample(tuples, each).schema for each in ([], [None], [("total",)], [("middle",)])}) == 1
