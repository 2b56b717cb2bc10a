"""Files in object stores: they appear whole, and are read by ranges, as they were when listed."""

from __future__ import annotations

import errno
import io
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import obstore
from obstore.exceptions import PreconditionError

from tailrace.ground.files.object_path import Location
from tailrace.ground.files.object_stores import store_errors, store_of
from tailrace.ground.files.object_urls import ObjectUrl, parse_object_url

_BUFFER_BYTES = 1 << 20  # a request takes some 10 ms, however little it reads


@dataclass(frozen=True)
class ObjectFile:
    """A file in an object store; its ETag identifies the content.

    Attributes
    ----------
    connection : str or None
        The connection to the store.
    size : int
        The size in bytes.
    e_tag : str or None
        None if the store has none; then the change time is used instead, and reads do not check it.
    digest : int
        63 bits that identify the content, used like a local file's change time.
    """

    url: str
    connection: str | None
    size: int
    e_tag: str | None
    digest: int

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def state(self) -> tuple[int, int]:
        """The size and digest, see `segments.State`."""
        return self.size, self.digest

    def open(self, mode: str = "rb") -> BinaryIO:
        """Open it for reading in binary mode, without a request before the first read."""
        assert mode == "rb"
        return io.BufferedReader(_Ranges(self), _BUFFER_BYTES)


class _Ranges(io.RawIOBase):
    """Reads an object by ranges."""

    def __init__(self, file: ObjectFile) -> None:
        self._file, self._position = file, 0
        self._url = _parsed(file.url)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._file.size}[whence]
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        end = min(self._position + len(buffer), self._file.size)
        if end <= self._position:
            return 0
        options: Any = {"range": (self._position, end)}
        if self._file.e_tag is not None:
            options["if_match"] = self._file.e_tag
        with store_errors(self._file.url):
            try:
                store = store_of(self._url.store, self._file.connection)
                content = obstore.get(store, self._url.key, options=options).bytes()
            except (PreconditionError, FileNotFoundError):  # the next attempt will see that it changed or was removed
                text = "it was replaced or removed while it was read"
                raise OSError(errno.ESTALE, text, self._file.url) from None
        buffer[: len(content)] = memoryview(content)
        self._position += len(content)
        return len(content)


def find_object(url: str, connection: str | None) -> ObjectFile | None:
    """Find the object at a URL; None where there is none."""
    parsed = _parsed(url)
    with store_errors(url):
        try:
            return _file(parsed.store, connection, obstore.head(store_of(parsed.store, connection), parsed.key))
        except FileNotFoundError:
            return None


def open_location(location: Location) -> Path | BinaryIO:
    """Open an object for reading by ranges; return a path on a disk unchanged.

    Raises
    ------
    FileNotFoundError
        When there is no such object.
    """
    if isinstance(location, Path):
        return location
    file = find_object(location.url, location.connection)
    if file is None:
        raise FileNotFoundError(errno.ENOENT, "there is no such object", location.url)
    return file.open()


def list_objects(url: str, connection: str | None) -> tuple[list[ObjectFile], list[str]]:
    """List the objects directly under a URL, and the names of its directories."""
    store, key = _parsed(url)
    try:
        with store_errors(url):
            listing = obstore.list_with_delimiter(store_of(store, connection), f"{key}/" if key else None)
    except FileNotFoundError:  # the bucket does not exist
        return [], []
    files = [_file(store, connection, meta) for meta in listing["objects"] if meta["path"] != key]
    return files, [prefix.rstrip("/").rpartition("/")[2] for prefix in listing["common_prefixes"]]


def list_after(url: str, path: str, connection: str | None) -> Iterator[ObjectFile]:
    """List the objects below a URL, at any depth, whose relative paths come after the given one; all if it is empty.

    Stores list in the order of paths from a given one on, so that earlier objects cost nothing.
    """
    store, key = _parsed(url)
    prefix = f"{key}/" if key else ""
    with store_errors(url):
        pages = obstore.list(store_of(store, connection), prefix or None, offset=f"{prefix}{path}" if path else None)
        for page in pages:
            yield from (_file(store, connection, meta) for meta in page if meta["path"] != key)


def is_prefix(url: str, connection: str | None) -> bool:
    """Return whether any object lies below a URL."""
    store, key = _parsed(url)
    try:
        with store_errors(url):
            pages = obstore.list(store_of(store, connection), f"{key}/" if key else None, chunk_size=1)
            return any(meta["path"] != key for page in pages for meta in page)
    except FileNotFoundError:  # the bucket does not exist
        return False


def _parsed(url: str) -> ObjectUrl:
    parsed = parse_object_url(url)
    assert parsed is not None  # a query with another URL is refused
    return parsed


def _file(store: str, connection: str | None, meta: Any) -> ObjectFile:
    e_tag = meta["e_tag"]
    identity = e_tag.strip('"') if e_tag else meta["last_modified"].isoformat()
    digest = int.from_bytes(sha256(identity.encode()).digest()[:8], "big") >> 1
    return ObjectFile(f"{store}/{meta['path']}", connection, meta["size"], e_tag, digest)
