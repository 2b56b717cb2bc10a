"""Feed of a directory that receives files; a file is read once it is complete, and must not change afterwards."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from tailrace.ground.errors import Refused, SourceChanged, refuse
from tailrace.ground.files.source_roots import outside_roots
from tailrace.sources.columns import SourceMapping
from tailrace.sources.discovery.closed_partitions import ClosedPartitions
from tailrace.sources.discovery.new_files import NewFiles
from tailrace.sources.discovery.object_files import ObjectFile
from tailrace.sources.discovery.open_partitions import OpenPartitions, TakenRecord
from tailrace.sources.discovery.source_directory import (
    Entry,
    ObjectDirectory,
    SingleFile,
    SourceDirectory,
    open_directory,
)
from tailrace.sources.formats.file_format import Format
from tailrace.sources.formats.registry import FORMATS, all_missing, is_history, merge_types, no_types, settled_types
from tailrace.sources.reading_progress import ReadFile, remaining, waiting_problem
from tailrace.sources.segments import Segment, SourceFile, State, Types, changed, moved, removed, state_of

STILL_S = 1.0
"""Seconds without a change after which a file counts as complete, if it is written in place."""

BYTES_AT_ONCE = 1 << 30  # the most bytes of unread files that a call of a live run opens, but at least one file


class _Observation(NamedTuple):
    """A file, its last state, the time (s) of its last change, and the time of the first observation."""

    file: SourceFile | None
    state: State | None
    since_s: float
    first_s: float


class FileFeed:
    """Feed of one file, or of a directory that receives files, in the order of their names, partly read ones first.

    In a live run, a file that is not known to be complete holds back later ones. Once taken, a file must not change.

    Parameters
    ----------
    before : iterable of ReadFile
        Reading progress in files.
    at_once : int or None
        The most unread files that a call of a live run opens, and the most taken files that it checks again: the driver
        must report between calls that it is alive. None for a bounded run, which takes all existing files.
    record : TakenRecord or None
        The record of taken files, with which a live run can forget the files of closed partitions.
    boundary : str
        The oldest partition whose files are in `before`.
    known_as : str or None
        The `identity` of the source when it was first read.
    on_progress : callable
        Called repeatedly while many files are listed or opened.
    file_format : Format or None
        The format with its options; None for one without any.

    Attributes
    ----------
    unfinished : Path, ObjectFile or None
        The incomplete file.
    """

    version = 0

    def __init__(
        self,
        path: Path | str,
        format_name: str,
        columns: SourceMapping,
        types: Types,
        before: Iterable[ReadFile],
        at_once: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        connection: str | None = None,
        record: TakenRecord | None = None,
        boundary: str = "",
        known_as: str | None = None,
        on_progress: Callable[[], None] = lambda: None,
        file_format: Format | None = None,
    ) -> None:
        """Create the feed.

        `clock` is monotonic, in seconds; `path` may be the URL of an object store, with a connection to it.
        """
        self.path, self.format_name, self.columns, self.types = path, format_name, columns, types
        self._format = file_format or FORMATS[format_name]
        self.holds_back = False
        self.unfinished: SourceFile | None = None
        self.problem: str | None = None
        self.identity = known_as or ""
        self._at_once, self._connection, self._clock, self._on_progress = at_once, connection, clock, on_progress
        self._before, self._record, self._boundary = before, record, boundary
        self._partitions: OpenPartitions | None = None
        self._observations: dict[str, _Observation] = {}

    def fresh(self) -> list[Segment]:
        source = self._directory()
        partitions, now_s, identity = self._open(source), self._clock(), source.identity
        new = self._files.find(now_s)
        if (away := self._away(partitions, bool(new))) is not None:
            if self._at_once is None:
                raise refuse(str(self.path), away, "the directory that it was, or another name for the query")
            self.problem, self.holds_back, self.unfinished = f"{self.path}: {away}; it is tried again", True, None
            return []
        try:
            self._recheck(partitions, now_s)
            files = list[SourceFile] if self.types else partial(partitions.all_files, new)
            with all_missing(self.path, self._format, self.columns, files):
                segments = self._take(partitions, new, now_s)
        except SourceChanged as error:
            if source.identity == identity:
                raise
            raise OSError(errno.ESTALE, "it was unmounted or replaced while it was read", str(self.path)) from error
        if not self.identity and partitions.known + len(partitions.partial):
            self.identity = identity
        return segments

    def _directory(self) -> SourceDirectory:
        """Open the source; a prefix of an object store stays open, since opening costs a request."""
        before = None if self._partitions is None else self._partitions.source
        if not isinstance(before, ObjectDirectory):
            return open_directory(self.path, self.format_name, self._connection)
        if (outside := outside_roots(self.path)) is not None:
            raise Refused([outside])
        return before

    def _open(self, source: SourceDirectory) -> OpenPartitions:
        """Return the files taken from the source; the first call reads their record."""
        if self._partitions is None:
            record = None if self._at_once is None else self._record
            self._partitions = OpenPartitions(source, self._before, self._boundary, record)
            suffixes = ("",) if isinstance(source, SingleFile) else self._format.suffixes
            self._files = NewFiles(self._partitions, suffixes, self._on_progress)
            self._closed = None if record is None else ClosedPartitions(self._partitions, record, self._at_once or 1)
            self._before = ()
        self._partitions.source = source
        return self._partitions

    def _away(self, partitions: OpenPartitions, has_new: bool) -> str | None:
        """Return the reason to treat the source as absent, such as an empty mount point; None if it is present."""
        taken = partitions.known + len(partitions.partial)
        is_known = bool(self.identity) and partitions.source.identity == self.identity
        if not taken or partitions.listed or self._files.listed_partial or is_known or partitions.source.lists_states:
            return None
        must_stay = bool(partitions.partial) or is_history(self.format_name, self.columns)
        if not must_stay and (has_new or not self.identity):  # files that were read may vanish
            return None
        return f"none of its files that were read ({taken:,}) is there: its disk may not be mounted"

    def _take(self, partitions: OpenPartitions, new: list[Entry], now_s: float) -> list[Segment]:
        """Take the first of the new files, as far as they are complete."""
        candidates, budget = new[: self._at_once], BYTES_AT_ONCE
        observations = {entry.name: self._observe(partitions.source, entry, now_s) for entry in candidates}
        new_segments, taken, types = list[Segment](), list[tuple[ReadFile, int]](), self.types
        gone, unfinished, problem = list[str](), None, None
        newest = cache(partial(self._types_of_newest, partitions.source, new))
        for number, entry in enumerate(candidates):
            self._on_progress()
            before, observed = partitions.before(entry.name), observations[entry.name]
            file = observed.file
            if before is not None:
                self._require_same(before, file, observed.state)
            if file is None or observed.state is None:  # removed since the directory was listed
                gone.append(entry.name)
                continue
            budget -= observed.state[0]
            if number and budget < 0 and self._at_once is not None:
                candidates = candidates[:number]
                break
            still = now_s - observed.since_s >= STILL_S
            if before is None and not self._is_whole(file, still):
                unfinished, problem = file, waiting_problem(file, still, now_s - observed.first_s)
                break
            segments = self._format.split(file)
            types = merge_types(file, self.format_name, self.columns, types, newest, self._format)
            if (state := state_of(file)) != observed.state or state is None:
                if self._at_once is None:
                    raise refuse(str(file), "it is being written while it is read", "a file that is whole")
                unfinished = file
                break
            of_rows = segments[0].of_rows if segments else 0
            size, mtime_ns = (before.size, before.mtime_ns) if before else state
            rest = remaining(segments, before.rows if before else 0)
            taken.append((ReadFile(str(file), of_rows, of_rows, size, mtime_ns), sum(each.rows for each in rest)))
            new_segments += [replace(segment, size=size, mtime_ns=mtime_ns) for segment in rest]
        types = settled_types(types, self.columns, newest)
        holds_back = unfinished is not None or len(new) > len(candidates)
        if new_segments and not types and not holds_back:  # otherwise files that are held back may show the types
            raise no_types(self.path, self.columns)
        # Nothing fails from here on, so that a call returns all of its segments or none.
        for read, rows in taken:
            partitions.put(read, rows)
        self._files.drop([*gone, *(partitions.path_of(read) for read, _ in taken)])
        self.types, self.holds_back, self._observations = types, holds_back, observations
        self.unfinished, self.problem = unfinished, problem
        return new_segments

    def _types_of_newest(self, source: SourceDirectory, new: list[Entry]) -> Types | None:
        """Return the types of the newest file, which has the columns that were added later."""
        file = (new[-1].file or source.file(new[-1].name)) if new else None
        return None if file is None else self._format.types(file, self.columns)

    def _observe(self, source: SourceDirectory, entry: Entry, now_s: float) -> _Observation:
        before = self._observations.get(entry.name)
        if before is None:
            source.require_fit(entry.name)
        file = entry.file or source.file(entry.name)
        state = None if file is None else state_of(file)
        since_s = before.since_s if before is not None and before.state == state else now_s
        return _Observation(file, state, since_s, now_s if before is None else before.first_s)

    def _is_whole(self, file: SourceFile, still: bool) -> bool:
        if self._at_once is None or isinstance(file, ObjectFile):  # objects appear whole
            return True
        return self._format.whole(file, still)

    def _recheck(self, partitions: OpenPartitions, now_s: float) -> None:
        """Refuse a file that changed since it was taken; a live run checks `at_once` of them per call, in turn."""
        if is_history(self.format_name, self.columns) and (gone := partitions.missing()) is not None:
            raise removed(gone)
        source = partitions.source
        if source.lists_states:
            for before, listed in self._files.listed_states():
                self._check(partitions, before, listed)
        else:
            for before in partitions.turn(self._at_once):
                self._check(partitions, before, source.file(partitions.path_of(before)))
        for recorded, entry in self._closed.look(now_s) if self._closed else ():
            if recorded is not None:
                self._check(partitions, recorded, None if entry is None else entry.file or source.file(entry.name))
            elif entry is not None:
                self._files.add_late(entry)

    def _check(self, partitions: OpenPartitions, before: ReadFile, file: SourceFile | None) -> None:
        state = None if file is None else state_of(file)
        if before.of_rows or state is None:
            self._require_same(before, file, state)
        elif state != (before.size, before.mtime_ns):
            partitions.forget(before)  # it had no rows, so nothing of it was read

    def _require_same(self, before: ReadFile, file: SourceFile | None, state: State | None) -> None:
        """Refuse a file that was read, at least in part, and differs from its taken state."""
        if state is None:  # if the stream writes a history, a completely read file may vanish
            if before.rows < before.of_rows or (before.rows and is_history(self.format_name, self.columns)):
                raise removed(before.path)
        elif (str(file), *state) != (before.path, before.size, before.mtime_ns) and before.of_rows:
            if str(file) != before.path and state[0] == before.size:
                there = before.path.removesuffix(str(file).removeprefix(str(self.path))).rstrip("/")
                raise moved(str(file), before.path, there, is_history(self.format_name, self.columns))
            fault = f"a file of this name was read before: {before.path}, {before.size:,} bytes; "
            raise changed(str(file), fault + f"here are {state[0]:,}: it was changed, or is another one")
