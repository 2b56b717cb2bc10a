"""Copies rows into a PostgreSQL table by COPY: in its binary format, or as text if they contain decimals."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tailrace.delivery.postgres_binary import binary_copy, has_form
from tailrace.delivery.postgres_schema import names

if TYPE_CHECKING:
    from psycopg2.extensions import cursor as Cursor

ROWS = 100_000  # rows in a statement, whose content is in memory
_OPTIONS = csv.WriteOptions(include_header=False, quoting_style="all_valid")  # quotes empty texts, but not nulls
_NUL, _FOR_NUL = "\0", "\N{SYMBOL FOR NULL}"  # PostgreSQL's texts have no NUL


def copy(cursor: Cursor, table: str, rows: pa.Table) -> None:
    """Copy rows into the columns of a table with the same names and the corresponding types."""
    form, write = ("binary", binary_copy) if all(map(has_form, rows.schema.types)) else ("csv", _csv)
    for start in range(0, rows.num_rows, ROWS):
        content = io.BytesIO(write(_without_nul(rows.slice(start, ROWS))))
        cursor.copy_expert(f"COPY {table} ({names(rows.column_names)}) FROM STDIN (FORMAT {form})", content)


def _without_nul(rows: pa.Table) -> pa.Table:
    for index, field in enumerate(rows.schema):
        column, is_text = rows.column(index), pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        if is_text and pc.any(pc.match_substring(column, _NUL)).as_py():
            rows = rows.set_column(index, field.name, pc.replace_substring(column, _NUL, _FOR_NUL))
    return rows


def _csv(rows: pa.Table) -> bytes:
    for index, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            rows = rows.set_column(index, field.name, _time_texts(rows.column(index)))
    text = io.BytesIO()
    csv.write_csv(rows, text, _OPTIONS)
    return text.getvalue()


def _time_texts(times: pa.ChunkedArray) -> pa.Array:
    """Format each distinct time once, as that takes 2 µs and answers share times."""
    encoded = pc.dictionary_encode(times.combine_chunks())
    return pc.cast(encoded.dictionary, pa.string()).take(encoded.indices)
