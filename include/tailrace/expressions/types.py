"""The types of expressions: Spark SQL's types as Arrow types, and their names in both systems."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

BOOLEAN, TEXT, DATE, NULL = pa.bool_(), pa.string(), pa.date32(), pa.null()
TINYINT, SMALLINT, INT, BIGINT = pa.int8(), pa.int16(), pa.int32(), pa.int64()
FLOAT, DOUBLE = pa.float32(), pa.float64()
TIMESTAMP = pa.timestamp("us", "UTC")

MOST_DIGITS = 38
INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
_DIGITS = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}
"""The digits of the decimal to which Spark converts an integer type."""

_SPARK = {BOOLEAN: "boolean", TEXT: "string", DATE: "date", NULL: "void", TIMESTAMP: "timestamp"}
_SPARK |= {TINYINT: "tinyint", SMALLINT: "smallint", INT: "int", BIGINT: "bigint", FLOAT: "float", DOUBLE: "double"}
_DUCKDB = {BOOLEAN: "BOOLEAN", TEXT: "VARCHAR", DATE: "DATE", NULL: "INTEGER", TIMESTAMP: "TIMESTAMP"}
_DUCKDB |= {
    TINYINT: "TINYINT",
    SMALLINT: "SMALLINT",
    INT: "INTEGER",
    BIGINT: "BIGINT",
    FLOAT: "FLOAT",
    DOUBLE: "DOUBLE",
}

_UNSIGNED = {pa.uint8(): SMALLINT, pa.uint16(): INT, pa.uint32(): BIGINT}
_LARGE = {pa.large_string(): TEXT, pa.string_view(): TEXT, pa.date64(): DATE, pa.float16(): FLOAT}


_LAST_MICROS = (1 << 63) - 1


def decimal(precision: int, scale: int) -> pa.DataType:
    return pa.decimal128(precision, scale)


def is_integer(dtype: pa.DataType) -> bool:
    return dtype in INTEGERS


def is_real(dtype: pa.DataType) -> bool:
    return dtype in (FLOAT, DOUBLE)


def is_decimal(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_decimal128(dtype))


def is_number(dtype: pa.DataType) -> bool:
    return is_integer(dtype) or is_real(dtype) or is_decimal(dtype)


def as_decimal(dtype: pa.DataType) -> pa.DataType:
    """Return the decimal type that holds the values of an integer type; a decimal type unchanged."""
    return decimal(_DIGITS[dtype], 0) if is_integer(dtype) else dtype


def column_type(dtype: pa.DataType) -> pa.DataType | None:
    """Return the type that a source's column has in expressions; None if they can't read it."""
    if pa.types.is_dictionary(dtype):
        dtype = dtype.value_type
    dtype = _UNSIGNED.get(dtype) or _LARGE.get(dtype) or dtype
    if pa.types.is_timestamp(dtype):
        return TIMESTAMP
    if pa.types.is_decimal(dtype):
        return decimal(dtype.precision, dtype.scale) if 0 <= dtype.scale <= dtype.precision <= MOST_DIGITS else None
    if pa.types.is_struct(dtype):
        fields = [(field.name, column_type(field.type)) for field in dtype]
        is_fit = all(each for _, each in fields) and len({name.lower() for name, _ in fields}) == len(fields) > 0
        return pa.struct(fields) if is_fit else None
    if pa.types.is_map(dtype):
        key, item = column_type(dtype.key_type), column_type(dtype.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    if pa.types.is_list(dtype) or pa.types.is_large_list(dtype) or pa.types.is_fixed_size_list(dtype):
        item = column_type(dtype.value_type)
        return None if item is None else pa.list_(item)
    return dtype if dtype in _SPARK else None


def naive(dtype: pa.DataType) -> pa.DataType:
    """Return a type without time zones, with which DuckDB computes; times are in UTC."""
    if pa.types.is_timestamp(dtype):
        return pa.timestamp("us")
    if pa.types.is_struct(dtype):
        return pa.struct([(field.name, naive(field.type)) for field in dtype])
    if pa.types.is_map(dtype):
        return pa.map_(naive(dtype.key_type), naive(dtype.item_type))
    return pa.list_(naive(dtype.value_type)) if pa.types.is_list(dtype) else dtype


def spark_name(dtype: pa.DataType) -> str:
    """Return a type's name in Spark SQL."""
    if is_decimal(dtype):
        return f"decimal({dtype.precision},{dtype.scale})"
    if pa.types.is_struct(dtype):
        return f"struct<{', '.join(f'{field.name}: {spark_name(field.type)}' for field in dtype)}>"
    if pa.types.is_map(dtype):
        return f"map<{spark_name(dtype.key_type)}, {spark_name(dtype.item_type)}>"
    if pa.types.is_list(dtype):
        return f"array<{spark_name(dtype.value_type)}>"
    return _SPARK.get(dtype, str(dtype))


def duckdb_name(dtype: pa.DataType) -> str:
    """Return a type's name in DuckDB."""
    if is_decimal(dtype):
        return f"DECIMAL({dtype.precision},{dtype.scale})"
    if pa.types.is_struct(dtype):
        return f"STRUCT({', '.join(f'{quoted(field.name)} {duckdb_name(field.type)}' for field in dtype)})"
    if pa.types.is_map(dtype):
        return f"MAP({duckdb_name(dtype.key_type)}, {duckdb_name(dtype.item_type)})"
    return f"{duckdb_name(dtype.value_type)}[]" if pa.types.is_list(dtype) else _DUCKDB[dtype]


def quoted(name: str) -> str:
    """Return an identifier quoted for DuckDB."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """Return a text as a DuckDB literal."""
    return "'" + text.replace("'", "''") + "'"


def to_computable(column: pa.ChunkedArray, bound: pa.DataType) -> pa.ChunkedArray:
    """Convert a source's column for DuckDB, to the type to which expressions are bound.

    A file may have a narrower type than the first one. Times are floored to microseconds; times out of range become
    null.
    """
    dtype = column.type
    if pa.types.is_dictionary(dtype) and dtype.value_type == TEXT:
        return column
    if pa.types.is_dictionary(dtype):
        column = column.cast(dtype.value_type)
        dtype = column.type
    target: Any = column_type(dtype)
    if target is None:
        raise TypeError(f"no expression reads a column of type {dtype}")
    if pa.types.is_timestamp(dtype) and dtype.unit == "ns":
        column = _floored(column)
    elif pa.types.is_timestamp(dtype) and dtype.unit != "us":
        column = _within_micros(column)
    column = column if column.type == naive(target) else column.cast(naive(target), safe=False)
    wanted = naive(column_type(bound) or target)
    return column if wanted in (column.type, NULL) else column.cast(wanted)


def _within_micros(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Replace times that would overflow as microseconds, beyond the year 290,000, by null."""
    most = _LAST_MICROS // (1_000_000 if column.type.unit == "s" else 1000)
    value = column.cast(pa.int64())
    outside = pc.or_(pc.greater(value, most), pc.less(value, -most))
    return pc.if_else(outside, None, column) if pc.any(outside).as_py() else column


def _floored(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Floor nanoseconds to microseconds; before 1970, too, where a division would round up."""
    nanos = column.cast(pa.int64())
    rest = pc.subtract(nanos, pc.multiply(pc.divide(nanos, 1000), 1000))
    down = pc.if_else(pc.less(rest, 0), 1, 0)
    return pc.subtract(pc.divide(nanos, 1000), down).cast(pa.timestamp("us"))
