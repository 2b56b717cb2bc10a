"""Stores of chunks: the immutable parts of a task's state, stored beside the state that names them.

A batch writes its new chunks before its state is committed, under names that begin with the batch's number. A chunk
that no committed state names is deleted when the state after a later batch is restored. Until then, a batch that is run
again finds the same chunks as its first run, and writes the same ones.
"""

from __future__ import annotations

import errno
import zlib
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from tailrace.engine.content_cache import ContentCache
from tailrace.ground.arrow import wire
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.files.object_path import Location, ObjectPath
from tailrace.operators.chunk import Chunk, Chunks

_SUFFIX = ".arrow"
_SUM_BYTES = 4  # of the checksum at the end of a file
_MOST_CHECKED = 10_000
_READERS = 8  # of objects at once
_CACHE = ContentCache(256 << 20)  # of this process, for chunks in object stores
_CHECKED: dict[str, tuple[int, int, int]] = {}  # inode, time and size of each file that this process has checked


class ChunkStore(Protocol):
    """The chunks of one task, by name."""

    def write(self, name: str, rows: pa.RecordBatch) -> None:
        """Store a chunk atomically, replacing an equal one of an earlier attempt."""

    def read(self, names: Collection[str]) -> dict[str, Chunk]:
        """Read the chunks of a state by name.

        Raises
        ------
        LostChunk
            When a chunk is missing or damaged.
        """

    def names(self) -> list[str]:
        """Return the names of all chunks in the store."""

    def delete(self, name: str) -> None:
        """Delete a chunk if it exists."""


class LostChunk(Exception):
    """Raised when a part of a task's state is lost or damaged."""


@dataclass(frozen=True)
class MemoryChunks:
    """A store in memory, which holds chunks as bytes."""

    chunks: dict[str, bytes] = field(default_factory=dict)

    def write(self, name: str, rows: pa.RecordBatch) -> None:
        self.chunks[name] = wire.pack({"rows": rows})

    def read(self, names: Collection[str]) -> dict[str, Chunk]:
        packed = {name: self.chunks[name] for name in names}
        return {name: Chunk(wire.unpack(each)[0]["rows"], name, source=each) for name, each in packed.items()}

    def names(self) -> list[str]:
        return list(self.chunks)

    def delete(self, name: str) -> None:
        self.chunks.pop(name, None)


@dataclass(frozen=True)
class ChunkFiles:
    """A store in a directory of Arrow files, which are memory-mapped for reading."""

    directory: Path

    def write(self, name: str, rows: pa.RecordBatch) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        write_atomically(self._file(name), _packed(rows))

    def read(self, names: Collection[str]) -> dict[str, Chunk]:
        return {name: self._read(name) for name in names}

    def _read(self, name: str) -> Chunk:
        file = self._file(name)
        try:
            content = pa.memory_map(str(file)).read_buffer()
            version = _checked(file, content)
            return Chunk(_rows(content), name, source=(str(file), *version))
        except (OSError, pa.ArrowInvalid) as error:
            if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT):  # the disk's, and may pass
                raise
            raise LostChunk(f"a part of the state, {file}, can't be read: {error}") from error

    def names(self) -> list[str]:
        return [file.stem for file in self.directory.glob(f"[0-9]*{_SUFFIX}")]

    def delete(self, name: str) -> None:
        self._file(name).unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        return self.directory / f"{name}{_SUFFIX}"


@dataclass(frozen=True)
class ChunkObjects:
    """A store of objects below a prefix; a process caches the contents of some."""

    directory: ObjectPath

    def write(self, name: str, rows: pa.RecordBatch) -> None:
        content = _packed(rows)
        self._file(name).write_bytes(content)
        _CACHE.add(str(self.directory), name, pa.py_buffer(content))

    def read(self, names: Collection[str]) -> dict[str, Chunk]:
        held = _CACHE.read(str(self.directory), names)
        missing = [name for name in names if name not in held]
        with ThreadPoolExecutor(_READERS) as readers:
            read = dict(zip(missing, readers.map(_content, map(self._file, missing)), strict=True))
        for name, content in read.items():
            _CACHE.add(str(self.directory), name, content)
        contents = held | read
        return {name: Chunk(_rows(contents[name]), name, source=str(self._file(name))) for name in names}

    def names(self) -> list[str]:
        return [file.stem for file in self.directory.glob(f"[0-9]*{_SUFFIX}")]

    def delete(self, name: str) -> None:
        _CACHE.drop(str(self.directory), name)  # first, as a request that fails may have been carried out
        self._file(name).unlink(missing_ok=True)

    def _file(self, name: str) -> ObjectPath:
        return self.directory / f"{name}{_SUFFIX}"


def chunk_store(directory: Location) -> ChunkStore:
    """Return the store of the chunks in a directory, on a disk or in an object store."""
    return ChunkFiles(directory) if isinstance(directory, Path) else ChunkObjects(directory)


def _packed(rows: pa.RecordBatch) -> bytes:
    """Return the content of a file: the rows and a checksum."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_batch(rows)
    content = sink.getvalue()
    return bytes(content.to_pybytes() + zlib.crc32(content).to_bytes(_SUM_BYTES, "big"))


def _rows(content: pa.Buffer) -> pa.RecordBatch:
    return pa.ipc.open_file(content.slice(0, content.size - _SUM_BYTES)).get_batch(0)


def _content(file: ObjectPath) -> pa.Buffer:
    """Read the content of a file in an object store, and verify the checksum at its end."""
    try:
        content = pa.py_buffer(file.read_bytes())
        _require_sum(content)
        _rows(content)
    except (FileNotFoundError, pa.ArrowInvalid) as error:
        raise LostChunk(f"a part of the state, {file}, can't be read: {error}") from error
    return content


def _require_sum(content: pa.Buffer) -> None:
    end = content.size - _SUM_BYTES
    if end < 0 or zlib.crc32(content.slice(0, end)) != int.from_bytes(content.slice(end), "big"):
        raise pa.ArrowInvalid("its checksum is wrong")


def _checked(file: Path, content: pa.Buffer) -> tuple[int, int, int]:
    """Verify the checksum at a file's end the first time that this process reads it.

    Returns
    -------
    inode, modified, size : int
        The values that identify the file.

    Raises
    ------
    pa.ArrowInvalid
        When its content differs from what was written.
    """
    status = file.stat()
    known = (status.st_ino, status.st_mtime_ns, status.st_size)
    if _CHECKED.get(str(file)) == known:
        return known
    _require_sum(content)
    if len(_CHECKED) >= _MOST_CHECKED:
        _CHECKED.clear()
    _CHECKED[str(file)] = known
    return known


def store_new(store: ChunkStore, chunks: Chunks, batch: int) -> Chunks:
    """Store the new chunks of a batch; return all chunks, each with its name."""
    stored: dict[str, tuple[Chunk, ...]] = {}
    for part, mine in chunks.items():
        named = []
        for index, chunk in enumerate(mine):
            name = chunk.name or f"{batch:08d}-{part}-{index}"
            if chunk.name is None:
                store.write(name, chunk.rows)
            named.append(replace(chunk, name=name))
        stored[part] = tuple(named)
    return stored


def delete_unnamed(store: ChunkStore, named: Collection[str], batch: int) -> None:
    """Delete the chunks that the state after a batch does not name; chunks of later batches are kept."""
    for name in store.names():
        if name not in named and int(name.split("-")[0]) <= batch:
            store.delete(name)
