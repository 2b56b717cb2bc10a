"""Streams stored as JSON lines."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.json

from tailrace.ground.errors import refuse
from tailrace.sources.check import Columns
from tailrace.sources.json_types import ARROW_TYPES, CARRIABLE_VALUES, shown_types, wrong_value
from tailrace.sources.segments import MalformedRecord, RawSegment, Segment, Types, require, require_taken

_OBJECT = re.compile(rb"^[ \t\r]*\{.*\}[ \t\r]*$", re.MULTILINE)
"""A line that may be a record; no other reaches the parser, which crashes on a line `null`."""

_BYTES_PER_SEGMENT = 16 << 20  # several readers share a large file, and none holds more of it in memory


class JsonFiles:
    """JSON lines, one record a line; a line that is no record, or has a wrong type, goes to quarantine alone."""

    suffixes = (".json", ".jsonl", ".ndjson")

    def whole(self, path: Path, still: bool) -> bool:
        return still and _ends_with_a_record(path)

    def types(self, path: Path, columns: Columns) -> Types | None:
        """Column types by the values of records, see `shown_types`.

        Times are ISO 8601 texts or epoch milliseconds.
        """
        types, names, nested = shown_types(_records(path), columns)
        if types is None and names:
            require(path, replace(columns, carried={}), sorted(names))  # records may leave out what is null
            for name in sorted(nested):
                raise refuse(f"{path}: column {name}", "its values are objects or lists", CARRIABLE_VALUES)
        return types

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
        schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in types.items()])
        tables, rows, malformed = [schema.empty_table()], [np.zeros(0, np.int64)], []
        for start, stop, table in _parse(lines, 0, len(lines), schema):
            if table is None:
                text = lines[start].decode(errors="replace")
                malformed.append(MalformedRecord(start, _reason(text, types), text))
            else:
                tables.append(table.select(schema.names))
                rows.append(np.arange(start, stop))
        return RawSegment(pa.concat_tables(tables), np.concatenate(rows), malformed)

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        lines = _lines(segment)
        return [lines[row].decode(errors="replace") for row in rows]


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError as error:  # any other fault may pass, and is no refusal
        raise refuse(str(path), f"it can't be read ({error})", "a file of JSON lines") from error


def _blocks(path: Path) -> list[tuple[int, int, int]]:
    """The blocks of a file, cut at line ends: first byte, end and number of lines of each; an empty file has none."""
    blocks: list[tuple[int, int, int]] = []
    start = offset = 0
    with _open(path) as file:
        while block := file.read(_BYTES_PER_SEGMENT):
            if line := block.rfind(b"\n") + 1:  # a line may be longer than a block
                blocks.append((start, offset + line, block.count(b"\n")))
                start = offset + line
            offset += len(block)
    if start < offset:  # the last line has no newline: it joins the last block
        first, _, lines = blocks.pop() if blocks else (0, 0, 0)
        blocks.append((first, offset, lines + 1))
    return blocks


def _ends_with_a_record(path: Path) -> bool:
    """True if the last line ends in a newline or is a JSON value, or the file is empty."""
    tail_bytes = 1 << 12
    with _open(path) as file:
        size = file.seek(0, os.SEEK_END)
        while True:
            file.seek(max(size - tail_bytes, 0))
            tail = file.read(size - file.tell())
            if b"\n" in tail or tail_bytes >= size:
                break
            tail_bytes *= 16
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
    """Parse ranges of lines into tables; a range with a fault is halved down to the faulty line, which gets None."""
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


def _reason(text: str, types: Types) -> str:
    """The reason for which a line is no record of these types."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"broken JSON: {error}"
    if "\ufffd" in text:
        return "no UTF-8"
    if not isinstance(record, dict):
        return "no JSON object"
    return wrong_value(record, types) or "no record that could be read"


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with _open(path) as file:
        for line in file:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict):
                yield record
