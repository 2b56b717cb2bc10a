"""Rows of Arrow tables as JSON objects, which the JSON source reads back as the same values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_AT_ONCE = 10_000
_WITH_JSON = (
    *(pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_date),
    *(pa.types.is_timestamp, pa.types.is_null, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
)


def json_rows(table: pa.Table) -> Iterator[bytes]:
    """The rows of a table, each as a JSON object in UTF-8.

    Timestamps are ISO 8601 in UTC, in the digits of their unit; one without a time zone is in UTC. Decimals are
    numbers, dates are text. Numbers that JSON has not (NaN, infinity) are null.

    Raises
    ------
    ValueError
        When a column is of a type that JSON has not, such as bytes; before the first row.
    """
    for field in table.schema:
        if not _has_json(field.type):
            raise ValueError(f"column {field.name} is of type {field.type}, which JSON has not: leave it out")
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            utc = table.column(place).cast(pa.timestamp(field.type.unit, "UTC"))
            iso = pc.replace_substring(utc.cast(pa.string()), " ", "T")
            table = table.set_column(place, field.name, iso)
    for batch in table.to_batches(_AT_ONCE):
        yield from map(_object, batch.to_pylist())


def _has_json(kind: pa.DataType) -> bool:
    """Whether all values of a type can be written as JSON."""
    if pa.types.is_dictionary(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _has_json(kind.value_type)
    if pa.types.is_struct(kind):
        return all(_has_json(field.type) for field in kind)
    return any(is_of(kind) for is_of in _WITH_JSON)


def _object(row: dict[str, Any]) -> bytes:
    try:
        return _text(row)
    except ValueError:
        return _text(_finite(row))


def _text(row: Any) -> bytes:
    return json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_value).encode()


def _finite(value: Any) -> Any:
    """The value with null for each number that JSON has not."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _value(value: Any) -> Any:
    """A value that Python's encoder does not know, as one that it knows."""
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, date) else str(value)
