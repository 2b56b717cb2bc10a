"""The uses of columns by a query's kind, from which inputs, lineage of answers, and fields in refusals are derived."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa

IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
FILTER, GROUP_BY, JOIN, SORT, WINDOW = "FILTER", "GROUP_BY", "JOIN", "SORT", "WINDOW"

DIRECT = frozenset({IDENTITY, TRANSFORMATION, AGGREGATION})
"""The ways in which values of answers are computed from the column; other ways select, group or order tuples."""


class ColumnUse(NamedTuple):
    """A use of a column of a stream, or of the dimension table.

    Attributes
    ----------
    column : str
        Its name in the stream, or the table.
    way : str
        One of OpenLineage's subtypes of transformations.
    answers : tuple of str or None
        The columns of answers to which the use contributes. Empty: it decides which answers exist. None: the lineage of
        answers skips this use, as it has another use of the same column.
    part : str
        The column's name in tuples; empty if this use does not read it from tuples.
    field : str
        The field of the query file that names it, perhaps with a position in an expression.
    side : int
        The side of its stream, or of the table.
    text : str or None
        The function or expression of the query file that uses it.
    dtype : DataType or None
        The type of the column in tuples. None: the source determines it, and values may be null.
    derives : str or None
        The expression that computes the column; `column` is then the field of the query file with the expression.
    """

    column: str
    way: str
    answers: tuple[str, ...] | None = ()
    part: str = ""
    field: str = ""
    side: int = 0
    text: str | None = None
    dtype: pa.DataType | None = None
    derives: str | None = None


def of_side(uses: Iterable[ColumnUse], side: int) -> tuple[ColumnUse, ...]:
    """Return the uses that read columns from the tuples of one side; derived columns come last."""
    own = (use for use in uses if use.part and use.side == side)
    return tuple(sorted(own, key=lambda use: use.derives is not None))


def fields_by_column(uses: Iterable[ColumnUse], side: int) -> dict[str, str]:
    """Return, by column of one side, the first field that names it."""
    fields: dict[str, str] = {}
    for use in uses:
        if use.side == side and use.field:
            fields.setdefault(use.column, use.field)
    return fields
