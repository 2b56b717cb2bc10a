"""The files taken from a source's open partitions; files of closed ones are forgotten.

The open ones are the root, the two newest partitions with a taken file, and the two last ones with late files. Without
partitions the root has all files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Protocol

from tailrace.sources.discovery.source_directory import Entry, SourceDirectory
from tailrace.sources.discovery.taken_files import TakenFiles
from tailrace.sources.reading_progress import ReadFile
from tailrace.sources.segments import SourceFile, state_of

_LATE = 2


class TakenRecord(Protocol):
    """Protocol of a stream's record of the files that its journal names."""

    def rows(self) -> int:
        """Return the number of the stream's rows in it."""

    def files(self, prefix: str) -> Iterable[ReadFile]:
        """Return the files whose paths begin with a prefix, with no slash after it."""


class OpenPartitions:
    """The files taken from a source, by open partition.

    Parameters
    ----------
    taken : iterable of ReadFile
        The files taken, completely or partly; files of partitions before `boundary` are ignored.
    boundary : str
        The oldest open partition; earlier ones are closed from the start. Empty if none is closed.
    record : TakenRecord or None
        The record with the files of closed partitions; None if partitions are never closed.

    Attributes
    ----------
    source : SourceDirectory
    taken : dict
        The completely taken files, by open directory.
    partial : dict
        Partly read files, by path.
    boundary : str
        The older one of the two newest partitions.
    unseen : deque of str
        Closed partitions to check soon.
    """

    def __init__(
        self, source: SourceDirectory, taken: Iterable[ReadFile], boundary: str, record: TakenRecord | None
    ) -> None:
        self.source, self.record, self.boundary = source, record, boundary
        self.taken: dict[str, TakenFiles] = {}
        self.partial: dict[str, ReadFile] = {}
        self._moved: dict[str, list[ReadFile]] = {}
        self._newest, self._late = boundary, deque[str]()
        self._closed: dict[str, int] = {}
        self._rows = 0 if record is None else record.rows()
        self._turn, self.unseen = 0, deque[str]()
        for file in taken:
            self._add_recorded(file)

    @property
    def known(self) -> int:
        """The number of completely taken files."""
        return sum(map(len, self.taken.values()))

    @property
    def listed(self) -> int:
        """The number of these that their directories contained at their last listing."""
        return sum(files.listed for files in self.taken.values())

    def before(self, path: str) -> ReadFile | None:
        """Return the file at this path if it was partly read, or is in a former directory of the source."""
        if (file := self.partial.get(path)) is not None or not self._moved:
            return file
        return next((one for one in self._moved.get(_name_of(path), ()) if one.path.endswith(f"/{path}")), None)

    def put(self, file: ReadFile, rows: int) -> None:
        """Add a completely taken file, with `rows` now."""
        self._rows += rows
        if self.path_of(file) == file.path:  # completes a file in a former directory of the source
            self.partial.pop(file.path, None)
            return
        directory = self._add(file)
        if self.record is None or not directory:
            return
        if (closed := self._closed_above(directory)) is not None:
            self._closed[closed] = self._rows
        elif directory > self._newest:
            self.boundary, self._newest = self._newest, directory
            for each in [each for each in self.taken if each and is_before(each, self.boundary)]:
                self.close(each)
        elif is_before(directory, self.boundary) and directory not in self._late:
            self._late.append(directory)
            if len(self._late) > _LATE:
                self.close(self._late.popleft())

    def close(self, directory: str) -> None:
        """Close a partition and its subdirectories; the record has all of their files once it has the present rows."""
        self._closed[directory] = self._rows
        self.taken.pop(directory, None)

    def close_unseen(self, directory: str) -> None:
        """Close a partition that is seen for the first time.

        The record may have its files, so the partition will be checked.
        """
        self._closed[directory] = 0
        self.unseen.append(directory)

    def is_closed(self, directory: str) -> bool:
        return directory in self._closed

    @property
    def closed(self) -> list[str]:
        """The closed partitions whose files are all in the record."""
        if self.record is None or not self._closed:
            return []
        rows = self.record.rows()
        return sorted(directory for directory, until in self._closed.items() if until <= rows)

    def turn(self, most: int | None) -> list[ReadFile]:
        """Return the files to check next, in turn: at most `most` per call, or all if it is None."""
        total = self.known
        count = total if most is None else min(most, total)
        first = self._turn % max(total, 1)
        self._turn = first + count
        files = self._part(first, count)
        return files + self._part(0, count - len(files))

    def all_files(self, new: Iterable[Entry]) -> list[SourceFile]:
        """Return the taken files and new ones; none if a taken file is gone."""
        known = [self.source.file(self.path_of(file)) for file in self.turn(None)]
        if any(file is None or state_of(file) is None for file in known):
            return []
        files = (*known, *(entry.file or self.source.file(entry.name) for entry in new))
        return [file for file in files if file is not None]

    def forget(self, file: ReadFile) -> None:
        """Forget a taken file, so that it is new again."""
        directory, name = directory_of(path := self.path_of(file)), _name_of(path)
        if directory in self.taken:
            self.taken[directory].remove(name)

    def missing(self) -> str | None:
        """Return the path of a taken file that is no longer listed; None without one."""
        for directory, files in self.taken.items():
            if files.listed < len(files):
                try:
                    names = {entry.name for entry in self.source.entries(directory)}
                except FileNotFoundError:
                    names = set()
                if (gone := next((name for name in files.names() if name not in names), None)) is not None:
                    return f"{files.directory}{gone}"
        return None

    def path_of(self, file: ReadFile) -> str:
        """Return the path of a file within the source."""
        return file.path.removeprefix(self.source.prefix)

    def _part(self, first: int, count: int) -> list[ReadFile]:
        part: list[ReadFile] = []
        for files in self.taken.values():
            if first < len(files) and len(part) < count:
                part += files.part(first, count - len(part))
            first = max(first - len(files), 0)
        return part

    def _add_recorded(self, file: ReadFile) -> None:
        path = self.path_of(file)
        if path == file.path:
            self._moved.setdefault(_name_of(path), []).append(file)
        if file.rows < file.of_rows:
            known, before = self.taken.get(directory_of(path), ()), self.partial.get(path)
            if _name_of(path) not in known and (before is None or before.rows < file.rows):
                self.partial[path] = file
        elif path != file.path and not is_before(directory_of(path), self.boundary):
            self._add(file)
        else:
            self.partial.pop(path, None)

    def _closed_above(self, directory: str) -> str | None:
        """Return the closed partition that is a directory, or contains it; None if it is open."""
        ends = (end + 1 for end, character in enumerate(directory) if character == "/") if self._closed else ()
        return next((directory[:end] for end in ends if directory[:end] in self._closed), None)

    def _add(self, file: ReadFile) -> str:
        """Add a file unless its partition is closed; return the directory."""
        path = self.path_of(file)
        directory = directory_of(path)
        self.partial.pop(path, None)
        if self._closed_above(directory) is None:
            if directory not in self.taken:
                self.taken[directory] = TakenFiles(f"{self.source.prefix}{directory}")
            self.taken[directory].put(file)
        return directory


def directory_of(path: str) -> str:
    """Return the directory of a path in a source: empty, or with a trailing slash."""
    return path[: path.rfind("/") + 1]


def is_before(directory: str, boundary: str) -> bool:
    """Test whether everything below a directory precedes a partition."""
    return directory < boundary and not boundary.startswith(directory)


def _name_of(path: str) -> str:
    return path[path.rfind("/") + 1 :]
