"""`where` of a join: names with a side, what is refused, and which pairs it keeps."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from pydantic_core import PydanticCustomError

from tailrace.kind.column_use import of_side
from tailrace.kind.failed_pairs import FailedPairs
from tailrace.kind.inputs import ColumnTypes, Input
from tailrace.kind.pair_condition import PairCondition, check_condition, condition_uses, selection_uses
from tailrace.kind.selection import Selected

LEFT = {"left_taxi": pa.string(), "left_fare": pa.decimal128(10, 2), "where_left_id": pa.int64(), "left_n": pa.int32()}
RIGHT = {"right_taxi": pa.string(), "right_fare": pa.float32(), "where_right_time": pa.timestamp("us", "UTC")}
TYPES = ColumnTypes(carried=LEFT), ColumnTypes(carried=RIGHT | {"right_n": pa.int32()})


def of(text: str) -> PairCondition:
    condition = PairCondition.parse(text, TYPES, "spatial_join.where")
    assert condition is not None
    return condition


def test_its_columns_are_of_the_sides_and_none_is_named_as_one_of_the_identity() -> None:
    condition = of("left.taxi <> right.taxi and left.id > 1 and right.time is not null and left.taxi > ''")
    assert condition.columns == {
        "left.taxi": Selected("left_taxi", 0, "taxi"),
        "right.taxi": Selected("right_taxi", 1, "taxi"),
        "left.id": Selected("where_left_id", 0, "id"),
        "right.time": Selected("where_right_time", 1, "time"),
    }
    text = condition.projection.where
    uses = [
        *selection_uses([Selected("left_note", 0, "note")], "emd_join.select"),
        *condition_uses(text, "spatial_join.where"),
    ]
    carried = [Input(of_side(uses, side), column_types=each) for side, each in enumerate(TYPES)]
    assert carried[0].carried == {"left_note": "note", "left_taxi": "taxi", "where_left_id": "id"}
    assert carried[1].carried == {"right_taxi": "taxi", "where_right_time": "time"}
    assert carried[1].readers["where_right_time"] == "spatial_join.where: 1:45"
    assert carried[0].readers.keys() == {"left_note", "left_taxi", "where_left_id"}
    assert carried[0].readers["left_note"] == "emd_join.select"
    assert not [*condition_uses(None, "spatial_join.where")]
    assert PairCondition.parse(None, TYPES, "where") is None


@pytest.mark.parametrize(
    ("text", "place", "fault", "remedy"),
    [
        ("left.taxi <> taxi", "1:14", "taxi is not said to be of left or right", "left.taxi or right.taxi"),
        ("left.x > 1 and\n  middle.x = 2", "2:3", "there is no middle", "left.x or right.x"),
        ("Left.x = 2", "1:1", "there is no Left", "left.x"),
        ("1 = 1 and left is not null", "1:11", "left names no column", "left.name"),
        ("sum(left.x) > 1", "1:", "sum is an aggregate", "a condition over the columns of one pair"),
        ("`left.taxi` <> right.taxi", "1:1", "left.taxi is not said to be of", "`left`.`taxi`"),
        ("`center.x` <> right.taxi", "1:1", "center.x is not said to be of", "left.center.x or right.center.x"),
        ("left.x > 1 and distance < 3", "1:16", "distance is not said to be of", "the field threshold"),
        ("left.x > rand()", "1:", "rand is chance", "a column"),
        ("left.x > (select 1)", "1:", "a subquery", "over the record's own columns"),
        ("left.x >", "1:", "it is no expression", "grammar"),
        ("nosuch(left.x)", "1:1", "there is no function nosuch", ""),
        ("left.x = 1; right.y = 2", "1:", "several statements", "one expression"),
        ("", "1:1", "it is empty", "one expression"),
    ],
)
def test_what_is_no_condition_over_pairs_is_refused_at_its_place(text, place, fault, remedy) -> None:
    with pytest.raises(PydanticCustomError) as refused:
        check_condition(text, {"distance": "the field threshold"})
    context = refused.value.context
    assert context["field"] == "where"
    assert context["fault"].startswith(place)
    assert fault in context["fault"]
    assert remedy in context["remedy"]


@pytest.mark.parametrize(
    ("text", "place", "fault", "remedy"),
    [
        ("left.taxi || right.taxi", "1:1", "the condition is string", "a boolean"),
        ("left.fare > 1 and left.n = left.taxi.plate", "1:", "string has no fields", "a struct"),
        ("left.n > 0 and not right.taxi", "1:", "string", "boolean"),
    ],
)
def test_a_condition_that_does_not_fit_the_types_has_its_place(text, place, fault, remedy) -> None:
    (problem,) = of(text).problems()
    assert problem.where.startswith(f"spatial_join.where: {place}")
    assert fault in problem.fault
    assert remedy in problem.remedy
    assert of("left.fare > right.fare").problems() == []


def kept_by(text: str, **values: list) -> tuple[list[bool], int]:
    condition = pickle.loads(pickle.dumps(of(text)))
    columns = {
        name: pa.array(values[each.name], (LEFT | RIGHT | {"right_n": pa.int32()})[each.name])
        for name, each in condition.columns.items()
    }
    tested = condition.test(columns, 4)
    assert [reason is not None for reason in tested.reasons] == tested.failed.tolist()
    return tested.kept.tolist(), tested.counts.get("where_failed", 0)


def test_null_and_false_are_no_and_a_pair_for_which_it_fails_is_counted() -> None:
    taxis = {"left_taxi": ["a", "a", None, "c"], "right_taxi": ["a", "b", "c", None]}
    assert kept_by("left.taxi <> right.taxi", **taxis) == ([False, True, False, False], 0)
    assert kept_by("coalesce(left.taxi <> right.taxi, true)", **taxis) == ([False, True, True, True], 0)
    numbers = {"left_n": [2**31 - 1, 1, None, 0], "right_n": [1, 0, 0, 5]}
    assert kept_by("left.n + right.n > 0", **numbers) == ([False, True, False, True], 1)
    assert kept_by("left.n / right.n > 0 or true", **numbers) == ([True, False, True, True], 1)
    assert kept_by("true") == ([True] * 4, 0)
    assert kept_by("cast(null as boolean)") == ([False] * 4, 0)


def test_a_pair_needs_no_column_and_none_pays_for_a_condition_that_is_not_there() -> None:
    kept, failures = of("1 < 2").test({}, 3)
    assert (kept.tolist(), failures, kept.dtype) == ([True] * 3, {}, np.dtype(bool))


def test_pairs_for_which_it_fails_are_counted_by_their_reasons() -> None:
    numbers = {"left_n": pa.array([2**31 - 1, 1, 0], pa.int32()), "right_n": pa.array([1, 0, 0], pa.int32())}
    tested = of("left.n + right.n > 0 and left.n / right.n > 0").test(
        {f"{name.partition('_')[0]}.n": values for name, values in numbers.items()}, 3
    )
    reasons = tested.reasons.tolist()
    assert [tested.kept.tolist(), reasons] == [[False] * 3, ["int overflow", "division by zero", None]]
    assert tested.counts == {"where_failed": 2, "where_failed: int overflow": 1, "where_failed: division by zero": 1}
    assert FailedPairs.of_counts(tested.counts.items()) == FailedPairs(2, "division by zero")
