"""Arrow's numeric types, and their numbers as doubles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

EXACT = 1 << 53
"""Doubles represent each integer up to this one exactly."""

_EXACT_POWER = 22
"""Doubles represent each power of ten up to this one exactly."""


def is_number(dtype: pa.DataType) -> bool:
    """Test whether a type holds integers, decimals or floats."""
    return bool(pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype))


def decimal_words(column: pa.Array) -> NDArray[np.int64]:
    """Return the words of 128-bit decimals, the low one first; shape (n, 2), arbitrary for null."""
    words = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)
    return words[column.offset : column.offset + len(column)]


def as_doubles(numbers: Any) -> Any:
    """Convert numbers to the nearest doubles, as `cast(… as double)` of expressions does; null stays null.

    The numbers are an Array or a ChunkedArray. Arrow's own cast of a decimal can be off in the last digit.
    """
    if isinstance(numbers, pa.ChunkedArray):
        return pa.chunked_array([as_doubles(chunk) for chunk in numbers.chunks], pa.float64())
    if isinstance(numbers, pa.DictionaryArray):
        numbers = numbers.dictionary_decode()
    if not pa.types.is_decimal(numbers.type):
        return numbers.cast(pa.float64(), safe=False)
    if pa.types.is_decimal128(numbers.type) and 0 <= numbers.type.scale <= _EXACT_POWER and len(numbers):
        low, high = decimal_words(numbers).T
        if ((high == low >> 63) & (low >= -EXACT) & (low <= EXACT)).all():  # a quotient of two doubles is the nearest
            return pa.array(low / 10.0**numbers.type.scale, mask=np.asarray(numbers.is_null()))
    return numbers.cast(pa.string()).cast(pa.float64())


def cast_values(column: Any, dtype: pa.DataType) -> Any:
    """Convert a column to a type that a kind takes: numbers, also in lists, to the nearest doubles."""
    if pa.types.is_float64(dtype):
        return as_doubles(column)
    if pa.types.is_list(dtype) and pa.types.is_decimal(getattr(column.type, "value_type", pa.null())):
        column = column.cast(pa.list_(pa.string()))
    return column.cast(dtype, safe=False)
