"""Equality of rows by some of their columns: numbers of distinct rows, and positions of equal rows in another table.

Here null is a value like any other, and strings are compared whole. Arrow's joins leave nulls unmatched, and pandas
hashes its own strings only up to the first NUL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Ints, pair, unify

Rows: TypeAlias = pa.Table | pa.RecordBatch


def number_rows(tables: Sequence[Rows], names: Sequence[str]) -> list[Ints]:
    """Number the rows of tables by their values in the named columns.

    Returns
    -------
    list of ndarray
        The number of each row, for each of the tables. Equal rows have equal numbers, also across tables. The numbers
        are not negative, and not much larger than the number of rows.
    """
    first, *others = ([_comparable(table.column(name)) for table in tables] for name in names)
    number = np.concatenate(unify(first)[1])
    for columns in others:
        number, _ = pair(number, np.concatenate(unify(columns)[1]))
        if number.max(initial=0) > 4 * len(number) + 1024:  # a table of all numbers would cost more than hashing
            number = unify([pa.array(number)])[1][0]
    return list(np.split(number, np.cumsum([table.num_rows for table in tables])[:-1]))


def _comparable(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return a column that Arrow can compare: lists and structs are replaced by their texts."""
    if not pa.types.is_nested(column.type):
        return column
    return pa.array([None if value is None else repr(value) for value in column.to_pylist()], pa.string())


def find(number: Ints, others: Ints) -> Ints:
    """Return the position of each number's first occurrence among `others`, −1 if it has none; shape (n,)."""
    indices = np.full(1 + max(number.max(initial=-1), others.max(initial=-1)), -1)
    indices[others[::-1]] = np.arange(len(others))[::-1]  # of equal indices the last assignment stays
    return np.asarray(indices[number])


def first_indices(number: Ints) -> Ints:
    """Return the positions at which a number occurs for the first time, ascending."""
    return np.flatnonzero(find(number, number) == np.arange(len(number)))


def last_indices(number: Ints) -> Ints:
    """Return the positions at which a number occurs for the last time, ascending."""
    return (len(number) - 1 - first_indices(number[::-1]))[::-1]


def select(rows: Rows, mask: NDArray[np.bool_]) -> Rows:
    """Select rows; return them uncopied if all are selected."""
    return rows if mask.all() else rows.filter(pa.array(mask))
