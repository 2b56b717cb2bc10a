"""The answer model of pairs: which of them late tuples, a range of event time, and rows of answers affect."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tailrace.answers.by_pair import ByPair

MODEL = ByPair((5, 5))
NAMES = ["left_id", "right_id", "left_time", "right_time"]


def pairs(*rows: tuple) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(NAMES, row, strict=True)) for row in rows])


def late(*rows: tuple) -> pa.Table:
    names = {"stream": pa.string(), "id": pa.string(), "event_time": pa.int64()}
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], pa.schema(names.items()))


def test_a_pair_is_affected_by_a_late_tuple_of_its_side_with_its_id_and_event_time():
    affected = MODEL.missed_by(late(("left", "a", 10), ("right", "b", 20)))
    answers = pairs(
        ("a", "x", 10, 12),
        ("a", "x", 11, 12),  # another tuple with the id of the late one
        ("b", "x", 20, 22),  # the late tuple is on the other side
        ("x", "b", 18, 20),
        ("x", "b", 18, 21),
        ("x", "a", 10, 10),
    )
    assert affected.contains(answers).tolist() == [True, False, False, True, False, False]


def test_ids_that_are_text_in_the_late_rows_alone_are_compared_as_the_stream_has_them():
    affected = MODEL.missed_by(late(("left", "-12", 10), ("right", "b", 20)))
    assert affected.contains(pairs((-12, "x", 10, 12), (12, "b", 18, 20), (12, "c", 18, 20))).tolist() == [1, 1, 0]


def test_ranges_hold_all_tuples_in_reach_and_as_ends_all_later_times():
    """A range [low, high) of tuples is read as (low, high] of answers."""
    low, high = MODEL.missed_by(late(("left", "a", 10), ("right", "b", 40), ("right", "c", 42))).ranges()
    assert (low.tolist(), high.tolist()) == ([4, 34], [16, 48])
    low, high = MODEL.closed((10, 20), 100).ranges()
    assert (low.tolist(), high.tolist()) == ([4], [25])
    assert MODEL.closed((10, 20), 12).ranges()[1].tolist() == [12]
    assert not len(MODEL.closed((10, 20), 3).ranges()[0])
    assert not len(MODEL.missed_by(late()).ranges()[0])
    low, high = MODEL.affected_from(pairs(("a", "b", 10, 14))).ranges()
    assert (low.tolist(), high.tolist()) == ([9, 13], [11, 15])


@pytest.mark.parametrize(
    ("left", "right", "inside"),
    [(10, 8, True), (8, 10, True), (9, 9, False), (20, 19, True), (20, 20, False), (19, 21, True), (19, 22, False)],
)
def test_closed_pairs_have_a_time_in_the_range_and_both_before_the_frontier(left, right, inside):
    assert MODEL.closed((10, 20), 22).contains(pairs(("a", "b", left, right))).tolist() == [inside]


def test_pairs_are_identified_by_their_ids_alone():
    affected = MODEL.affected_from(pairs(("a", "b", 1, 2)))
    assert affected.contains(pairs(("a", "b", 3, 4), ("b", "a", 1, 2))).tolist() == [True, False]


def test_only_late_tuples_and_all_of_the_other_side_are_evaluated():
    left, right = (
        pa.RecordBatch.from_pydict({"id": ids, "event_time": times})
        for ids, times in ((["a", "a", "c"], [10, 11, 10]), (["b", "d"], [20, 20]))
    )
    (late_left, all_right), (all_left, late_right) = MODEL.missed_by(late(("left", "a", 10), ("right", "b", 20))).parts(
        (left, right)
    )
    assert (late_left.to_pydict(), all_right) == ({"id": ["a"], "event_time": [10]}, right)
    assert (late_right.to_pydict(), all_left) == ({"id": ["b"], "event_time": [20]}, left)
    ((some_left, some_right),) = MODEL.affected_from(pairs(("a", "d", 0, 0))).parts((left, right))
    assert (some_left["id"].to_pylist(), some_right["id"].to_pylist()) == (["a", "a"], ["d"])


def test_a_pair_depends_on_tuples_up_to_its_later_time_on_either_side():
    assert MODEL.horizon(pairs(("a", "b", 10, 12), ("a", "c", 13, 9))).tolist() == [12, 13]


def test_a_tuple_expires_by_the_bound_of_its_side():
    """Paper 003, eq. 5: for the interval [-15, 30] left ones are kept for 30 ms beyond F, and right ones for 15."""
    model = ByPair((30, 15))
    assert model.reach_ms == 30
    assert [model.expiry_frontier(np.array([100]), side).tolist() for side in (0, 1)] == [[131], [116]]


@pytest.mark.parametrize(("came", "wait"), [([1, 2], 20), ([2, 1], 33), ([1, 1], 0)])
def test_the_shortest_wait_for_a_pair_follows_from_the_side_of_its_first_tuple(came, wait):
    answers, t_max = pairs(("a", "b", 100, 102)), np.array([[150], [140]])
    assert ByPair((30, 15)).shortest_wait(answers, np.array(came)[:, None], t_max).tolist() == [wait]


def test_a_pair_is_due_when_the_frontier_has_passed_its_tuples_and_misses_none():
    assert MODEL.close_frontier(7) == 8
    assert MODEL.explode_late(late(("left", "a", 10)), "id").num_rows == 0
