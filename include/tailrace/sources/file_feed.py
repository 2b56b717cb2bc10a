"""Feed of a directory that receives files; a file is read once it is complete, and must not change afterwards."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tailrace.ground.errors import Problem, Unfit, refuse
from tailrace.ground.files import is_url
from tailrace.sources.check import Columns
from tailrace.sources.formats import FORMATS, is_history, list_files, merge_types
from tailrace.sources.object_files import ObjectFile
from tailrace.sources.reading_progress import ReadFile, remaining
from tailrace.sources.segments import Segment, SourceFile, State, Types, changed, removed, state_of

STILL_S = 1.0
"""Seconds without a change after which a file that is written in place may be taken."""

_REPORT_AFTER_S = 60.0  # from which on an incomplete file is reported as a problem
_BYTES_AT_ONCE = 1 << 30  # most bytes of unread files that a call of a live run opens; one file always


class _Observation(NamedTuple):
    """A file's last state, the time (s) since which it is unchanged, and that of the first observation."""

    state: State | None
    since_s: float
    first_s: float


class FileFeed:
    """Feed of one file, or of a directory that receives files: in the order of their names, those read in part first.

    In a live run, a file that is not known to be complete yet holds back those after it. Once taken, a file must not
    change.

    Parameters
    ----------
    before : dict
        Reading progress in files, by file name.
    at_once : int or None
        Most unread files that a call of a live run opens, and most taken ones that it checks again: between calls the
        driver has to report that it is alive. None: a bounded run, which takes all files that are there.

    Attributes
    ----------
    unfinished : Path, ObjectFile or None
        The file that is not complete yet.
    """

    version, identity = 0, ""

    def __init__(
        self,
        path: Path | str,
        format_name: str,
        columns: Columns,
        types: Types,
        before: dict[str, ReadFile],
        at_once: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        connection: str | None = None,
    ) -> None:
        """Take a monotonic `clock`, in seconds; a `path` that is the URL of an object store, and a connection to it."""
        self.path, self.format_name, self.columns, self.types = path, format_name, columns, types
        self.holds_back = False
        self.unfinished: SourceFile | None = None
        self.problem: str | None = None
        self._progress, self._at_once, self._connection = dict(before), at_once, connection
        # Those read in part first.
        self._check_queue = deque(sorted(before, key=lambda name: before[name].rows == before[name].of_rows))
        self._clock = clock
        self._observations: dict[str, _Observation] = {}

    def fresh(self) -> list[Segment]:
        files = {file.name: file for file in list_files(self.path, self.format_name, self._connection)}
        self._recheck(files)
        new = [file for file in files.values() if self._is_unread(file.name)]
        new.sort(key=lambda file: file.name not in self._progress)  # stable: files read in part, then by name
        candidates = new[: self._at_once]
        now_s, budget = self._clock(), _BYTES_AT_ONCE
        observations = {file.name: self._observe(file, now_s) for file in candidates}
        new_segments, new_progress, types = list[Segment](), dict[str, ReadFile](), self.types
        unfinished = problem = None
        for number, file in enumerate(candidates):
            before, observed = self._progress.get(file.name), observations[file.name]
            if observed.state is None:  # removed since the directory was listed
                continue
            budget -= observed.state[0]
            if number and budget < 0 and self._at_once is not None:
                candidates = candidates[:number]
                break
            still = now_s - observed.since_s >= STILL_S
            if before is None and not self._is_whole(file, still):
                unfinished, problem = file, _waiting_problem(file, still, now_s - observed.first_s)
                break
            segments = FORMATS[self.format_name].split(file)
            types = merge_types(file, self.format_name, self.columns, types)
            if (state := state_of(file)) != observed.state or state is None:
                if self._at_once is None:
                    raise refuse(str(file), "it is being written while it is read", "a file that is whole")
                unfinished = file
                break
            of_rows = segments[0].of_rows if segments else 0
            size, mtime_ns = (before.size, before.mtime_ns) if before else state
            new_progress[file.name] = ReadFile(str(file), of_rows, of_rows, size, mtime_ns)
            rest = remaining(segments, before.rows if before else 0)
            new_segments += [replace(segment, size=size, mtime_ns=mtime_ns) for segment in rest]
        holds_back = unfinished is not None or len(new) > len(candidates)
        if new_segments and not types and not holds_back:  # else what it holds back may show them
            names = ", ".join(dict.fromkeys(self.columns.named().values()))
            wrong = f"no record has a value of a fitting type in each of {names}"
            right = (
                "times as ISO 8601 text or epoch milliseconds, ids and keys as text or integers, values as numbers; "
                "and some value of each column that answers are to have"
            )
            raise Unfit([Problem(str(self.path), wrong, right)])
        # From here on nothing fails, so a call gives all of its segments or none.
        self._check_queue += [name for name in new_progress if name not in self._progress]
        self._progress |= new_progress
        self.types, self.holds_back, self._observations = types, holds_back, observations
        self.unfinished, self.problem = unfinished, problem
        return new_segments

    def _observe(self, file: SourceFile, now_s: float) -> _Observation:
        before, state = self._observations.get(file.name), state_of(file)
        since_s = before.since_s if before is not None and before.state == state else now_s
        return _Observation(state, since_s, now_s if before is None else before.first_s)

    def _is_unread(self, name: str) -> bool:
        before = self._progress.get(name)
        return before is None or before.rows < before.of_rows

    def _is_whole(self, file: SourceFile, still: bool) -> bool:
        if self._at_once is None or isinstance(file, ObjectFile):  # an object appears whole
            return True
        return FORMATS[self.format_name].whole(file, still)

    def _recheck(self, files: Mapping[str, SourceFile]) -> None:
        """Refuse a file that changed since it was taken; a live run checks `at_once` of them a call, in turn."""
        for _ in range(min(len(self._check_queue), self._at_once or len(self._check_queue))):
            before = self._progress[self._check_queue[0]]
            file = files.get(self._check_queue[0]) or _unlisted(before.path)
            state = None if file is None else state_of(file)
            if state is None:  # where the stream writes a history, a file read in full may go
                if before.rows < before.of_rows or (before.rows and is_history(self.format_name, self.columns)):
                    raise removed(before.path)
            elif (str(file), *state) != (before.path, before.size, before.mtime_ns):
                if before.of_rows:
                    wrong = f"a file of this name was read before: {before.path}, {before.size:,} bytes; "
                    raise changed(str(file), wrong + f"here are {state[0]:,}: it was changed, or is another one")
                del self._progress[self._check_queue.popleft()]  # it had no rows, so nothing of it was read
                continue
            self._check_queue.rotate(-1)


def _unlisted(path: str) -> Path | None:
    """A file that its directory does not list any more; None for an object: its listing tells that it is gone."""
    return None if is_url(path) else Path(path)


def _waiting_problem(file: SourceFile, still: bool, age_s: float) -> str | None:
    """The problem to report of an incomplete file; None while it changes and is young, since most are soon complete."""
    if not still and age_s < _REPORT_AFTER_S:
        return None
    wrong = "its last line is cut" if still else f"it is still being written after {age_s:.0f} s"
    return f"{file}: {wrong}; it and what comes after it are read when it is whole"
