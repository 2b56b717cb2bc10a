"""Converts values for pages, in cells of a table and in JSON: plain and exact; long ones are cut."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.arrow.number_types import EXACT
from tailrace.panels.panel import Shown
from tailrace.tables.every import ANSWER_TIMES

LONGEST = 2_000
"""The most characters of a text on a page; the rest is cut off, with a mark."""

Cell = int | float | str | None

ColumnType = Literal["time", "number", "text"]

_NAMES = frozenset(("key", "id", "left_id", "right_id"))


class ShownColumn(Shown):
    """A column of a table on a page.

    Attributes
    ----------
    type : str
        `time` in ms, `number`, or `text`. Ids, keys and decimals are texts; so are the integers of a column in which
        some exceed doubles.
    """

    name: str
    type: ColumnType


def cells_of(tables: Sequence[pa.Table], names: Sequence[str]) -> tuple[list[ShownColumn], list[list[list[Cell]]]]:
    """Return tables with one schema as cells: the named columns, and the rows of each table."""
    columns, values = [], []
    for name in names:
        chunks = [chunk for table in tables for chunk in table.column(name).chunks]
        type_, cells = _cells(name, pa.chunked_array(chunks, tables[0].column(name).type))
        columns.append(ShownColumn(name=name, type=type_))
        values.append(cells)
    rows = [list(row) for row in zip(*values, strict=True)]
    parts, start = [], 0
    for table in tables:
        parts.append(rows[start : start + table.num_rows])
        start += table.num_rows
    return columns, parts


def cut(text: str, length: int | None = None) -> str:
    """Cut a text after `LONGEST` characters, with a mark.

    `length` is the full length if `text` is only its start.
    """
    length = len(text) if length is None else length
    return text if length <= LONGEST else f"{text[:LONGEST]}… ({length:,} characters in all)"


def plain(value: Any) -> Any:
    """Return a value as plain JSON: text, numbers, booleans and null, lists and mappings of these.

    Integers beyond 2^53, which JavaScript would round, become text; NaN and infinity, which JSON lacks, become null.
    Other values, such as decimals and dates, become text, and long texts are cut.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return cut(str(value))


def text_of(value: Any) -> str | None:
    """Return a key or an id as text, cut; null stays null."""
    return None if value is None else cut(str(value))


def texts_of(column: pa.ChunkedArray) -> list[str | None]:
    """Return texts, cut before they become Python objects, as one may have megabytes."""
    starts = pc.utf8_slice_codeunits(column, 0, LONGEST).to_pylist()
    lengths = pc.utf8_length(column).to_pylist()
    return [None if text is None else cut(text, length) for text, length in zip(starts, lengths, strict=True)]


def _cells(name: str, column: pa.ChunkedArray) -> tuple[ColumnType, list[Any]]:
    dtype, values = column.type, [] if _is_text(column.type) else column.to_pylist()
    if pa.types.is_timestamp(dtype):
        return "time", column.cast(pa.timestamp("ms", dtype.tz), safe=False).cast(pa.int64()).to_pylist()
    if pa.types.is_integer(dtype) and name in ANSWER_TIMES:
        return "time", values
    if pa.types.is_integer(dtype) and name not in _NAMES and all(abs(value or 0) <= EXACT for value in values):
        return "number", values
    if pa.types.is_floating(dtype):
        return "number", [plain(value) for value in values]
    if _is_text(dtype):
        return "text", texts_of(column)
    return "text", [None if value is None else cut(_text(value)) for value in values]


def _is_text(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_string(dtype) or pa.types.is_large_string(dtype))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return f"{value:f}"
    return json.dumps(value, default=str) if isinstance(value, list | dict) else str(value)
