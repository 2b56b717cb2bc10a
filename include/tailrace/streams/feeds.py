"""Feeds: what of a stream's log is there by now, as the driver sees it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from tailrace.errors import refuse
from tailrace.streams.check import Columns
from tailrace.streams.formats import FORMATS, list_files
from tailrace.streams.segments import Segment, Types, is_integer


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

    def fresh(self) -> list[Segment]:
        """What was not given before, in the order of the log; to be called again and again.

        Raises
        ------
        Refused
            When the source is missing, unreadable, lacks a column, has one of a wrong type, or has changed where it
            was read already.
        """


@dataclass(frozen=True)
class Taken:
    """What was read of a file: how many of its rows, how many it has, and how large it was, in bytes."""

    path: str
    rows: int
    of_rows: int
    size: int


def taken(segments: Iterable[Segment], before: Mapping[str, Taken]) -> dict[str, Taken]:
    """What was read of the files of these segments, by path; `before` is what was read of them earlier."""
    found: dict[str, Taken] = {}
    for segment in segments:
        path, end = segment.path, segment.first_row + segment.rows
        earlier = found.get(path) or before.get(path)
        found[path] = Taken(path, max(end, earlier.rows) if earlier else end, segment.of_rows, segment.size)
    return found


class FileFeed:
    """A file, or a directory whose files keep coming: in the order of their names, the rest of what was begun first.

    A file must be there whole when it appears under its name, and stay as it is.

    Parameters
    ----------
    before : dict
        What was read, by the file's name.
    at_once : int or None
        How many files a call looks into: a live driver must say that it lives meanwhile.
    """

    version, identity = 0, ""

    def __init__(
        self,
        path: Path,
        format_name: str,
        columns: Columns,
        types: Types,
        before: dict[str, Taken],
        at_once: int | None = None,
    ) -> None:
        self.path, self.format_name, self.columns, self.types = path, format_name, columns, types
        self._before, self._seen, self._at_once = before, set[str](), at_once
        self.holds_back = False

    def fresh(self) -> list[Segment]:
        found: list[Segment] = []
        files = [file for file in list_files(self.path, self.format_name) if file.name not in self._seen]
        files.sort(key=lambda file: file.name not in self._before)  # stable
        self.holds_back = self._at_once is not None and len(files) > self._at_once
        for file in files[: self._at_once]:
            before, size = self._before.get(file.name), file.stat().st_size
            if before is not None and (before.path, before.size) != (str(file), size):
                raise refuse(
                    str(file),
                    f"a file of this name was read before: {before.path}, {before.size:,} bytes; here are {size:,}",
                    "files that stay as they are, and new names for new ones",
                )
            self._seen.add(file.name)
            if before is not None and before.rows == before.of_rows:
                continue
            segments = FORMATS[self.format_name].split(file)
            self.types = agreed(file, self.format_name, self.columns, self.types)
            found += [replace(rest, size=size) for rest in after(segments, before.rows if before else 0)]
        if found and not self.types and not self.holds_back:  # else the rest may tell them
            raise refuse(
                str(self.path),
                f"no record has a value of a fitting type in each of {', '.join(self.columns.named().values())}",
                "times as ISO 8601 text or epoch milliseconds, ids and keys as text or integers, values as numbers",
            )
        return found


class ReplayFeed:
    """A log that is there in full, given out at a rate.

    The first call looks, and gives nothing; time begins with the second, when there is somebody to read.
    """

    version, identity = 0, ""

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
            self._waiting.extendleft(after([segment], head.first_row + head.rows))
            found.append(head)
            due -= head.rows
            self._given += head.rows
        return found


def agreed(file: Path, format_name: str, columns: Columns, types: Types) -> Types:
    """The types of the columns that are read, from this file and those before it."""
    found = FORMATS[format_name].types(file, columns) or types
    for part in ("id", "key"):
        name = columns.named().get(part)
        if name and types and is_integer(types[name]) != is_integer(found[name]):
            raise refuse(
                f"{file}: column {name}", f"its type is {found[name]}, in files before it {types[name]}", "one of them"
            )
    return types or found


def after(segments: list[Segment], row: int) -> list[Segment]:
    """What of a file's segments lies at or after a row; empty ones are left out."""
    cut = [(max(segment.first_row, row), segment.first_row + segment.rows, segment) for segment in segments]
    return [replace(segment, first_row=first, rows=end - first) for first, end, segment in cut if end > first]
