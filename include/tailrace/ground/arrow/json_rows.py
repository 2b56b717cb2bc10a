"""Writes rows of Arrow tables as JSON objects, from which the JSON source reads the same values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_AT_ONCE = 10_000
_WITH_JSON = (
    *(pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_date),
    *(pa.types.is_timestamp, pa.types.is_null, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
)
_ESCAPED = r'["\\\x00-\x1f]'
"""The characters that must be escaped within a JSON text."""

_WHOLE = r"^-?\d+$"


def json_rows(table: pa.Table) -> Iterator[bytes]:
    """Yield the rows of a table, each as a JSON object in UTF-8.

    Timestamps are ISO 8601 in UTC with the digits of their unit; a timestamp without a time zone counts as UTC. Doubles
    have the fewest digits that round-trip, integers and decimals all their digits. Dates are text. NaN and infinity,
    which JSON lacks, become null.

    Raises
    ------
    ValueError
        Before the first row, when a column has a type that JSON lacks, such as bytes, or a text is not UTF-8.
    """
    require_json(table)
    if not table.num_columns:
        yield from [b"{}"] * table.num_rows
        return
    for batch in table.to_batches(_AT_ONCE):
        pieces: list[Any] = []
        for index, field in enumerate(table.schema):
            name = json.dumps(field.name, ensure_ascii=False)
            pieces += [f"{',' if index else '{'}{name}:", json_texts(batch.column(index))]
        rows = pc.binary_join_element_wise(*pieces, "}", "")
        yield from rows.cast(pa.binary()).to_pylist()


def require_json(table: pa.Table) -> None:
    """Refuse a table with values that JSON lacks: raise a ValueError that names the column."""
    for field, column in zip(table.schema, table.columns, strict=True):
        if not _has_json(field.type):
            raise ValueError(f"column {field.name} is of type {field.type}, which JSON has not: leave it out")
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise ValueError(f"column {field.name} holds what JSON has not: {error}") from None


def _has_json(dtype: pa.DataType) -> bool:
    """Return whether all values of a type can be written as JSON."""
    if pa.types.is_dictionary(dtype) or pa.types.is_list(dtype) or pa.types.is_large_list(dtype):
        return _has_json(dtype.value_type)
    if pa.types.is_struct(dtype):
        return all(_has_json(field.type) for field in dtype)
    return any(is_of(dtype) for is_of in _WITH_JSON)


def json_texts(column: pa.Array) -> pa.Array:
    """Return the JSON text of each value of a column; `null` for a null."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    dtype = column.type
    if pa.types.is_nested(dtype):
        return pa.array([_nested(value) for value in column.to_pylist()], pa.string())
    if pa.types.is_floating(dtype):
        texts = _doubles(column.cast(pa.float64()))
    elif pa.types.is_timestamp(dtype):
        texts = _quoted(pc.replace_substring(column.cast(pa.timestamp(dtype.unit, "UTC")).cast(pa.string()), " ", "T"))
    else:
        texts = column.cast(pa.string())
        if not (pa.types.is_integer(dtype) or pa.types.is_boolean(dtype) or pa.types.is_decimal(dtype)):
            texts = _quoted(texts)
    return texts.fill_null("null")


def _doubles(column: pa.Array) -> pa.Array:
    """Return each double as text; whole numbers get .0, so that they are read back as doubles."""
    texts = column.cast(pa.string())
    texts = pc.if_else(pc.match_substring_regex(texts, _WHOLE), pc.binary_join_element_wise(texts, ".0", ""), texts)
    return pc.if_else(pc.is_finite(column), texts, None)


def _quoted(texts: pa.Array) -> pa.Array:
    escaped = pc.fill_null(pc.match_substring_regex(texts, _ESCAPED), False)
    quoted = pc.binary_join_element_wise('"', texts, '"', "")
    if not pc.any(escaped, min_count=0).as_py():
        return quoted
    written = [json.dumps(text, ensure_ascii=False) for text in texts.filter(escaped).to_pylist()]
    return pc.replace_with_mask(quoted, escaped, pa.array(written, pa.string()))


def _nested(value: Any) -> str:
    """Return the JSON text of a list or an object."""
    try:
        return _dump(value)
    except ValueError:
        return _dump(_finite(value))


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_value)


def _finite(value: Any) -> Any:
    """Return the value with NaN and infinity replaced by null."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _value(value: Any) -> Any:
    """Convert a value that Python's JSON encoder does not support; a decimal stays exact as text."""
    return value.isoformat() if isinstance(value, date) else str(value)
