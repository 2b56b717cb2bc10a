"""Feeds, by which the driver polls a stream's growing log for new segments."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from tailrace.ground.errors import refuse
from tailrace.sources.check import Columns
from tailrace.sources.formats import FORMATS
from tailrace.sources.segments import Segment, Types, is_integer


class Feed(Protocol):
    """Protocol of a feed: the growing end of a source's log."""

    @property
    def types(self) -> Types:
        """Types of the columns that the query reads; empty until a record shows them."""

    @property
    def identity(self) -> str:
        """Identifier that tells the source from another one in its place; empty where it has none."""

    @property
    def version(self) -> int:
        """The version of the source's table that was last read; 0 where the source is no table."""

    @property
    def holds_back(self) -> bool:
        """True while it holds back known segments: then a call of `fresh` without segments is no silence."""

    @property
    def problem(self) -> str | None:
        """The reason for which it gives no segments for now, though nothing failed; None where it can give them."""

    def fresh(self) -> list[Segment]:
        """The segments that it has not given before, in log order; callers poll it, also after an error.

        Raises
        ------
        Refused
            When the source is missing, unreadable, lacks a column, or has one of a wrong type.
        SourceChanged
            When a part of it that was read already has changed.
        """


@dataclass(frozen=True)
class ReadFile:
    """Reading progress in a file: rows read, rows in all, and its size and time of change when it was taken."""

    path: str
    rows: int
    of_rows: int
    size: int
    mtime_ns: int | None = None


def read_files(segments: Iterable[Segment], before: Mapping[str, ReadFile]) -> dict[str, ReadFile]:
    """Reading progress in the files of these segments, by path; `before` is their progress before the segments."""
    progress: dict[str, ReadFile] = {}
    for segment in segments:
        path, end = segment.path, segment.first_row + segment.rows
        last = progress.get(path) or before.get(path)
        rows = max(end, last.rows) if last else end
        progress[path] = ReadFile(path, rows, segment.of_rows, segment.size, segment.mtime_ns)
    return progress


class ReplayFeed:
    """Replays a log that is there in full, at a rate in rows per second.

    The first call of `fresh` only polls the log, and gives nothing; the clock starts with the second, when there is a
    reader.
    """

    version, identity, problem = 0, "", None

    def __init__(self, log: Feed, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Take `rate` in rows per second, and `clock` in seconds."""
        self._log, self._rate, self._clock = log, rate, clock
        self._start_s: float | None = None
        self._has_polled, self._row_count = False, 0
        self._queue: deque[Segment] = deque()

    @property
    def types(self) -> Types:
        return self._log.types

    @property
    def holds_back(self) -> bool:
        return bool(self._queue) or self._log.holds_back

    def fresh(self) -> list[Segment]:
        self._queue += self._log.fresh()
        if not self._has_polled:
            self._has_polled = True
            return []
        self._start_s = self._clock() if self._start_s is None else self._start_s
        quota = int((self._clock() - self._start_s) * self._rate) - self._row_count
        segments: list[Segment] = []
        while quota > 0 and self._queue:
            segment = self._queue.popleft()
            head = replace(segment, rows=min(segment.rows, quota))
            self._queue.extendleft(remaining([segment], head.first_row + head.rows))
            segments.append(head)
            quota -= head.rows
            self._row_count += head.rows
        return segments


def merge_types(file: Path, format_name: str, columns: Columns, types: Types) -> Types:
    """Column types of a source up to this file: those of the files before it, else its own.

    Raises
    ------
    Refused
        When the format refuses the file, or its ids or keys are integers and those before it are not, or the reverse.
    """
    file_types = FORMATS[format_name].types(file, columns) or types
    for part in ("id", "key"):
        name = columns.named().get(part)
        if name and types and is_integer(types[name]) != is_integer(file_types[name]):
            raise refuse(
                f"{file}: column {name}",
                f"its type is {file_types[name]}, in files before it {types[name]}",
                "one of them",
            )
    return types or file_types


def remaining(segments: list[Segment], row: int) -> list[Segment]:
    """The parts of a file's segments at or after a row; empty ones are left out."""
    bounds = [(max(segment.first_row, row), segment.first_row + segment.rows, segment) for segment in segments]
    return [replace(segment, first_row=first, rows=end - first) for first, end, segment in bounds if end > first]
