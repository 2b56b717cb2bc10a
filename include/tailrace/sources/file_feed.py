"""The feed of a directory of files: those that keep coming, each taken once it is whole, and watched from then on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tailrace.ground.errors import refuse
from tailrace.sources.check import Columns
from tailrace.sources.feeds import ReadFile, merge_types, remaining
from tailrace.sources.formats import FORMATS, is_history, list_files
from tailrace.sources.segments import Segment, State, Types, changed, removed, state_of

STILL_S = 1.0
"""Seconds for which a file that is written in place must not change before it is taken."""

_LONG_S = 60.0  # after which a file that is still not whole is told
_BYTES_AT_ONCE = 1 << 30  # that a call of a live run looks into


class _Look(NamedTuple):
    """A file as it was at the newest look, since when it is so, and when it was first seen; in s."""

    state: State | None
    since_s: float
    first_s: float


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
        before: dict[str, ReadFile],
        at_once: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` in seconds, steady."""
        self.path, self.format_name, self.columns, self.types = path, format_name, columns, types
        self.holds_back = False
        self.unfinished: Path | None = None
        self.problem: str | None = None
        self._taken, self._at_once = dict(before), at_once
        self._again = deque(sorted(before, key=lambda name: before[name].rows == before[name].of_rows))  # begun first
        self._clock = clock
        self._looked: dict[str, _Look] = {}

    def fresh(self) -> list[Segment]:
        files = {file.name: file for file in list_files(self.path, self.format_name)}
        self._look_again(files)
        new = [file for file in files.values() if self._is_unread(file.name)]
        new.sort(key=lambda file: file.name not in self._taken)  # stable
        some = new[: self._at_once]
        now_s, room = self._clock(), _BYTES_AT_ONCE
        looked = {file.name: self._look(file, now_s) for file in some}
        found, done, types = list[Segment](), dict[str, ReadFile](), self.types
        unfinished = problem = None
        for number, file in enumerate(some):
            before, look = self._taken.get(file.name), looked[file.name]
            if look.state is None:  # it went as fast as it came
                continue
            room -= look.state[0]
            if number and room < 0 and self._at_once is not None:
                some = some[:number]
                break
            still = now_s - look.since_s >= STILL_S
            if before is None and not self._is_whole(file, still):
                unfinished, problem = file, _waits_for(file, still, now_s - look.first_s)
                break
            segments = FORMATS[self.format_name].split(file)
            types = merge_types(file, self.format_name, self.columns, types)
            if (state := state_of(file)) != look.state or state is None:
                if self._at_once is None:
                    raise refuse(str(file), "it is being written while it is read", "a file that is whole")
                unfinished = file
                break
            of_rows = segments[0].of_rows if segments else 0
            size, mtime_ns = (before.size, before.mtime_ns) if before else state
            done[file.name] = ReadFile(str(file), of_rows, of_rows, size, mtime_ns)
            rest = remaining(segments, before.rows if before else 0)
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

    def _look(self, file: Path, now_s: float) -> _Look:
        before, state = self._looked.get(file.name), state_of(file)
        since_s = before.since_s if before is not None and before.state == state else now_s
        return _Look(state, since_s, now_s if before is None else before.first_s)

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
            state = state_of(file)
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


def _waits_for(file: Path, still: bool, age_s: float) -> str | None:
    """The problem of a file that is not whole, once it is one: most are being written, and soon whole."""
    if not still and age_s < _LONG_S:
        return None
    wrong = "its last line is cut" if still else f"it is still being written after {age_s:.0f} s"
    return f"{file}: {wrong}; it and what comes after it are read when it is whole"
