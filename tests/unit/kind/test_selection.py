"""`select` of a join: what its items name, and by which names and types they come out."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pydantic_core import PydanticCustomError

from tailrace.kind.inputs import ColumnTypes
from tailrace.kind.selection import Selected, check_selection, columns_of_side, selected, types_of

TEXTS = ["right.name", "distance", "left.a.b c", "left.name"]
COMPUTED = ("distance", "azimuth")
SELECTION = tuple(selected(text, COMPUTED) for text in TEXTS)


def test_an_item_names_a_column_of_a_side_or_one_that_is_computed():
    assert (
        Selected("right_name", 1, "name"),
        Selected("distance", None, "distance"),
        Selected("left_a.b c", 0, "a.b c"),
        Selected("left_name", 0, "name"),
    ) == SELECTION


@pytest.mark.parametrize("text", ["name", "left", "left.", ".name", "Left.name", "table.name", "Distance", "tuples"])
def test_nothing_else_is_an_item(text):
    with pytest.raises(PydanticCustomError, match="no column that can be selected"):
        selected(text, COMPUTED)


def test_each_side_carries_its_columns_by_their_names_in_answers():
    assert columns_of_side(SELECTION, 0) == {"left_a.b c": "a.b c", "left_name": "name"}
    assert columns_of_side(SELECTION, 1) == {"right_name": "name"}


def test_types_are_those_of_the_side_in_the_order_of_the_selection():
    sides = ColumnTypes(carried={"left_name": pa.int8()}), ColumnTypes(carried={"right_name": pa.date32()})
    types = {"right_name": pa.date32(), "distance": pa.float64(), "left_a.b c": pa.string(), "left_name": pa.int8()}
    assert list(types_of(SELECTION, sides).items()) == list(types.items())


@pytest.mark.parametrize(
    "texts",
    [
        ["distance", "distance"],
        ["left.name", "left.name"],
        ["left.name", "left.NAME"],
        ["left.NAME", "left.name"],
        ["left.id"],
        ["left.Time"],
        ["right.id"],
        ["right.time"],
    ],
)
def test_a_name_that_an_answer_has_already_is_refused(texts):
    with pytest.raises(PydanticCustomError, match=f"{texts[-1]} comes out as .*, which an answer has already") as error:
        check_selection(texts, COMPUTED)
    name = texts[-1].replace(".", "_").lower()
    is_own = name.endswith(("_id", "_time"))
    remedy = f"leave it out: answers have {name};" if is_own else "each column once;"
    assert error.value.context["remedy"].startswith(remedy)


def test_a_column_that_the_kind_gives_anyway_is_left_out():
    with pytest.raises(PydanticCustomError) as error:
        check_selection(["distance"], given=("distance",))
    assert error.value.context["remedy"].startswith("leave it out: answers have distance;")


def test_the_same_column_of_both_sides_is_selected():
    check_selection(["left.name", "right.name", "left.k_ms", "right.event_time"])
