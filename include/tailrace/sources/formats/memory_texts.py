"""Parses texts that stand for times and numbers in the stored rows of a stream in memory; a wrong text is malformed.

A column of a data frame holds texts only, as soon as one value is no number or time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailrace.sources.column_rules import is_text
from tailrace.sources.columns import SourceMapping
from tailrace.sources.formats.csv_types import read_column, shown_type, wrong_value
from tailrace.sources.segments import MalformedRecord, RawSegment, SourceFile, Types

IN_MEMORY = "_memory"
"""The folder of a warehouse with the rows of streams in memory: a folder of files for each stream of a query."""

_FOLDERS = 4  # parts at the end of a file's path: IN_MEMORY, the query, the stream, the file
_TIMES = ("event_time", "arrival_time")
_NUMBERS = ("int64", "double")


def is_in_memory(path: SourceFile | str) -> bool:
    """Test whether a file has rows of a stream in memory."""
    parts = PurePosixPath(str(path)).parts
    return len(parts) >= _FOLDERS and parts[-_FOLDERS] == IN_MEMORY


def types_of_texts(path: SourceFile, columns: SourceMapping) -> Types:
    """Infer the types of the text columns that hold times or numbers, as in a CSV file."""
    schema, values, types = pq.read_schema(path), columns.value_types, Types()
    for part, name in columns.named().items():
        is_read = part in _TIMES or part in columns.required or pa.types.is_float64(values.get(part, pa.null()))
        if is_read and name in schema.names and is_text(schema.field(name).type):
            texts = pq.read_table(path, columns=[name], partitioning=None).column(0).drop_null()
            if (dtype := shown_type(part, texts, columns)) is not None:
                types[name] = dtype
    return types


def as_numbers(schema: pa.Schema, names: Mapping[str, str]) -> pa.Schema:
    """Return a schema in which some columns have the type int64, as integers are valid times, too."""
    for name in names:
        schema = schema.set(schema.get_field_index(name), pa.field(name, pa.int64()))
    return schema


def read_texts(table: pa.Table, types: Types, records: Callable[[Sequence[int]], list[str]]) -> RawSegment:
    """Parse texts in columns of numbers; a text that is no number makes its record malformed.

    Parameters
    ----------
    records : callable
        Returns records as texts, by their rows.
    """
    reasons: dict[int, str] = {}
    for name, dtype in types.items():
        texts = table.column(name)
        if dtype in _NUMBERS and is_text(texts.type):
            values, is_wrong = read_column(pc.utf8_trim_whitespace(texts), dtype)
            table = table.set_column(table.schema.get_field_index(name), name, values)
            for row in np.flatnonzero(is_wrong).tolist():
                reasons.setdefault(
                    row, wrong_value({name: texts[row].as_py()}, {name: dtype}) or f"{name} is no number"
                )
    rows = sorted(reasons)
    malformed = [MalformedRecord(row, reasons[row], text) for row, text in zip(rows, records(rows), strict=True)]
    taken = np.delete(np.arange(table.num_rows), rows)
    return RawSegment(table.take(pa.array(taken)) if rows else table, taken, malformed)
