"""Streams kept as JSON lines."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from tailrace.errors import refuse
from tailrace.streams.check import Columns
from tailrace.streams.segments import Broken, Raw, Segment, Types, require

_FITS = {"event_time": (str, int), "arrival_time": (str, int), "id": (str, int), "key": (str, int)}
_OBJECT = re.compile(rb"^[ \t\r]*\{.*\}[ \t\r]*$", re.MULTILINE)
"""A line that may be a record: nothing else reaches the parser, which dies of a line that says `null`."""

_NUMBER = (int, float)
_PYTHON: dict[str, tuple[type, ...]] = {"string": (str,), "int64": (int,), "double": _NUMBER}


class JsonFiles:
    """One record a line. A line that is no record, or holds a wrong type, goes to quarantine alone."""

    suffixes = (".json", ".jsonl", ".ndjson")

    def types(self, path: Path, columns: Columns) -> Types | None:
        """From the first record, if any, with a value of a fitting type in every column.

        Times are ISO 8601 texts or epoch milliseconds.
        """
        names: set[str] = set()
        for record in _records(path):
            names |= record.keys()
            found = {name: _type(part, record.get(name)) for part, name in columns.named().items()}
            types = {name: kind for name, kind in found.items() if kind is not None}
            if len(types) == len(found):
                return types
        if names:
            require(path, columns, sorted(names))
        return None

    def split(self, path: Path) -> list[Segment]:
        rows = len(_lines(path))
        return [Segment(str(path), 0, rows, of_rows=rows)]

    def read(self, segment: Segment, types: Types) -> Raw:
        lines = _lines(Path(segment.path))[segment.first_row : segment.first_row + segment.rows]
        schema = pa.schema([(name, _arrow(kind)) for name, kind in types.items()])
        tables, rows, broken = [schema.empty_table()], [np.zeros(0, np.int64)], []
        for start, stop, table in _parse(lines, 0, len(lines), schema):
            if table is None:
                text = lines[start].decode(errors="replace")
                broken.append(Broken(start, _why(text, types), text))
            else:
                tables.append(table.select(schema.names))
                rows.append(np.arange(start, stop))
        return Raw(pa.concat_tables(tables), np.concatenate(rows), broken)

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        lines = _lines(Path(segment.path))
        return [lines[segment.first_row + row].decode(errors="replace") for row in rows]


def _lines(path: Path) -> list[bytes]:
    try:
        lines = path.read_bytes().split(b"\n")
        return lines if lines[-1] else lines[:-1]
    except FileNotFoundError as error:  # what else stands in the way may pass
        raise refuse(str(path), f"it can't be read ({error})", "a file of JSON lines") from error


def _parse(lines: list[bytes], start: int, stop: int, schema: pa.Schema) -> Iterator[tuple[int, int, pa.Table | None]]:
    """Tables of whole stretches of lines; a stretch with a fault is halved until the fault stands alone."""
    if start == stop:
        return
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore", newlines_in_values=False)
    text = b"\n".join(lines[start:stop]) + b"\n"
    block = pa.json.ReadOptions(use_threads=False, block_size=len(text) + 2)
    try:
        text.decode()
        faulty = len(_OBJECT.findall(text)) != stop - start
        table = (
            schema.empty_table()
            if faulty
            else pa.json.read_json(io.BytesIO(text), read_options=block, parse_options=options)
        )
    except (ValueError, pa.ArrowNotImplementedError):
        faulty = True
    if not faulty and table.num_rows == stop - start:
        yield start, stop, table
    elif stop - start == 1:
        yield start, stop, None
    else:
        middle = (start + stop) // 2
        yield from _parse(lines, start, middle, schema)
        yield from _parse(lines, middle, stop, schema)


def _why(text: str, types: Types) -> str:
    """Why a line is no record of these types."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"broken JSON: {error}"
    if "\ufffd" in text:
        return "no UTF-8"
    if not isinstance(record, dict):
        return "no JSON object"
    for name, kind in types.items():
        value = record.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, _PYTHON[kind])):
            return f"{name} is of the wrong type: {type(value).__name__}, not {kind}"
    return "no record that could be read"


def _records(path: Path) -> Iterator[dict[str, Any]]:
    for line in _lines(path):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _type(part: str, value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, _FITS.get(part, _NUMBER)):
        return None
    if part not in _FITS:
        return "double"
    return "string" if isinstance(value, str) else "int64"


def _arrow(kind: str) -> pa.DataType:
    return {"string": pa.string(), "int64": pa.int64(), "double": pa.float64()}[kind]
