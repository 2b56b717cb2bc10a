"""A column of values for aggregate functions: which are null, and the values as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.arrow.number_types import as_doubles, decimal_words

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LONG_DECIMAL = 18
"""The most digits of a decimal that fits into 64 bits."""

_LOW = np.int64(0xFFFFFFFF)
_SIGN = np.int64(-(1 << 63))
_NO_DECIMAL = bytes(16)


def is_exact(dtype: pa.DataType) -> bool:
    """Test whether a type holds integers or decimals, whose sums are exact."""
    return bool(pa.types.is_integer(dtype) or pa.types.is_decimal(dtype))


def is_of_64_bits(dtype: pa.DataType) -> bool:
    """Test whether `ValueColumn.integers` represents a type's values as 64-bit integers in the same order."""
    if pa.types.is_decimal(dtype):
        return bool(dtype.precision <= LONG_DECIMAL)
    tests = pa.types.is_integer, pa.types.is_boolean, pa.types.is_date32, pa.types.is_timestamp
    return any(test(dtype) for test in tests)


@dataclass(frozen=True)
class ValueColumn:
    """A column of n values, any of which may be null."""

    column: pa.Array

    @cached_property
    def is_value(self) -> NDArray[np.bool_]:
        """Mask of the values that are not null, shape (n,)."""
        return np.asarray(self.column.is_valid())

    @cached_property
    def has_nulls(self) -> bool:
        return bool(self.column.null_count)

    @cached_property
    def doubles(self) -> Floats:
        """The numbers as doubles, shape (n,); 0 for null."""
        numbers = as_doubles(self.column)
        return np.asarray(numbers.fill_null(0.0) if self.has_nulls else numbers)

    @cached_property
    def integers(self) -> Ints:
        """The values as 64-bit integers (`is_of_64_bits`), shape (n,); 0 for null."""
        column, dtype = self.column, self.column.type
        if pa.types.is_decimal(dtype):
            return _where(self.is_value, decimal_words(column)[:, 0], self.has_nulls)
        if pa.types.is_date32(dtype):
            column = column.cast(pa.int32())
        column = column.cast(pa.int64())
        return np.asarray(column.fill_null(0) if self.has_nulls else column)

    @cached_property
    def limbs(self) -> list[Ints]:
        """Exact numbers as digits to base 2³², the lowest first and the last one signed; shape (n,) each, 0 for null.

        Two digits hold 64 bits, four hold a long decimal.
        """
        if is_of_64_bits(self.column.type):
            return [self.integers & _LOW, self.integers >> 32]
        low, high = (_where(self.is_value, word, self.has_nulls) for word in decimal_words(self.column).T)
        return [low & _LOW, (low >> 32) & _LOW, high & _LOW, high >> 32]

    @cached_property
    def objects(self) -> NDArray[Any]:
        """The values in stored form, shape (n,): 64-bit integers, doubles or objects; 0 for a null number.

        A long decimal is stored as bytes that sort like the numbers: its words, the high one first, with the sign bit
        flipped.
        """
        dtype = self.column.type
        if is_of_64_bits(dtype):
            return self.integers
        if pa.types.is_floating(dtype):
            return self.doubles
        if pa.types.is_decimal(dtype):
            low, high = decimal_words(self.column).T
            ordered = np.stack([high ^ _SIGN, low], axis=1).astype(">i8")
            column = pa.Array.from_buffers(pa.binary(16), len(low), [None, pa.py_buffer(ordered)])
            texts: NDArray[Any] = column.to_numpy(zero_copy_only=False).copy()
            texts[~self.is_value] = None
            return texts
        values: NDArray[Any] = self.column.to_numpy(zero_copy_only=False)
        return values


def stored_type(dtype: pa.DataType) -> pa.DataType:
    """Return the type of the values in `ValueColumn.objects`."""
    if is_of_64_bits(dtype):
        return pa.int64()
    if pa.types.is_decimal(dtype):
        return pa.binary()
    return pa.float64() if pa.types.is_floating(dtype) else dtype


def restored(values: pa.Array, is_null: NDArray[np.bool_], dtype: pa.DataType) -> pa.Array:
    """Convert stored values back to their type, with null for no value; the inverse of `ValueColumn.objects`."""
    if pa.types.is_decimal(dtype) and not is_of_64_bits(dtype):
        texts = [_NO_DECIMAL if gone else text for text, gone in zip(values.to_pylist(), is_null.tolist(), strict=True)]
        words = np.frombuffer(b"".join(texts), ">i8").astype(np.int64).reshape(-1, 2)
        return decimals(words[:, 1], words[:, 0] ^ _SIGN, is_null, dtype)
    if not is_of_64_bits(dtype):
        numbers = values.cast(stored_type(dtype)).cast(dtype)
        return pc.if_else(pa.array(is_null), pa.scalar(None, dtype), numbers)
    integers = np.asarray(values)
    if pa.types.is_decimal(dtype):
        return decimals(integers, integers >> 63, is_null, dtype)
    if pa.types.is_boolean(dtype):
        return pa.array(integers != 0, mask=is_null)
    narrow = pa.int32() if pa.types.is_date32(dtype) else pa.int64()
    return pa.array(np.where(is_null, 0, integers), mask=is_null).cast(narrow).cast(dtype)


def ranks(values: NDArray[Any], dtype: pa.DataType) -> NDArray[Any]:
    """Return numbers unchanged, and other values as ranks from 0 on; equal values have equal ranks."""
    if values.dtype != object:
        return values
    column = pa.array(values, dtype)
    distinct = pc.unique(column)
    return np.asarray(pc.index_in(column, distinct.take(pc.sort_indices(distinct))))


def decimals(low: Ints, high: Ints, is_null: NDArray[np.bool_], dtype: pa.DataType) -> pa.Array:
    """Build decimals from the low and the high word of their unscaled values, shape (n,)."""
    words = np.empty((len(low), 2), np.int64)
    words[:, 0], words[:, 1] = np.where(is_null, 0, low), np.where(is_null, 0, high)
    validity = pa.array(~is_null).buffers()[1] if is_null.any() else None
    return pa.Array.from_buffers(dtype, len(low), [validity, pa.py_buffer(words)])


def _where(is_value: NDArray[np.bool_], word: Ints, has_nulls: bool) -> Ints:
    return np.where(is_value, word, 0) if has_nulls else np.ascontiguousarray(word)
