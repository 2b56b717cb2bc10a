"""The uses of columns by a query's kind: what its inputs, the lineage of answers and fields in refusals follow from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa

IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
FILTER, GROUP_BY, JOIN, SORT, WINDOW = "FILTER", "GROUP_BY", "JOIN", "SORT", "WINDOW"

DIRECT = frozenset({IDENTITY, TRANSFORMATION, AGGREGATION})
"""The ways in which a column contributes to another's values; other ways decide which values there are."""


class ColumnUse(NamedTuple):
    """A use of a column of a stream, or of the dimension table.

    Attributes
    ----------
    column : str
        Its name in the stream, or the table.
    way : str
        One of OpenLineage's subtypes of transformations.
    answers : tuple of str or None
        The columns of answers that it goes into. Empty: it decides which answers there are. None: it does neither; the
        lineage of answers has other uses of the column.
    part : str
        The name in tuples under which the kind needs it for this use; empty if the kind does not.
    field : str
        The field of the query file that names it, perhaps with a position in an expression.
    side : int
        The side of its stream, or of the table.
    text : str or None
        The function or expression of the query file that uses it.
    dtype : DataType or None
        The type of the part; None: it follows from the source, and values may be null.
    derives : str or None
        The expression that computes the column, whose name then is the field of the query file that has the expression.
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
    """Return the uses by which a kind needs columns of one side's tuples."""
    return tuple(use for use in uses if use.part and use.side == side)


def fields_by_column(uses: Iterable[ColumnUse], side: int) -> dict[str, str]:
    """Return the first field that names each column of one side."""
    fields: dict[str, str] = {}
    for use in uses:
        if use.side == side and use.field:
            fields.setdefault(use.column, use.field)
    return fields
