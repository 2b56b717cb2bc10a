"""An index of a table's rows by their keys, and by the event times at which they are valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.arrow.columns import Ints
from tailrace.sources.carried_columns import carried_values
from tailrace.sources.column_rules import is_text, value_type
from tailrace.sources.lookup.valid_times import ValidTimes

_INTEGER = r"^(0|-?[1-9]\d{0,18})$"
"""The texts that equal integers; 007 does not equal 7."""

_LEAST, _GREATEST = (pa.scalar(Decimal(end), pa.decimal128(19)) for end in (-(2**63), 2**63 - 1))

_NAN = float("nan")
NO_ROW = -1


@dataclass(frozen=True, eq=False)
class _Codes:
    """The numbers of the distinct values of a column; other values, and null, are `NO_ROW`.

    Attributes
    ----------
    known : ndarray or dict
        For integers the values, ascending; otherwise the number of each value.
    """

    dtype: pa.DataType
    known: Ints | dict[Any, int]

    @staticmethod
    def from_column(column: pa.Array) -> _Codes:
        values = column.unique().drop_null()
        if _is_integral(values.type):
            return _Codes(values.type, np.sort(_integral(values)))
        return _Codes(values.type, {value: number for number, value in enumerate(_hashable(values))})

    def find(self, column: pa.Array) -> Ints:
        """Return the numbers of n values; an integer matches a text by its digits."""
        if pa.types.is_null(self.dtype):  # without rows no value is known
            return np.full(len(column), NO_ROW)
        coded = as_type(column, self.dtype).dictionary_encode()
        if not len(coded.dictionary):
            return np.full(len(column), NO_ROW)
        numbers = np.append(self._find_distinct(coded.dictionary), NO_ROW)
        return np.asarray(numbers[np.asarray(coded.indices.fill_null(-1))], np.int64)

    def _find_distinct(self, values: pa.Array) -> Ints:
        """Return the numbers of distinct values of the column's type."""
        if isinstance(self.known, dict):
            numbers = (self.known.get(value, NO_ROW) for value in _hashable(values))
            return np.fromiter(numbers, np.int64, len(values))
        plain = _integral(values)
        order = np.argsort(plain)  # looking up ascending values causes fewer cache misses
        rows = np.empty(len(plain), np.int64)
        rows[order] = _places(self.known, plain[order])
        return rows


@dataclass(frozen=True, eq=False)
class KeyIndex:
    """Finds the rows of a table by their keys; built once for each version.

    Attributes
    ----------
    keys : tuple of Array
        The columns of the key, n values each. A row with a null in its key matches no record.
    valid : ValidTimes or None
        The validity of each row; None if all are always valid.
    """

    keys: tuple[pa.Array, ...]
    valid: ValidTimes | None

    @cached_property
    def _codes(self) -> list[_Codes]:
        return [_Codes.from_column(column) for column in self.keys]

    @cached_property
    def _pairs(self) -> list[Ints]:
        """The distinct pairs of a preceding code and a column's number, for each column after the first.

        Pairs are ascending.
        """
        pairs: list[Ints] = []
        self._combined(self.keys, pairs)
        return pairs

    @cached_property
    def _rows(self) -> tuple[Ints, Ints, Ints]:
        """The rows by code and start of validity, with their codes, and the distinct starts."""
        code = self._code_of(self.keys)
        start = np.zeros(len(code), np.int64) if self.valid is None else self.valid.start
        starts = np.unique(start)
        index = code * (len(starts) + 1) + np.searchsorted(starts, start) + 1
        usable = code != NO_ROW
        if self.valid is not None:
            usable &= self.valid.start < self.valid.end
        rows = np.flatnonzero(usable)
        rows = rows[np.argsort(index[rows], kind="stable")]
        return rows, index[rows], starts

    def find(self, keys: Sequence[pa.Array], times: Ints | None) -> Ints:
        """Return the row that matches each of n records; `NO_ROW` without one.

        Parameters
        ----------
        keys : sequence of Array
            The columns of the records' keys, in the order of the table's.
        times : ndarray, shape (n,), or None
            Their event times in microseconds; needed if rows have a validity.
        """
        rows, places, starts = self._rows
        code = self._code_of(keys)
        if not len(rows):
            return np.full(len(code), NO_ROW)
        rank = 1 if self.valid is None or times is None else np.searchsorted(starts, times, side="right")
        index = code * (len(starts) + 1) + rank
        before = np.searchsorted(places, index, side="right") - 1
        row = rows[np.maximum(before, 0)]
        is_found = (before >= 0) & (code != NO_ROW) & (places[before] // (len(starts) + 1) == code)
        if self.valid is not None and times is not None:
            is_found &= self.valid.holds(row, times)
        return np.where(is_found, row, NO_ROW)

    def repeated(self) -> tuple[int, int] | None:
        """Find two rows with the same key that are valid at the same time; None without any."""
        code = self._code_of(self.keys)
        rows = np.flatnonzero(code != NO_ROW)
        if self.valid is not None:
            overlap = self.valid.take(code != NO_ROW).overlap(code[rows])
            return None if overlap is None else (int(rows[overlap[0]]), int(rows[overlap[1]]))
        rows = rows[np.argsort(code[rows], kind="stable")]
        same = np.flatnonzero(code[rows[:-1]] == code[rows[1:]])
        return (int(rows[same[0]]), int(rows[same[0] + 1])) if len(same) else None

    def _code_of(self, keys: Sequence[pa.Array]) -> Ints:
        return self._combined(keys, None if len(self.keys) == 1 else [*self._pairs])

    def _combined(self, keys: Sequence[pa.Array], pairs: list[Ints] | None) -> Ints:
        """Return the code of each key; fills `pairs` with the pairs of these keys if it is empty."""
        code = self._codes[0].find(keys[0])
        is_first = pairs == []
        for number, (codes, column) in enumerate(zip(self._codes[1:], keys[1:], strict=True)):
            own = codes.find(column)
            pair = np.where((code == NO_ROW) | (own == NO_ROW), NO_ROW, code * max(len(codes.known), 1) + own)
            assert pairs is not None
            if is_first:
                pairs.append(np.unique(pair[pair != NO_ROW]))
            code = _places(pairs[number], pair)
        return code


def as_type(column: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Return the values of a key in the other side's type; integers and texts match by their digits."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if pa.types.is_integer(dtype) and is_text(column.type):
        return _integers(column.cast(pa.string()))
    return column if column.type == dtype else carried_values(column, dtype)[0]


def _integers(texts: pa.Array) -> pa.Array:
    """Return the integers in texts; null for other texts, and beyond int64."""
    numbers = texts.filter(pc.fill_null(pc.match_substring_regex(texts, _INTEGER), False)).unique()
    wide = numbers.cast(pa.decimal128(19))
    inside = pc.and_(pc.greater_equal(wide, _LEAST), pc.less_equal(wide, _GREATEST))
    numbers, wide = numbers.filter(inside), wide.filter(inside)
    return wide.cast(pa.int64()).take(pc.index_in(texts, numbers))


def meets(dtype: pa.DataType, other: pa.DataType) -> bool:
    """Test whether values of one type can match keys of another: equal types, or an integer and a text."""
    names = [value_type(each) for each in (dtype, other)]
    if all(pa.types.is_integer(each) or is_text(each) for each in names):
        return True
    return bool(names[0] == names[1]) or any(pa.types.is_null(each) for each in names)


def _places(known: Ints, values: Ints) -> Ints:
    if not len(known):
        return np.full(len(values), NO_ROW)
    index = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[index] == values, index, NO_ROW)


def _hashable(values: pa.Array) -> list[Any]:
    """Return values as keys of a dict; NaN is one key, as a dict finds an equal value or the same object."""
    items = values.to_pylist()
    return [_NAN if item != item else item for item in items] if pa.types.is_floating(values.type) else items  # noqa: PLR0124


def _is_integral(dtype: pa.DataType) -> bool:
    """Test whether Arrow stores values of a type as integers of at most 64 bits."""
    return bool(pa.types.is_integer(dtype) or pa.types.is_timestamp(dtype) or pa.types.is_date(dtype))


def _integral(values: pa.Array) -> Ints:
    """Return the integers by which Arrow stores non-null values."""
    if pa.types.is_date32(values.type):
        values = values.view(pa.int32())
    return np.asarray(values.cast(pa.int64()))
