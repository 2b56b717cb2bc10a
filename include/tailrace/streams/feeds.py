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
from tailrace.streams.formats import FORMATS, is_history, list_files
from tailrace.streams.segments import Segment, Types, changed, is_integer, removed

State = tuple[int, int]
"""A file's size in bytes, and when it was last changed, in ns."""


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
        """What keeps it from giving more, though nothing failed."""

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
class Taken:
    """What was read of a file: how many of its rows, how many it has; and how it was then, in bytes and by its time."""

    path: str
    rows: int
    of_rows: int
    size: int
    mtime_ns: int | None = None


def taken(segments: Iterable[Segment], before: Mapping[str, Taken]) -> dict[str, Taken]:
    """What was read of the files of these segments, by path; `before` is what was read of them earlier."""
    found: dict[str, Taken] = {}
    for segment in segments:
        path, end = segment.path, segment.first_row + segment.rows
        earlier = found.get(path) or before.get(path)
        rows = max(end, earlier.rows) if earlier else end
        found[path] = Taken(path, rows, segment.of_rows, segment.size, segment.mtime_ns)
    return found


class FileFeed:
    """A file, or a directory whose files keep coming: in the order of their names, the rest of what was begun first.

    A file that a live run can't see to be whole yet keeps those after it waiting. Once taken, it must stay as it is.

    Parameters
    ----------
    before : dict
        What was read, by the file's name.
    at_once : int or None
        How many files a call of a live run looks into, and how many it looks at again: it must say that it lives
        meanwhile. None: a bounded run, which takes all that is there.

    Attributes
    ----------
    unfinished : Path or None
        The file that is not whole yet.
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
        self.holds_back = False
        self.unfinished: Path | None = None
        self.problem: str | None = None
        self._taken, self._at_once = dict(before), at_once
        self._again = deque(sorted(before, key=lambda name: before[name].rows == before[name].of_rows))  # begun first
        self._looked: dict[str, State | None] = {}

    def fresh(self) -> list[Segment]:
        files = {file.name: file for file in list_files(self.path, self.format_name)}
        self._look_again(files)
        new = [file for file in files.values() if self._is_unread(file.name)]
        new.sort(key=lambda file: file.name not in self._taken)  # stable
        some = new[: self._at_once]
        looked = {file.name: _state(file) for file in some}
        found, done, types = list[Segment](), dict[str, Taken](), self.types
        unfinished = problem = None
        for file in some:
            before, state = self._taken.get(file.name), looked[file.name]
            if state is None:  # it went as fast as it came
                continue
            still = state == self._looked.get(file.name)
            if before is None and not self._is_whole(file, still):
                unfinished = file
                problem = f"{file}: its last line is cut; it and what comes after it are read when it is whole"
                problem = problem if still else None  # else it is being written
                break
            segments = FORMATS[self.format_name].split(file)
            types = agreed(file, self.format_name, self.columns, types)
            of_rows = segments[0].of_rows if segments else 0
            size, mtime_ns = (before.size, before.mtime_ns) if before else state
            done[file.name] = Taken(str(file), of_rows, of_rows, size, mtime_ns)
            rest = after(segments, before.rows if before else 0)
            found += [replace(segment, size=size, mtime_ns=mtime_ns) for segment in rest]
        holds_back = unfinished is not None or len(new) > len(some)
        if found and not types and not holds_back:  # else the rest may tell them
            raise refuse(
                str(self.path),
                f"no record has a value of a fitting type in each of {', '.join(self.columns.named().values())}",
                "times as ISO 8601 text or epoch milliseconds, ids and keys as text or integers, values as numbers",
            )
        # From here on nothing fails: of a call all is given, or none.
        self._again += [name for name in done if name not in self._taken]
        self._taken |= done
        self.types, self.holds_back, self._looked = types, holds_back, looked
        self.unfinished, self.problem = unfinished, problem
        return found

    def _is_unread(self, name: str) -> bool:
        before = self._taken.get(name)
        return before is None or before.rows < before.of_rows

    def _is_whole(self, file: Path, still: bool) -> bool:
        return self._at_once is None or FORMATS[self.format_name].whole(file, still)

    def _look_again(self, files: Mapping[str, Path]) -> None:
        """Refuse a file that changed since it was taken; of many, some are looked at in a call, in turn."""
        for _ in range(min(len(self._again), self._at_once or len(self._again))):
            before = self._taken[self._again[0]]
            file = files.get(self._again[0], Path(before.path))
            state = _state(file)
            if state is None:  # of JSON the stream keeps a history: what was read in full may go
                if before.rows < before.of_rows or (before.rows and is_history(self.format_name, self.columns)):
                    raise removed(str(file))
            elif (str(file), *state) != (before.path, before.size, before.mtime_ns):
                if before.of_rows:
                    wrong = f"a file of this name was read before: {before.path}, {before.size:,} bytes; "
                    raise changed(str(file), wrong + f"here are {state[0]:,}: it was changed, or is another one")
                del self._taken[self._again.popleft()]  # it had no rows: nothing of it was read
                continue
            self._again.rotate(-1)


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
            self._waiting.extendleft(after([segment], head.first_row + head.rows))
            found.append(head)
            due -= head.rows
            self._given += head.rows
        return found


def _state(file: Path) -> State | None:
    """A file's size and time of change; None where it is gone from its directory."""
    try:
        now = file.stat()
    except FileNotFoundError:
        if not file.parent.is_dir():
            raise  # not the file, but the way to it: it may come back
        return None
    return now.st_size, now.st_mtime_ns


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
