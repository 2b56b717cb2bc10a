"""Streams kept as JSON lines."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.json

from tailrace.ground.errors import refuse
from tailrace.sources.check import Columns
from tailrace.sources.segments import MalformedRecord, RawSegment, Segment, Types, require, require_taken

_FITS = {"event_time": (str, int), "arrival_time": (str, int), "id": (str, int), "key": (str, int)}
_OBJECT = re.compile(rb"^[ \t\r]*\{.*\}[ \t\r]*$", re.MULTILINE)
"""A line that may be a record: nothing else reaches the parser, which dies of a line that says `null`."""

_BYTES_PER_SEGMENT = 16 << 20  # so that several readers share a large file, and none holds more of it at once

_NUMBER = (int, float)
_PYTHON: dict[str, tuple[type, ...]] = {"string": (str,), "int64": (int,), "double": _NUMBER}


class JsonFiles:
    """One record a line. A line that is no record, or holds a wrong type, goes to quarantine alone."""

    suffixes = (".json", ".jsonl", ".ndjson")

    def whole(self, path: Path, still: bool) -> bool:
        return still and _ends_with_a_record(path)

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
        blocks = _blocks(path)
        of_rows = sum(rows for _, _, rows in blocks)
        first = [0, *accumulate(rows for _, _, rows in blocks)]
        return [
            Segment(str(path), row, rows, of_rows=of_rows, block_start=start, block_end=end, block_row=row)
            for row, (start, end, rows) in zip(first, blocks, strict=False)
        ]

    def read(self, segment: Segment, types: Types) -> RawSegment:
        lines = _lines(segment)
        schema = pa.schema([(name, _arrow(kind)) for name, kind in types.items()])
        tables, rows, broken = [schema.empty_table()], [np.zeros(0, np.int64)], []
        for start, stop, table in _parse(lines, 0, len(lines), schema):
            if table is None:
                text = lines[start].decode(errors="replace")
                broken.append(MalformedRecord(start, _why(text, types), text))
            else:
                tables.append(table.select(schema.names))
                rows.append(np.arange(start, stop))
        return RawSegment(pa.concat_tables(tables), np.concatenate(rows), broken)

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        lines = _lines(segment)
        return [lines[row].decode(errors="replace") for row in rows]


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError as error:  # what else stands in the way may pass
        raise refuse(str(path), f"it can't be read ({error})", "a file of JSON lines") from error


def _blocks(path: Path) -> list[tuple[int, int, int]]:
    """The blocks of a file, cut at ends of lines: first byte, end, and lines of each; an empty file has none."""
    found: list[tuple[int, int, int]] = []
    start = at = 0
    with _open(path) as file:
        while block := file.read(_BYTES_PER_SEGMENT):
            if line := block.rfind(b"\n") + 1:  # a line may be longer than a block
                found.append((start, at + line, block.count(b"\n")))
                start = at + line
            at += len(block)
    if start < at:  # the last line has no end
        before, _, lines = found.pop() if found else (0, 0, 0)
        found.append((before, at, lines + 1))
    return found


def _ends_with_a_record(path: Path) -> bool:
    """Whether the last line is ended, or is a JSON value; true of an empty file."""
    reach = 1 << 12
    with _open(path) as file:
        size = file.seek(0, os.SEEK_END)
        while True:
            file.seek(max(size - reach, 0))
            tail = file.read(size - file.tell())
            if b"\n" in tail or reach >= size:
                break
            reach *= 16
    last = tail.rpartition(b"\n")[2]
    try:
        if last:
            json.loads(last)
    except (ValueError, RecursionError):
        return False
    return True


def _lines(segment: Segment) -> list[bytes]:
    """The lines of a segment."""
    require_taken(segment)
    with _open(Path(segment.path)) as file:
        file.seek(segment.block_start)
        lines = file.read(segment.block_end - segment.block_start if segment.block_end else -1).split(b"\n")
    first = segment.first_row - segment.block_row
    return lines[first : first + segment.rows]


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
    with _open(path) as file:
        for line in file:
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
