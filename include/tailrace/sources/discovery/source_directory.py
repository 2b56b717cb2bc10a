"""The directory of a source, on a disk or in an object store: its listing, and the names of a stream's files.

A directory holds files, or partitions: directories named by a time (`2026-11-26`, or in the style of Hive
`dt=2026-11-26`), to any depth.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from tailrace.ground.errors import Refused, refuse
from tailrace.ground.files.regular_files import NotRegularError, regular_status
from tailrace.ground.files.source_roots import VARIABLE, outside_roots
from tailrace.ground.locales import NAME_REMEDY, name_fault
from tailrace.sources.discovery.object_files import ObjectFile, find_object, is_prefix, list_after, list_objects
from tailrace.sources.segments import SourceFile, irregular

_SKIPPED_SUFFIXES = (".tmp", ".crc", ".inprogress")
"""Suffixes of producers' temporary files; names that begin with `.` or `_` are also skipped."""

_PARTITION = re.compile(r"[A-Za-z]\w*=\d[^=]*|\d[\d_.:T+-]*Z?", re.ASCII)
_BY_VALUE = re.compile(r"[A-Za-z]\w*=[^=]+", re.ASCII)


class Entry(NamedTuple):
    """An entry of a directory: a file or a partition; `file` is an object as listed."""

    name: str
    is_partition: bool
    file: ObjectFile | None = None


class SourceDirectory(Protocol):
    """The directory of a source. Paths in it are relative, with slashes; paths of directories end with one."""

    lists_states: bool
    """True if its listings include the states of files, so that files need not be examined one by one."""

    @property
    def prefix(self) -> str:
        """The prefix of its files' relative paths: a path or a URL, with a trailing slash."""

    def entries(self, directory: str) -> Iterator[Entry]:
        """Yield the entries of a directory, in any order, without producers' temporary files.

        Raises
        ------
        FileNotFoundError
            When it does not exist.
        Refused
            When a directory in it is not a partition.
        """

    def after(self, path: str) -> Iterator[Entry] | None:
        """Yield the files, at any depth, whose paths come after this one; None if such a listing is not available."""

    def changed_at(self, directory: str) -> int | None:
        """Return the time (ns) at which the names in a directory last changed; None if unknown."""

    def file(self, path: str) -> SourceFile | None:
        """Return a file of the source; None for a missing object."""

    def require_fit(self, path: str) -> None:
        """Refuse a new path that is not a file, such as a FIFO, or lies outside of the sources' roots."""

    @property
    def identity(self) -> str:
        """An identifier that distinguishes the directory from another one under its path; empty without one."""


class SingleFile:
    """A source that is one file, whatever its name."""

    identity, lists_states = "", False

    def __init__(self, file: SourceFile) -> None:
        self._file, self.prefix = file, str(file).removesuffix(file.name)

    def entries(self, directory: str) -> Iterator[Entry]:
        yield Entry(self._file.name, False, self._file if isinstance(self._file, ObjectFile) else None)

    def after(self, path: str) -> None:
        return None

    def changed_at(self, directory: str) -> None:
        return None

    def file(self, path: str) -> SourceFile:
        return self._file

    def require_fit(self, path: str) -> None:
        """Do nothing: the query file's path was checked when it was opened."""


class LocalDirectory:
    """A directory on a disk; `is_log` says that its paths are ordered by time."""

    lists_states = False

    def __init__(self, root: Path, is_log: bool = True) -> None:
        self.root, self.prefix, self._is_log = root, f"{str(root).rstrip('/')}/", is_log

    def entries(self, directory: str) -> Iterator[Entry]:
        with os.scandir(self.root / directory) as listing:
            for entry in listing:
                if not is_of_source(entry.name):
                    continue
                is_directory = entry.is_dir(follow_symlinks=False)
                if is_directory and (self._is_log or not _BY_VALUE.fullmatch(entry.name)):
                    _require_partition(f"{self.prefix}{directory}{entry.name}", entry.name)
                yield Entry(entry.name, is_directory)

    def after(self, path: str) -> None:
        return None

    def changed_at(self, directory: str) -> int | None:
        return (self.root / directory).stat().st_mtime_ns

    def file(self, path: str) -> Path:
        return self.root / path

    def require_fit(self, path: str) -> None:
        file = self.root / path
        try:
            regular_status(file)
        except FileNotFoundError:  # removed since it was listed
            return
        except NotRegularError as error:
            raise (_no_partition(str(file)) if file.is_dir() else irregular(error)) from None
        if VARIABLE in os.environ and file.is_symlink() and (outside := outside_roots(file)) is not None:
            raise Refused([outside])

    @property
    def identity(self) -> str:
        return f"inode {self.root.stat().st_ino}"


class ObjectDirectory:
    """A prefix of an object store, which lists its objects in the order of their paths."""

    identity, lists_states = "", True

    def __init__(self, url: str, connection: str | None) -> None:
        self.url, self.connection, self.prefix = url, connection, f"{url}/"

    def entries(self, directory: str) -> Iterator[Entry]:
        objects, partitions = list_objects(f"{self.prefix}{directory}".rstrip("/"), self.connection)
        if not (objects or partitions or directory):
            raise refuse(self.url, "there is no object below it any more", "the objects that it had")
        if not (objects or partitions):
            raise FileNotFoundError(errno.ENOENT, "there is no object below it", f"{self.prefix}{directory}")
        for name in filter(is_of_source, partitions):
            _require_partition(f"{self.prefix}{directory}{name}", name)
            yield Entry(name, True)
        yield from (Entry(file.name, False, file) for file in objects if is_of_source(file.name))

    def after(self, path: str) -> Iterator[Entry]:
        for file in list_after(self.url, path, self.connection):
            below = file.url.removeprefix(self.prefix)
            *partitions, name = below.split("/")
            if is_of_source(name) and all(map(is_of_source, partitions)):
                for partition in partitions:
                    _require_partition(file.url.removesuffix(f"/{name}"), partition)
                yield Entry(below, False, file)

    def changed_at(self, directory: str) -> None:
        return None

    def file(self, path: str) -> ObjectFile | None:
        return find_object(f"{self.prefix}{path}", self.connection)

    def require_fit(self, path: str) -> None:
        """Do nothing: a store only lists objects."""


def open_directory(path: Path | str, format_name: str, connection: str | None, is_log: bool = True) -> SourceDirectory:
    """Open the directory of a source, or its only file.

    `path` is a text if it is the URL of an object store; `connection` is the connection to the store. For a table,
    `is_log` is false, as it may be partitioned by any value.

    Raises
    ------
    Refused
        When neither exists, or it lies outside of the directories that sources must lie under, as it may have become a
        link.
    """
    if (outside_path := outside_roots(path)) is not None:
        raise Refused([outside_path])
    remedy = f"a {format_name} file or a directory of them"
    if isinstance(path, str):
        if is_prefix(path, connection):
            return ObjectDirectory(path, connection)
        if (single := find_object(path, connection)) is None:
            raise refuse(path, "there is no such object, and none below it", remedy)
        return SingleFile(single)
    _require_utf_8(path)
    if path.is_dir():
        return LocalDirectory(path, is_log)
    try:
        regular_status(path)
    except NotRegularError as error:
        raise irregular(error) from None
    except (FileNotFoundError, NotADirectoryError):
        raise refuse(str(path), "there is no such file or directory", remedy) from None
    return SingleFile(path)


def require_name(where: str, suffixes: tuple[str, ...]) -> None:
    """Refuse a file whose name has no suffix of its format, or can't be stored in a table."""
    _require_utf_8(where)
    if not where.endswith(suffixes):
        kind = suffixes[0].removeprefix(".")
        raise refuse(where, f"this is no {kind} file by its name", f"only files named *{' or *'.join(suffixes)}")


def _require_utf_8(path: Path | str) -> None:
    if (fault := name_fault(path)) is not None:
        raise refuse(ascii(str(path)), fault, NAME_REMEDY)


def is_of_source(name: str) -> bool:
    """Return whether a name does not belong to a producer's temporary file."""
    return name[0] not in "._" and not name.endswith(_SKIPPED_SUFFIXES)


def _require_partition(where: str, name: str) -> None:
    if not _PARTITION.fullmatch(name):
        raise _no_partition(where)


def _no_partition(where: str) -> Refused:
    remedy = "files, whose names give the order of the log; or directories by time, such as 2026-11-26 or dt=2026-11-26"
    return refuse(where, "this is a directory", remedy)
