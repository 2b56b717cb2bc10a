"""Writes answers as a table, CSV, JSON lines or Parquet, to the terminal or a file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from tailrace.ground.arrow.columns import without_nan
from tailrace.ground.arrow.json_rows import json_rows, json_texts
from tailrace.ground.duration import format_time
from tailrace.ground.errors import refuse
from tailrace.tables.every import ANSWER_TIMES, as_timestamps
from tailrace.terminal.output_file import open_output
from tailrace.terminal.tables import print_table, table_text

_LAST = ("id", "window_end", "tuples", "coverage", "k_ms", "as_of")
"""The least important columns of answers: an id may be long, and a window's start suffices to show its time."""


def require_output(form: str, output: Path | None) -> None:
    """Refuse a format that needs a file without one."""
    if form == "parquet" and output is None:
        raise refuse("--output", "Parquet can't go to the terminal", "--output FILE.parquet")


def write_answers(
    answers: pa.Table,
    columns: list[str],
    form: str,
    output: Path | None,
    limit: int,
    wide: bool = False,
    times: Collection[str] = ANSWER_TIMES,
) -> list[str]:
    """Write answers as table, csv, jsonl or parquet; times become UTC timestamps in ms.

    Return the columns that were written. `times` are the columns in integer ms.

    The source's own timestamps are in microseconds. Except in Parquet, dates and decimals are text. A table on the
    terminal has the columns that fit, unless it is `wide`.
    """
    require_output(form, output)
    rows = without_nan(answers.select(columns))
    if form == "parquet" and output is not None:
        with open_output(output) as file:
            pq.write_table(as_timestamps(rows, times), file)
        return columns
    if form == "table" and output is None:
        shown = _with_texts(rows.slice(0, limit), times).to_pylist()
        caption = f"the first {limit:,} of {len(rows):,}; --limit or --format gives more" if len(rows) > limit else None
        cells = [[_cell(value) for value in row.values()] for row in shown]
        first = sorted(rows.column_names, key=lambda name: _LAST.index(name) + 1 if name in _LAST else 0)
        return print_table(rows.column_names, cells, wide, caption, first=first)
    if form == "csv":
        sink = pa.BufferOutputStream()
        csv.write_csv(_with_texts(rows, times), sink)
        body = sink.getvalue().to_pybytes().decode()
    elif form == "jsonl":
        body = "".join(f"{row.decode()}\n" for row in json_rows(_with_text_times(rows, times)))
    else:
        table = [[_cell(value) for value in row.values()] for row in _with_texts(rows, times).to_pylist()]
        body = table_text(rows.column_names, table)
    if output is None:
        print(body, end="")
    else:
        with open_output(output) as file:
            file.write(body.encode())
    return columns


def _with_text_times(rows: pa.Table, times: Collection[str]) -> pa.Table:
    for name in [name for name in rows.column_names if name in times]:
        texts = [None if ms is None else format_time(ms) for ms in rows[name].to_pylist()]
        text = pa.array(texts, pa.string())
        rows = rows.set_column(rows.schema.get_field_index(name), name, text)
    for index, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            rows = rows.set_column(index, field.name, _timestamp_texts(rows.column(index)))
        elif pa.types.is_date(field.type) or pa.types.is_decimal(field.type):
            rows = rows.set_column(index, field.name, rows.column(index).cast(pa.string()))
    return rows


def _with_texts(rows: pa.Table, times: Collection[str]) -> pa.Table:
    """Convert times to texts, and lists and structs to JSON, for CSV and tables; null stays null."""
    rows = _with_text_times(rows, times)
    for index, field in enumerate(rows.schema):
        if pa.types.is_nested(field.type):
            column = rows.column(index).combine_chunks()
            texts = pc.if_else(column.is_valid(), json_texts(column), pa.scalar(None, pa.string()))
            rows = rows.set_column(index, field.name, texts)
    return rows


def _timestamp_texts(column: pa.ChunkedArray) -> pa.Array:
    """Return times as ISO 8601 texts in UTC with microseconds; null stays null."""
    texts = np.datetime_as_string(column.to_numpy().astype("datetime64[us]"), unit="us")
    return pa.array(np.char.add(texts, "Z").tolist(), pa.string(), mask=np.asarray(column.is_null()))


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
