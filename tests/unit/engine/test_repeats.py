"""Whether the ids of a segment are distinct."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tailrace.engine.repeats import KnownIds, are_distinct


@pytest.mark.parametrize(
    ("ids", "distinct"),
    [
        ([], True),
        ([7], True),
        ([3, 1, 2], True),
        ([2, 1, 2], False),
        ([-(1 << 63), (1 << 63) - 1], True),
        ([-5, 5, 5], False),
        (["a"], True),
        (["a", "b", "c"], True),
        (["a", "b", "b"], False),
        (["", "a", ""], False),
    ],
)
def test_distinct_ids_are_known_as_such(ids, distinct):
    kind = pa.string() if ids and isinstance(ids[0], str) else pa.int64()
    assert are_distinct(pa.array(ids, kind)) == distinct


def test_of_ids_out_of_order_it_is_known_where_they_are_close_integers():
    assert are_distinct(pa.array([2, 1]))
    assert not are_distinct(pa.array([1 << 40, 1]))
    assert not are_distinct(pa.array(["b", "a"]))
    assert are_distinct(pa.array([], pa.string()))


def test_a_retraction_counts_nothing_and_makes_no_repeat_of_what_follows_it_unless_it_is_late():
    rows = [("taken back", 1, True), ("taken back", 1, False), ("once", 2, False), ("once", 3, True), ("late", 4, True)]
    ids, ticks, retracted = zip(*rows, strict=True)
    columns = {"id": ids, "tick": ticks, "arrival_time": ticks, "position": range(5), "retracted": retracted}
    columns["arrival_us"] = [0] * 5
    before = np.array([0, 0, 0, 0, 10])
    tuples = pa.table({name: pa.array(list(column)) for name, column in columns.items()})
    known, dropped = KnownIds.none(pa.string()).observe(tuples, np.full(5, 10), before, 5)
    assert dropped.tolist() == [0, 3]
    assert sorted(known.ids.to_pylist()) == ["once", "taken back"]


def test_of_one_tick_the_first_to_arrive_counts_by_microseconds():
    columns = {"id": ["a", "a"], "tick": [1, 1], "arrival_time": [5, 5], "arrival_us": [8, 7], "position": [0, 1]}
    _, dropped = KnownIds.none(pa.string()).observe(pa.table(columns), np.full(2, 10), np.zeros(2, np.int64), 5)
    assert dropped.tolist() == [0]
