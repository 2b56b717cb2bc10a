"""Feeds: what of a stream's log is there by now, as the driver sees it."""

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
    """The growing end of a source's log."""

    @property
    def types(self) -> Types:
        """The types of the columns that are read; empty as long as no record tells them."""

    @property
    def identity(self) -> str:
        """Tells the source from another one in its place, if it can be told; else empty."""

    @property
    def version(self) -> int:
        """The version of the source's table that was last looked at; 0 where it is no table."""

    @property
    def holds_back(self) -> bool:
        """Whether there is more that it knows of: then nothing is no silence."""

    @property
    def problem(self) -> str | None:
        """The reason why it gives no more for now, though nothing failed; None: there is none."""

    def fresh(self) -> list[Segment]:
        """What was not given before, in the order of the log; to be called again and again, also after an error.

        Raises
        ------
        Refused
            When the source is missing, unreadable, lacks a column, or has one of a wrong type.
        SourceChanged
            When it has changed where it was read already.
        """


@dataclass(frozen=True)
class ReadFile:
    """A file that was taken: the rows read of it, all that it has, and its size and time of change then."""

    path: str
    rows: int
    of_rows: int
    size: int
    mtime_ns: int | None = None


def read_files(segments: Iterable[Segment], before: Mapping[str, ReadFile]) -> dict[str, ReadFile]:
    """What was read of the files of these segments, by path; `before` is what was read of them earlier."""
    found: dict[str, ReadFile] = {}
    for segment in segments:
        path, end = segment.path, segment.first_row + segment.rows
        earlier = found.get(path) or before.get(path)
        rows = max(end, earlier.rows) if earlier else end
        found[path] = ReadFile(path, rows, segment.of_rows, segment.size, segment.mtime_ns)
    return found


class ReplayFeed:
    """A log that is there in full, given out at a rate.

    The first call looks, and gives nothing; time begins with the second, when there is somebody to read.
    """

    version, identity, problem = 0, "", None

    def __init__(self, log: Feed, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`rate` in rows a second; `clock` in seconds."""
        self._log, self._rate, self._clock = log, rate, clock
        self._begun: float | None = None
        self._looked, self._given = False, 0
        self._waiting: deque[Segment] = deque()

    @property
    def types(self) -> Types:
        return self._log.types

    @property
    def holds_back(self) -> bool:
        return bool(self._waiting) or self._log.holds_back

    def fresh(self) -> list[Segment]:
        self._waiting += self._log.fresh()
        if not self._looked:
            self._looked = True
            return []
        self._begun = self._clock() if self._begun is None else self._begun
        due = int((self._clock() - self._begun) * self._rate) - self._given
        found: list[Segment] = []
        while due > 0 and self._waiting:
            segment = self._waiting.popleft()
            head = replace(segment, rows=min(segment.rows, due))
            self._waiting.extendleft(remaining([segment], head.first_row + head.rows))
            found.append(head)
            due -= head.rows
            self._given += head.rows
        return found


def merge_types(file: Path, format_name: str, columns: Columns, types: Types) -> Types:
    """The types of the columns that are read, from this file and those before it."""
    found = FORMATS[format_name].types(file, columns) or types
    for part in ("id", "key"):
        name = columns.named().get(part)
        if name and types and is_integer(types[name]) != is_integer(found[name]):
            raise refuse(
                f"{file}: column {name}", f"its type is {found[name]}, in files before it {types[name]}", "one of them"
            )
    return types or found


def remaining(segments: list[Segment], row: int) -> list[Segment]:
    """What of a file's segments lies at or after a row; empty ones are left out."""
    cut = [(max(segment.first_row, row), segment.first_row + segment.rows, segment) for segment in segments]
    return [replace(segment, first_row=first, rows=end - first) for first, end, segment in cut if end > first]
