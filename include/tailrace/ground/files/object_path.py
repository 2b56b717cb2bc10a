"""Paths in an object store, with the methods of pathlib that a query's files need. Writes are atomic."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, NamedTuple

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import ObjectStore

from tailrace.ground.errors import refuse
from tailrace.ground.files.object_stores import store_errors, store_of
from tailrace.ground.files.object_urls import ObjectUrl, parse_object_url

_VERSION: tuple[Literal["e_tag"], Literal["version"]] = ("e_tag", "version")  # each service uses one of the two


class Stored(NamedTuple):
    """The content of an object, and the version that identifies it."""

    content: bytes
    version: str


@dataclass(frozen=True)
class ObjectPath:
    """A path in an object store, where directories are prefixes of names and are never created.

    Attributes
    ----------
    url : str
        A URL that `parse_object_url` accepts, without a trailing slash.
    connection : str or None
        The connection to the store; its secrets are read from the environment of each process that uses the path.
    """

    url: str
    connection: str | None = None

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str | Path) -> ObjectPath:
        return ObjectPath(f"{self.url}/{name}", self.connection)

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def stem(self) -> str:
        return Path(self.name).stem

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix

    @property
    def parent(self) -> ObjectPath:
        return ObjectPath(self.url.rpartition("/")[0], self.connection)

    def exists(self) -> bool:
        """Return whether an object has this name; a prefix does not count."""
        try:
            with store_errors(self.url):
                obstore.head(self._store, self._key)
        except FileNotFoundError:
            return False
        return True

    is_file = exists

    def is_dir(self) -> bool:
        """Return whether an object lies below this prefix."""
        try:
            with store_errors(self.url):
                return next(iter(obstore.list(self._store, self._prefix, chunk_size=1)), None) is not None
        except FileNotFoundError:  # the bucket does not exist
            return False

    def require_bucket(self) -> None:
        """Raise `FileNotFoundError` if the bucket does not exist."""
        with store_errors(self.url):
            obstore.list_with_delimiter(self._store, f"{self._key}/")

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: an object needs no directory."""

    def iterdir(self) -> Iterator[ObjectPath]:
        """Yield the objects and prefixes directly below this one, none if it does not exist."""
        try:
            with store_errors(self.url):
                listing = obstore.list_with_delimiter(self._store, self._prefix)
        except FileNotFoundError:  # the bucket does not exist
            return
        paths = [meta["path"] for meta in listing["objects"]] + list(listing["common_prefixes"])
        yield from (self / path.rstrip("/").rpartition("/")[2] for path in paths if path != self._key)

    def glob(self, pattern: str) -> Iterator[ObjectPath]:
        """Yield the objects and prefixes directly below this one whose names match a pattern."""
        return (path for path in self.iterdir() if fnmatchcase(path.name, pattern))

    def read_bytes(self) -> bytes:
        with store_errors(self.url):
            return bytes(obstore.get(self._store, self._key).bytes())

    def read_text(self) -> str:
        return self.read_bytes().decode()

    def write_bytes(self, content: bytes | Path) -> None:
        """Write the object, or replace it, with bytes or the content of a local file."""
        with store_errors(self.url):
            obstore.put(self._store, self._key, content)

    def touch(self) -> None:
        self.write_bytes(b"")

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete the object. Some stores do not report whether it existed, so a missing object raises nothing."""
        try:
            with store_errors(self.url):
                obstore.delete(self._store, self._key)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def stored(self) -> Stored | None:
        """Read the object with its version; None if it does not exist."""
        try:
            with store_errors(self.url):
                result = obstore.get(self._store, self._key)
                version = {name: result.meta[name] for name in _VERSION if result.meta[name] is not None}
                return Stored(bytes(result.bytes()), json.dumps(version))
        except FileNotFoundError:
            return None

    def create(self, content: bytes) -> bool:
        """Create the object; if it exists, return False and write nothing."""
        return self._put(content, "create")

    def replace(self, content: bytes, version: str) -> bool:
        """Replace this version of the object.

        Return False and write nothing if the object has another version or is gone.
        """
        return self._put(content, json.loads(version))

    def _put(self, content: bytes, mode: Any) -> bool:
        try:
            with store_errors(self.url):
                try:
                    obstore.put(self._store, self._key, content, mode=mode)
                except (AlreadyExistsError, PreconditionError):
                    return False
        except FileNotFoundError:  # the object or its bucket is gone
            return False
        return True

    @property
    def _store(self) -> ObjectStore:
        return store_of(self._parsed.store, self.connection)

    @property
    def _key(self) -> str:
        return self._parsed.key

    @property
    def _prefix(self) -> str | None:
        return f"{self._key}/" if self._key else None

    @property
    def _parsed(self) -> ObjectUrl:
        parsed = parse_object_url(self.url)
        assert parsed is not None  # `Layout.for_query` refuses another one
        return parsed


Location = Path | ObjectPath
"""A file or directory, on a disk or in an object store."""


def unlink_all(files: Sequence[Location]) -> None:
    """Delete files that exist. Objects, which must be in one store, are deleted with few requests."""
    for file in files:
        if isinstance(file, Path):
            file.unlink(missing_ok=True)
    if objects := [file for file in files if isinstance(file, ObjectPath)]:
        with store_errors(objects[0].url):
            obstore.delete(objects[0]._store, [each._key for each in objects])


def on_disk(location: Location) -> Path:
    """Return the location as a path on a disk, for operations that object stores lack, such as renaming a directory.

    Raises
    ------
    Refused
        When it is in an object store.
    """
    if isinstance(location, Path):
        return location
    raise refuse(str(location), "it is in an object store, where this can't be done", "a warehouse in a directory")
