"""Streams stored as JSON lines."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar

from tailrace.ground.errors import Refused, refuse
from tailrace.sources.columns import SourceMapping
from tailrace.sources.formats.csv_records import BOM, CR_ALONE, LF_NEEDED
from tailrace.sources.formats.file_format import ALONE, OtherFiles, SegmentReader
from tailrace.sources.formats.json_lines import parse
from tailrace.sources.formats.json_types import CARRIABLE_VALUES, shown_types, unfit_values
from tailrace.sources.formats.required_columns import MissingColumn, missing
from tailrace.sources.segments import (
    RawSegment,
    Segment,
    SourceFile,
    Types,
    open_source,
    require_taken,
)

_LOOKED_AT = 1 << 20
BYTES_PER_SEGMENT = 16 << 20  # block size: several readers share a large file, and each holds one block in memory


@dataclass(frozen=True)
class JsonFiles:
    """JSON lines, one record a line; only a line that is not a record, or has a wrong type, is quarantined."""

    connection: str | None = None
    exact: frozenset[str] = frozenset()
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".jsonl", ".ndjson")
    states_types: ClassVar[bool] = False
    is_log: ClassVar[bool] = False

    def at(self, connection: str | None, exact: frozenset[str] = frozenset()) -> SegmentReader:
        return replace(self, connection=connection, exact=exact)

    def whole(self, path: SourceFile, still: bool) -> bool:
        return still and _ends_with_a_record(path)

    def types(self, path: SourceFile, columns: SourceMapping, others: OtherFiles = ALONE) -> Types | None:
        """Return the column types shown by the values of records, see `shown_types`.

        Times are ISO 8601 texts or epoch milliseconds.

        Raises
        ------
        Refused
            When a column is nested, or the file is the first and has no lines of records.
        """
        if not others.before:  # later files are read line by line, and lines that are no records go to quarantine
            _require_lines(path)
        types, names, nested = shown_types(_records(path), columns, others.before)
        if types is None and names:
            if problems := missing(path, columns, columns.needed(), names):  # records may omit nulls
                raise MissingColumn(problems)
            for name in sorted(nested):
                raise refuse(f"{path}: column {name}", "its values are objects or lists", CARRIABLE_VALUES)
        return types

    def names(self, path: SourceFile, columns: SourceMapping) -> set[str] | None:
        return shown_types(_records(path), columns).names

    def unfit(self, path: SourceFile, columns: SourceMapping) -> dict[str, Any]:
        return unfit_values(_records(path), columns)

    def split(self, path: SourceFile) -> list[Segment]:
        blocks = _blocks(path)
        of_rows = sum(rows for _, _, rows in blocks)
        first = [0, *accumulate(rows for _, _, rows in blocks)]
        return [
            Segment(str(path), row, rows, of_rows=of_rows, block_start=start, block_end=end, block_row=row)
            for row, (start, end, rows) in zip(first, blocks, strict=False)
        ]

    def read(self, segment: Segment, types: Types) -> RawSegment:
        return parse(_lines(segment, self.connection), types, self.exact)

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        lines = _lines(segment, self.connection)
        return [lines[row].decode(errors="replace") for row in rows]


def _require_lines(path: SourceFile) -> None:
    """Refuse a file that is one JSON list, or has objects over several lines, or lines that end in CR alone."""
    with open_source(path) as file:
        first = file.readline(_LOOKED_AT)
        start = first.removeprefix(BOM).strip()
        while first and not start:
            first = file.readline(_LOOKED_AT)
            start = first.strip()
    if start.startswith(b"[") and not _is_list_of_values(start):
        raise no_lines(path, "it is one JSON list", "'.[]'")
    if start == b"{":
        raise no_lines(path, "its objects stand over several lines", ".")
    if start.startswith(b"{") and b"}\r{" in b"".join(start.split(b" ")):
        raise refuse(str(path), CR_ALONE, LF_NEEDED)


def no_lines(path: SourceFile, fault: str, records: str) -> Refused:
    """Build the refusal of a JSON file without one record a line; `records` is the jq filter that extracts them."""
    command = f"jq -c {records} {shlex.quote(str(path))} > {shlex.quote(f'{Path(str(path)).stem}.jsonl')}"
    return refuse(str(path), f"{fault}, and records are read line by line", f"one object a line, as by: {command}")


def _is_list_of_values(line: bytes) -> bool:
    """Test whether a line is a complete JSON list without objects: neither a record nor a list of records."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return not any(isinstance(each, dict) for each in content)


def _blocks(path: SourceFile) -> list[tuple[int, int, int]]:
    """Return a file's blocks, cut at line ends: first byte, end and number of lines of each; none for an empty file."""
    blocks: list[tuple[int, int, int]] = []
    start = offset = 0
    with open_source(path) as file:
        while block := file.read(BYTES_PER_SEGMENT):
            if line := block.rfind(b"\n") + 1:  # a line may be longer than a block
                blocks.append((start, offset + line, block.count(b"\n")))
                start = offset + line
            offset += len(block)
    if start < offset:  # the last line has no newline and joins the last block
        first, _, lines = blocks.pop() if blocks else (0, 0, 0)
        blocks.append((first, offset, lines + 1))
    return blocks


def _ends_with_a_record(path: SourceFile) -> bool:
    """Test whether the last line ends in a newline or is a JSON value, or the file is empty."""
    tail_bytes = 1 << 12
    with open_source(path) as file:
        size = file.seek(0, os.SEEK_END)
        while True:
            file.seek(max(size - tail_bytes, 0))
            tail = file.read(size - file.tell())
            if b"\n" in tail or tail_bytes >= size:
                break
            tail_bytes *= 16
    last = tail.rpartition(b"\n")[2]
    try:
        if last and last != b"]":  # the end of a list, which is refused
            json.loads(last)
    except (ValueError, RecursionError):
        return False
    return True


def _lines(segment: Segment, connection: str | None) -> list[bytes]:
    """Return the lines of a segment."""
    with open_source(require_taken(segment, connection)) as file:
        file.seek(segment.block_start)
        lines = file.read(segment.block_end - segment.block_start if segment.block_end else -1).split(b"\n")
    first = segment.first_row - segment.block_row
    return lines[first : first + segment.rows]


def _records(path: SourceFile) -> Iterator[dict[str, Any]]:
    with open_source(path) as file:
        for line in file:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict):
                yield record
