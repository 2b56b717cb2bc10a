"""The place of a record in its source, for people: the file, and the line as an editor numbers it.

Tables name a record by the path of its file and its number in it, from 0: `in/a.csv#264`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath

import pyarrow as pa

from tailrace.ground.errors import Refused
from tailrace.ground.files.atomic_files import is_url
from tailrace.sources.formats.csv_dialect import CsvDialect, most_frequent_delimiter
from tailrace.sources.formats.csv_files import read_header
from tailrace.sources.formats.csv_records import blocks, records
from tailrace.sources.formats.memory_texts import IN_MEMORY, is_in_memory

_FORMATS = {".csv": "csv", ".parquet": "parquet"} | dict.fromkeys((".json", ".jsonl", ".ndjson"), "json")
_BLOCK_BYTES = 1 << 20
FAR_RECORD = 1_000_000  # bytes of a file that are read to number the line of a record
_LONGEST = 200
_ROWS = re.compile(rf"(?:(?<=: )|\A)(?:(?!: ).)*/{IN_MEMORY}/[^/]+/([^/]+)/[^/: ]+\.parquet")


def naming_rows(text: str) -> str:
    """Replace in a text the file with rows in memory by the name of their stream."""
    return _ROWS.sub(r"rows of \1", text)


def first_line(format_name: str, quarantine: pa.RecordBatch) -> str | None:
    """Return the place of the first rejected record, and why it was rejected; None if there is none."""
    if not quarantine.num_rows:
        return None
    position, reason, record = (str(quarantine[name][0]) for name in ("position", "reason", "record"))
    text = " ".join(record.split())
    return f"{place_of(position, format_name)}: {reason}: {text}"[:_LONGEST]


def place_of(position: str, format_name: str | None = None) -> str:
    """Return the place of a record, as in `places_of`."""
    return places_of([position], format_name)[0]


def places_of(positions: Sequence[str], format_name: str | None = None) -> list[str]:
    """Return the places of records; each file is read at most once, up to the last of its records.

    Lines, rows of Parquet and records count from 1, an index of rows in memory from 0. A CSV record is named by its
    number among the records if its file can't be read here, or it is far from the file's beginning.

    Parameters
    ----------
    positions : sequence of str
        As in the table `quarantine`.
    format_name : str, optional
        The format of the source; by default it follows from the names of the files.
    """
    parts = [_parts(position) for position in positions]
    rows: dict[str, set[int]] = {}
    for path, row in parts:
        if row is not None and _format_of(path, format_name) == "csv":
            rows.setdefault(path, set()).add(row)
    lines = {path: _csv_lines_of(path, tuple(sorted(numbers))) for path, numbers in rows.items()}
    return [
        position.rpartition("/")[2] if row is None else _place(path, row, format_name, lines.get(path, {}))
        for position, (path, row) in zip(positions, parts, strict=True)
    ]


def _parts(position: str) -> tuple[str, int | None]:
    """Return the file and the number of a record; no number for a position in another source, such as a topic."""
    path, _, row = position.rpartition("#")
    return (path, int(row)) if row.isdigit() and not path.startswith("kafka:") else (position, None)


def _format_of(path: str, format_name: str | None) -> str | None:
    """Return the format of a file; for a table, or an unknown format, by the file's name."""
    return format_name if format_name in _FORMATS.values() else _FORMATS.get(PurePosixPath(path).suffix)


def _place(path: str, row: int, format_name: str | None, lines: dict[int, int]) -> str:
    file, format_name = PurePosixPath(path), _format_of(path, format_name)
    if is_in_memory(path):
        return f"rows of {file.parts[-2]}, index {row}"
    if format_name == "json":
        return f"{file.name}, line {row + 1}"
    if format_name == "csv" and row in lines:
        return f"{file.name}, line {lines[row]}"
    return f"{file.name}, {'row' if format_name == 'parquet' else 'record'} {row + 1}"


@lru_cache(maxsize=256)  # a status names the same example after each batch; files that a stream has read do not change
def _csv_lines_of(path: str, rows: tuple[int, ...]) -> dict[int, int]:
    if is_url(path):
        return {}
    try:
        return _csv_lines(Path(path), rows)
    except (Refused, OSError):  # gone or replaced since it was read; a message must not end the stream
        return {}


def _csv_lines(file: Path, rows: Collection[int]) -> dict[int, int]:
    """Return the lines on which records of a CSV file begin, by record number; distant ones are left out."""
    wanted, lines = {row for row in rows if row < FAR_RECORD}, dict[int, int]()
    if not wanted or not file.is_file():
        return lines
    with file.open("rb") as opened:
        delimiter = most_frequent_delimiter(opened.readline(_BLOCK_BYTES).decode(errors="replace"))  # by no position
        opened.seek(0)
        header = read_header(file, opened, CsvDialect(delimiter))
        if header is None:
            return lines
        opened.seek(0)
        first, line = 0, 1 + opened.read(header.end).count(b"\n")
        for block in blocks(opened, header.end, _BLOCK_BYTES, delimiter):
            after = opened.tell()
            opened.seek(block.start)
            text = opened.read(block.end - block.start)
            opened.seek(after)
            if here := {row for row in wanted if row < first + block.records}:
                starts = (each.start for each in records(text, delimiter=delimiter))
                lines |= {
                    row: line + text.count(b"\n", 0, start) for row, start in enumerate(starts, first) if row in here
                }
                wanted -= here
            if not wanted:
                break
            first, line = first + block.records, line + text.count(b"\n")
    return lines
