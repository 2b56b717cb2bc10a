"""Reads the names of types: Spark SQL's, in casts and schemas, and Arrow's."""

from __future__ import annotations

import re
from difflib import get_close_matches

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tailrace.expressions.literals import TypeFault
from tailrace.expressions.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MOST_DIGITS,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    TINYINT,
    decimal,
)

_TYPES = {
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.TINYINT: TINYINT,
    exp.DType.SMALLINT: SMALLINT,
    exp.DType.INT: INT,
    exp.DType.BIGINT: BIGINT,
    exp.DType.FLOAT: FLOAT,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.TEXT: TEXT,
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
}
NAMES = (
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "decimal(p,s)",
    "string",
    "date",
    "timestamp",
)


def arrow_type(declared: exp.DataType) -> pa.DataType:
    """Return the type that a cast or a schema names.

    Raises
    ------
    TypeFault
    """
    dtype = _TYPES.get(declared.this)
    if dtype is not None and not declared.expressions:
        return dtype
    if declared.this == exp.DType.DECIMAL:
        digits = [int(part.name) for part in declared.expressions] or [10]
        precision, scale = (*digits, 0)[:2]
        if 1 <= precision <= MOST_DIGITS and 0 <= scale <= precision:
            return decimal(precision, scale)
    if declared.this == exp.DType.ARRAY and len(declared.expressions) == 1:
        return pa.list_(arrow_type(declared.expressions[0]))
    if declared.this == exp.DType.STRUCT and declared.expressions:
        return _struct(declared)
    written = declared.sql("spark").lower()
    near = get_close_matches(written, NAMES, 1)
    raise TypeFault(f"{written} is no type of expressions", near[0] if near else ", ".join(NAMES))


def _struct(declared: exp.DataType) -> pa.DataType:
    fields = []
    for part in declared.expressions:
        if not isinstance(part, exp.ColumnDef) or not isinstance(part.args.get("kind"), exp.DataType):
            raise TypeFault("a field has no name or no type", "struct<name: type, …>")
        fields.append((part.name, arrow_type(part.args["kind"])))
    names = [name.lower() for name, _ in fields]
    if len(set(names)) < len(names):
        raise TypeFault("a struct has two fields of one name", "a name for one field")
    return pa.struct(fields)


def parse_schema(text: str) -> pa.DataType:
    """Return the struct type that a text declares, as a table's columns or as struct<…>.

    Raises
    ------
    TypeFault
    """
    declaration = text if re.match(r"\s*struct\s*<", text, re.IGNORECASE) else f"struct<{text}>"
    try:
        declared = exp.DataType.build(declaration, dialect="spark")
    except (SqlglotError, ValueError, RecursionError):
        raise TypeFault(f"{text!r} is no schema", "'a int, b struct<c: string>'") from None
    dtype = arrow_type(declared)
    if not pa.types.is_struct(dtype):
        raise TypeFault(f"{text!r} is no struct", "'a int, b struct<c: string>'")
    return dtype
