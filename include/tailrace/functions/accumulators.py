"""Accumulators: columns that summarise the values of tuples and can be merged in any order.

Each object is an accumulator of one column. Functions of the same column share them: `sum`, `avg` and `count` use one
count. To add an accumulator, add a class with the same four members.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.arrow.grouped_rows import GroupedRows
from tailrace.ground.arrow.grouping import How
from tailrace.ground.arrow.value_column import Floats, Ints, ValueColumn, is_of_64_bits, stored_type
from tailrace.windows.panes import Arrays

_LOW = np.int64(0xFFFFFFFF)


class Accumulator(Protocol):
    """Protocol of the accumulators."""

    @property
    def column(self) -> str:
        """The tuples' column whose values it accumulates."""

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types of its columns, by name."""

    def lift(self, values: ValueColumn, tuples: pa.RecordBatch) -> Arrays:
        """Return the accumulator's columns for single tuples, shape (n,), given the values of its column."""

    def merge(self, rows: GroupedRows, columns: Arrays) -> Arrays:
        """Merge the rows of each group: columns of shape (n,) become columns of shape (m,)."""


@dataclass(frozen=True)
class _Summed:
    """Base of the accumulators of one column, which is summed up.

    Attributes
    ----------
    part : str
        The accumulated statistic, in the column's name.
    """

    column: str

    part: ClassVar[str]
    dtype: ClassVar[pa.DataType] = pa.float64()

    @property
    def name(self) -> str:
        return f"{self.column}:{self.part}"

    @property
    def types(self) -> dict[str, pa.DataType]:
        return {self.name: self.dtype}

    def merge(self, rows: GroupedRows, columns: Arrays) -> Arrays:
        return {self.name: rows.fold(columns[self.name], "sum")}


@dataclass(frozen=True)
class Count(_Summed):
    """The number of values that are not null."""

    part = "count"
    dtype = pa.int64()

    def lift(self, values: ValueColumn, tuples: pa.RecordBatch) -> Arrays:
        return {self.name: values.is_value.astype(np.int64)}


@dataclass(frozen=True)
class Total(_Summed):
    """The sum of doubles."""

    part = "total"

    def lift(self, values: ValueColumn, tuples: pa.RecordBatch) -> Arrays:
        return {self.name: values.doubles}


@dataclass(frozen=True)
class Squares(_Summed):
    """The sum of the squares of values, in doubles; only for samples, as it loses digits (otherwise use `Moments`)."""

    part = "squared"

    def lift(self, values: ValueColumn, tuples: pa.RecordBatch) -> Arrays:
        with np.errstate(over="ignore"):
            return {self.name: np.square(values.doubles)}


@dataclass(frozen=True)
class ExactTotal:
    """The exact sum of integers or decimals, as digits to base 2³², the lowest first and the last one signed."""

    column: str
    dtype: pa.DataType

    @property
    def names(self) -> list[str]:
        return [f"{self.column}:digit{index}" for index in range(2 if is_of_64_bits(self.dtype) else 4)]

    @property
    def types(self) -> dict[str, pa.DataType]:
        return dict.fromkeys(self.names, pa.int64())

    def lift(self, values: ValueColumn, tuples: pa.RecordBatch) -> Arrays:
        return dict(zip(self.names, values.limbs, strict=True))

    def merge(self, rows: GroupedRows, columns: Arrays) -> Arrays:
        """Add digit by digit with a carry; as digits are below 2³², up to 2³¹ rows may be added."""
        sums, carry = {}, np.zeros(len(rows), np.int64)
        *lower, last = self.names
        for name in lower:
            digit = rows.fold(columns[name], "sum") + carry
            sums[name], carry = digit & _LOW, digit >> 32
        return sums | {last: rows.fold(columns[last], "sum") + carry}

    def words(self, columns: Arrays) -> tuple[Ints, Ints]:
        """Return the low and the high word of the sums in 128 bits, shape (m,); None if one needs more."""
        low, high, *more = (columns[name] for name in self.names)
        if not more:
            return low | (high << 32), high >> 32
        return low | (high << 32), more[0] | (more[1] << 32)

    def overflows(self, columns: Arrays) -> NDArray[np.bool_]:
        """Mark the sums that need more than 128 bits, shape (m,)."""
        last = columns[self.names[-1]]
        return np.zeros(len(last), bool) if is_of_64_bits(self.dtype) else last >> 31 != last >> 63

    def doubles(self, columns: Arrays) -> Floats:
        """Return the sums as doubles, shape (m,)."""
        total = np.zeros(len(columns[self.names[0]]))
        for name in reversed(self.names):
            total = total * 2.0**32 + columns[name]
        return total


@dataclass(frozen=True)
class Extreme:
    """The least or the greatest value, of a type that is stored as a number."""

    column: str
    dtype: pa.DataType
    how: How

    @property
    def name(self) -> str:
        return f"{self.column}:{self.how}"

    @property
    def types(self) -> dict[str, pa.DataType]:
        return {self.name: stored_type(self.dtype)}

    def lift(self, values: ValueColumn, tuples: pa.RecordBatch) -> Arrays:
        numbers: NDArray[Any] = values.objects
        if not values.has_nulls:
            return {self.name: numbers}
        limits: Any = np.finfo(np.float64) if numbers.dtype == np.float64 else np.iinfo(np.int64)
        return {self.name: np.where(values.is_value, numbers, limits.max if self.how == "min" else limits.min)}

    def merge(self, rows: GroupedRows, columns: Arrays) -> Arrays:
        return {self.name: rows.fold(columns[self.name], self.how)}
