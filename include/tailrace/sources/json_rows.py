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


def json_rows(table: pa.Table) -> Iterator[bytes]:
    """The rows of a table, each as a JSON object in UTF-8.

    Timestamps are ISO 8601 in UTC, in the digits of their unit; one without a time zone is in UTC. Decimals are
    numbers, dates are text. Numbers that JSON has not (NaN, infinity) are null.

    Raises
    ------
    ValueError
        When a column has values of a type that JSON has not: bytes.
    """
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            utc = table.column(place).cast(pa.timestamp(field.type.unit, "UTC"))
            iso = pc.replace_substring(utc.cast(pa.string()), " ", "T")
            table = table.set_column(place, field.name, iso)
    for batch in table.to_batches(_AT_ONCE):
        yield from map(_object, batch.to_pylist())


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
    if isinstance(value, date):
        return value.isoformat()
    raise ValueError(f"a value is of type {type(value).__name__}, which JSON has not: leave its column out")
