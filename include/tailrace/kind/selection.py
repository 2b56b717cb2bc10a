"""The columns of a join's answers beside their identity: copied from a side's source, or computed from the pair."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from tailrace.answers.identity import PAIR_IN_WINDOW, SIDES
from tailrace.ground.fields import field_error
from tailrace.kind.inputs import ColumnTypes


class Selected(NamedTuple):
    """A column of answers, or of a condition over pairs.

    Attributes
    ----------
    name : str
        Its name in answers and tuples: left_taxi for left.taxi.
    side : int or None
        The side from which the column comes; None if it is computed from the pair.
    column : str
        The column of the side's source.
    """

    name: str
    side: int | None
    column: str


def selected(text: str, computed: Collection[str] = ()) -> Selected:
    """Parse an item of `select`, such as left.taxi or distance; a name may have further dots.

    `computed` are the columns that can be computed from a pair.
    """
    if text in computed:
        return Selected(text, None, text)
    side, _, column = text.partition(".")
    if side not in SIDES or not column:
        remedy = ", or ".join(
            ["left.taxi or right.name, a column of that side", *filter(None, [" or ".join(computed)])]
        )
        raise field_error(f"{text!r} is no column that can be selected", remedy, "select")
    return Selected(f"{side}_{column}", SIDES.index(side), column)


def check_selection(texts: Sequence[str], computed: Collection[str] = (), given: Collection[str] = ()) -> None:
    """Refuse a column that can't be selected, or whose name is taken; `given` are the kind's columns.

    Tables compare names without case.
    """
    taken = {*PAIR_IN_WINDOW.columns, *given}
    for text in texts:
        name = text if text in given else selected(text, computed).name
        if name.lower() in taken:
            fault = f"{text} comes out as {name}, which an answer has already"
            is_own = name.lower() in {*PAIR_IN_WINDOW.columns, *given}
            remedy = f"leave it out: answers have {name.lower()}" if is_own else "each column once"
            raise field_error(fault, f"{remedy}; another column by another name, which columns derives", "select")
        taken.add(name.lower())


def columns_of_side(selection: Iterable[Selected], side: int) -> dict[str, str]:
    """Return the selected columns of a side's source, by their names in answers."""
    return {each.name: each.column for each in selection if each.side == side}


def computed_of(selection: Iterable[Selected]) -> tuple[str, ...]:
    """Return the selected columns that are computed from a pair."""
    return tuple(each.name for each in selection if each.side is None)


def types_of(selection: Iterable[Selected], sides: Sequence[ColumnTypes]) -> dict[str, pa.DataType]:
    """Return the types of selected columns by name in answers, in order, given the types of each side's columns."""
    types: dict[str, pa.DataType] = {}
    for name, side, _ in selection:
        types |= {name: pa.float64()} if side is None else sides[side].of_carried([name])
    return types
