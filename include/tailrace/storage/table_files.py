"""The files that the log of a Delta table names: their locations and identities."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tailrace.ground.errors import Refused, refuse
from tailrace.ground.files.atomic_files import is_url
from tailrace.ground.files.object_path import Location, ObjectPath
from tailrace.ground.files.object_urls import FORMS, parse_object_url
from tailrace.ground.files.regular_files import NotRegularError, read_regular, regular_status
from tailrace.ground.files.source_roots import outside_roots
from tailrace.sources.discovery.object_files import find_object
from tailrace.sources.segments import SourceFile, irregular, removed


def resolve_file(uri: str, table: Location) -> Location:
    """Locate a file that an action names, by an absolute URI or relative to the table's.

    Raises
    ------
    Refused
        When the file is in an object store and the table on a disk, or the reverse.
    """
    named, is_file_url = unquote(uri), uri.startswith("file:")
    if isinstance(table, Path):
        if is_url(uri) and not is_file_url:
            raise refuse(
                str(table), f"its log names {named}, which is on no disk", "a table whose files are on its disk"
            )
        return table / (unquote(urlsplit(uri).path) if is_file_url else named)
    url = named if is_url(uri) else f"{table}/{named}"
    if parse_object_url(url) is None:
        raise refuse(str(table), f"its log names {named}, which is no object that can be read", f"files as {FORMS}")
    return ObjectPath(url, table.connection)


def find_file(location: Location) -> SourceFile:
    """Find a file of a table that is a source; check it, as the log may name any file, and a file may be a link.

    Raises
    ------
    Refused
        When it lies outside of the directories that sources must lie under.
    SourceChanged
        When it is no longer in its object store.
    """
    if (problem := outside_roots(location if isinstance(location, Path) else location.url)) is not None:
        raise Refused([problem])
    if isinstance(location, Path):
        return location
    if (file := find_object(location.url, location.connection)) is None:
        raise removed(location.url)
    return file


def read_commit(file: Location) -> bytes:
    """Read a commit from a table's log; refuse one that is not a regular file."""
    try:
        return read_regular(file)
    except NotRegularError as error:
        raise irregular(error) from None


def require_regular_log(log: Location) -> None:
    """Refuse a log on a disk with an entry that is not a regular file, as Delta's library may hang reading it."""
    if not isinstance(log, Path):
        return
    with os.scandir(log) as entries:  # costs nothing, as a listing has the kind of each entry
        special = [entry.path for entry in entries if not entry.is_file(follow_symlinks=False) and not entry.is_dir()]
    try:
        for path in special:
            regular_status(Path(path))
    except NotRegularError as error:
        raise irregular(error) from None


def identity_of(file: Location) -> tuple[int, ...] | None:
    """Return a file's identity: inode, change time and size, or size and ETag; None where it is gone."""
    if isinstance(file, ObjectPath):
        located = find_object(file.url, file.connection)
        return None if located is None else located.state
    try:
        stat = file.stat()
    except FileNotFoundError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
