"""Columns carried along from a source: the types that are possible, and their values in these types."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.arrow.times import TIME
from tailrace.ground.errors import refuse
from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS
from tailrace.sources.time_zones import WITH_ZONE, WITHOUT_ZONE

CARRIABLE = "a boolean, an integer up to int64, a float, a decimal up to 38 digits, a string, a date or a timestamp"
"""The types of a source's column that can be carried along, in words."""

OUT_OF_BOUNDS = "out of bounds: a date or a timestamp lies in the years 1 to 9999"
"""The fault of a value that `carried_values` marks."""

_INTEGERS = {"int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64()}
_INTEGERS |= {"uint8": pa.int16(), "uint16": pa.int32(), "uint32": pa.int64()}  # Delta tables have no unsigned integers
_REALS = {"halffloat": pa.float32(), "float": pa.float32(), "double": pa.float64()}
_TEXTS = ("string", "large_string", "string_view", WITH_ZONE, WITHOUT_ZONE)
_OTHERS = dict.fromkeys(_TEXTS, pa.string()) | {"bool": pa.bool_()}
_OTHERS |= dict.fromkeys(("date32[day]", "date64[ms]"), pa.date32())
_BY_NAME = _INTEGERS | _REALS | _OTHERS
_DECIMAL = re.compile(r"decimal\d+\((\d+), (-?\d+)\)")
_MOST_DIGITS = 38
_UINT64 = pa.decimal128(20, 0)

_DAY_MS = 86_400_000
_PER_MS = {"us": 1000, "ns": 1_000_000}


def carried_type(type_name: str) -> pa.DataType | None:
    """Return the type of a column when it is carried along, by its type's name; None where it can't be.

    It holds every value of the source's type. Timestamps are in UTC, in microseconds.
    """
    if type_name.startswith("timestamp["):
        return TIME
    if match := _DECIMAL.fullmatch(type_name):
        digits, scale = map(int, match.groups())
        return pa.decimal128(digits, scale) if digits <= _MOST_DIGITS and 0 <= scale <= digits else None
    return _BY_NAME.get(type_name)


def score_type(type_name: str) -> pa.DataType | None:
    """Return the type of a column that ranks tuples: `carried_type`, but floats become doubles, uint64 a decimal."""
    if type_name == "uint64":
        return _UINT64
    dtype = carried_type(type_name)
    return pa.float64() if dtype is not None and pa.types.is_floating(dtype) else dtype


def holds_all(dtype: pa.DataType, other: pa.DataType) -> bool:
    """Test whether a carried type has every value of another one: it is as wide, or wider."""
    if pa.types.is_decimal(dtype) and pa.types.is_decimal(other):
        more_before = (dtype.precision - dtype.scale) - (other.precision - other.scale)
        return bool(dtype.scale >= other.scale and more_before >= 0)
    for is_of_family in (pa.types.is_integer, pa.types.is_floating):
        if is_of_family(dtype) and is_of_family(other):
            return bool(dtype.bit_width >= other.bit_width)
    return bool(dtype == other)


def require_castable(where: str, column: pa.Array, dtype: pa.DataType) -> None:
    """Refuse a column in a later version of a table with a value that does not fit the type of the first version.

    Texts, and types that do not fit at all, are refused elsewhere, by the types' names.

    Raises
    ------
    Refused
    """
    if pa.types.is_string(column.type):
        return
    try:
        column.cast(dtype)
    except pa.ArrowInvalid as error:
        fault = f"its type is {column.type}, in versions before {dtype}, which has not all values: {error}"
        raise refuse(where, fault, "one type, or another name for the query, to begin again") from None
    except pa.ArrowNotImplementedError:
        return


def carried_values(column: pa.Array, dtype: pa.DataType) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Convert a column of n records to the type in which it is carried; mark the values that this type can't have.

    These are dates and timestamps outside of the years 1 to 9999. A timestamp is floored to microseconds; one without a
    time zone is in UTC.

    Returns
    -------
    values : Array, length n
    out_of_bounds : ndarray, shape (n,)
    """
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if pa.types.is_null(column.type):
        return column.cast(dtype), np.zeros(len(column), bool)
    if pa.types.is_timestamp(dtype):
        return _timestamps(column)
    if pa.types.is_date(dtype):
        return _dates(column)
    return column.cast(dtype), np.zeros(len(column), bool)


def _timestamps(column: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
    missing, value, unit = np.asarray(column.is_null()), _integers(column, pa.int64()), column.type.unit
    if unit == "s":
        outside = (value < EARLIEST_MS // 1000) | (value > LATEST_MS // 1000)
        micros = np.where(outside, 0, value) * 1_000_000
    else:
        value_ms = value // _PER_MS.get(unit, 1)
        outside = (value_ms < EARLIEST_MS) | (value_ms > LATEST_MS)
        value = np.where(outside, 0, value)
        micros = value * 1000 if unit == "ms" else value // (_PER_MS[unit] // 1000)
    return pa.array(micros, pa.int64(), mask=missing | outside).cast(TIME), outside


def _dates(column: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
    days = (
        _integers(column, pa.int32()) if pa.types.is_date32(column.type) else _integers(column, pa.int64()) // _DAY_MS
    )
    outside = (days < EARLIEST_MS // _DAY_MS) | (days > LATEST_MS // _DAY_MS)
    mask = np.asarray(column.is_null()) | outside
    return pa.array(np.where(outside, 0, days), pa.int32(), mask=mask).cast(pa.date32()), outside


def _integers(column: pa.Array, dtype: pa.DataType) -> NDArray[np.int64]:
    """Return times as the integers that store them; 0 where there is none."""
    return np.asarray(column.cast(dtype).fill_null(0)).astype(np.int64)
