"""The accumulator of functions that need all values of a window.

It has one row a tuple; the rows are aggregated when a window is answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.functions.chosen import ORDER, order_of
from tailrace.ground.arrow.columns import pair
from tailrace.ground.arrow.grouped_rows import GroupedRows
from tailrace.ground.arrow.value_column import Floats, Ints, ValueColumn, ranks, restored, stored_type
from tailrace.windows.panes import Arrays


@dataclass(frozen=True)
class Kept:
    """The values themselves.

    Attributes
    ----------
    in_doubles : bool
        Whether numbers are stored as doubles; otherwise values of any type are stored unchanged.
    """

    column: str
    dtype: pa.DataType
    in_doubles: bool

    @property
    def name(self) -> str:
        return f"{self.column}:{'doubles' if self.in_doubles else 'values'}"

    @property
    def has(self) -> str:
        return f"{self.name}:has"

    @property
    def _type(self) -> pa.DataType:
        return pa.float64() if self.in_doubles else stored_type(self.dtype)

    @property
    def types(self) -> dict[str, pa.DataType]:
        return {self.has: pa.int64(), self.name: self._type}

    def lift(self, values: ValueColumn, tuples: pa.RecordBatch) -> Arrays:
        return {
            self.has: values.is_value.astype(np.int64),
            self.name: values.doubles if self.in_doubles else values.objects,
        }

    def merge(self, rows: GroupedRows, columns: Arrays) -> Arrays:
        raise TypeError("a query that keeps values keeps a row for each tuple")

    def ascending(self, rows: GroupedRows, columns: Arrays) -> tuple[Ints, Floats]:
        """Return the number of values of each group, shape (m,), and each group's values in ascending order."""
        is_value = columns[self.has] > 0
        value, group = columns[self.name][is_value], rows.group[is_value]
        # Rank the values first: sorting plain integers is then much faster than sorting doubles by group.
        order = np.argsort(value, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        code, split = pair(group, rank)
        code.sort()
        return np.bincount(group, minlength=len(rows)), value[order][split(code)[1]]

    def ascending_rows(self, rows: GroupedRows, columns: Arrays) -> tuple[Ints, Ints]:
        """Return the number of values of each group, shape (m,), and their rows by group and ascending value."""
        index = np.flatnonzero(columns[self.has] > 0)
        group = rows.group[index]
        order = np.lexsort([ranks(columns[self.name][index], self._type), group])
        return np.bincount(group, minlength=len(rows)), index[order]

    def in_lists(self, rows: GroupedRows, columns: Arrays) -> tuple[Ints, Ints]:
        """Return the group and the row of each value in a list, by group and place."""
        return self.distinct_rows(rows, columns)

    def listed(self, limit: int, rows: GroupedRows, columns: Arrays) -> Arrays:
        """Return the values of each group in stored form, None if there are more than the limit; see `lists`."""
        group, row = self.in_lists(rows, columns)
        counts = np.bincount(group, minlength=len(rows))
        values, ends = columns[self.name][row].tolist(), np.cumsum(counts).tolist()
        listed = np.empty(len(rows), object)
        for index, (count, end) in enumerate(zip(counts.tolist(), ends, strict=True)):
            listed[index] = values[end - count : end] if count <= limit else None
        return {"listed": listed}

    def distinct(self, rows: GroupedRows, columns: Arrays) -> Ints:
        """Return the number of distinct values of each group, shape (m,)."""
        group, _ = self.distinct_rows(rows, columns)
        return np.bincount(group, minlength=len(rows))

    def distinct_rows(self, rows: GroupedRows, columns: Arrays) -> tuple[Ints, Ints]:
        """Return a row of each distinct value of each group: the group and the row, ascending by group and value."""
        index = np.flatnonzero(columns[self.has] > 0)
        value, group = columns[self.name][index], rows.group[index]
        _, number = np.unique(ranks(value, self._type), return_inverse=True)
        code, split = pair(group, number.astype(np.int64))
        distinct, first = np.unique(code, return_index=True)
        return split(distinct)[0], index[first]


@dataclass(frozen=True)
class KeptInOrder(Kept):
    """The values themselves, with the order of their tuples: event time, then arrival time, then id."""

    id_type: pa.DataType

    @property
    def name(self) -> str:
        return f"{self.column}:in order"

    @property
    def _order(self) -> dict[str, pa.DataType]:
        return dict(zip((f"{self.name}:{part}" for part in ORDER), (pa.int64(), pa.int64(), self.id_type), strict=True))

    @property
    def types(self) -> dict[str, pa.DataType]:
        return super().types | self._order

    def lift(self, values: ValueColumn, tuples: pa.RecordBatch) -> Arrays:
        return super().lift(values, tuples) | dict(zip(self._order, order_of(tuples), strict=True))

    def in_lists(self, rows: GroupedRows, columns: Arrays) -> tuple[Ints, Ints]:
        index = np.flatnonzero(columns[self.has] > 0)
        group = rows.group[index]
        types = self._order | {self.name: self._type}  # of equal tuples the least value is first
        keys = [ranks(columns[name][index], dtype) for name, dtype in types.items()]
        order = np.lexsort([*reversed(keys), group])
        return group[order], index[order]


def lists(dtype: pa.DataType, columns: Arrays) -> pa.Array:
    """Return lists of values of a type, given `Kept.listed`."""
    listed: list[list[Any] | None] = columns["listed"].tolist()
    stored = pa.array([value for each in listed if each is not None for value in each], stored_type(dtype))
    values = restored(stored, np.zeros(len(stored), bool), dtype)
    counts = [0 if each is None else len(each) for each in listed]
    offsets = pa.array(np.cumsum([0, *counts]), pa.int32())
    is_null = pa.array([each is None for each in listed], pa.bool_())
    return pa.ListArray.from_arrays(offsets, values, pa.list_(dtype), mask=is_null)
