"""Stores of chunks: the immutable parts of a task's state, kept beside the state that names them.

A batch writes its new chunks before its state is committed, under names that begin with the batch's number. A chunk
that no committed state names is deleted when the state after a later batch is restored: until then, a batch that is
run again finds all that its first run found, and writes the same chunks.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from tailrace.ground import wire
from tailrace.ground.files import write_atomically
from tailrace.operators.chunk import Chunk, Chunks

_SUFFIX = ".arrow"


class ChunkStore(Protocol):
    """The chunks of one task, by name."""

    def write(self, name: str, rows: pa.RecordBatch) -> None:
        """Store a chunk atomically; in the place of an equal one of an earlier attempt."""

    def read(self, name: str) -> pa.RecordBatch:
        """Read a chunk.

        Raises
        ------
        LostChunk
            When it is not there, or damaged.
        """

    def names(self) -> list[str]:
        """The names of all chunks in the store."""

    def delete(self, name: str) -> None:
        """Delete a chunk if it is there."""


class LostChunk(Exception):
    """A part of the state of a task is lost or damaged."""


@dataclass(frozen=True)
class MemoryChunks:
    """A store in memory, which holds chunks as bytes."""

    chunks: dict[str, bytes] = field(default_factory=dict)

    def write(self, name: str, rows: pa.RecordBatch) -> None:
        self.chunks[name] = wire.pack({"rows": rows})

    def read(self, name: str) -> pa.RecordBatch:
        return wire.unpack(self.chunks[name])[0]["rows"]

    def names(self) -> list[str]:
        return list(self.chunks)

    def delete(self, name: str) -> None:
        self.chunks.pop(name, None)


@dataclass(frozen=True)
class ChunkFiles:
    """A store in a directory of Arrow files, which are mapped into memory when they are read."""

    directory: Path

    def write(self, name: str, rows: pa.RecordBatch) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_batch(rows)
        write_atomically(self._file(name), sink.getvalue())

    def read(self, name: str) -> pa.RecordBatch:
        file = self._file(name)
        try:
            return pa.ipc.open_file(pa.memory_map(str(file))).get_batch(0)
        except (FileNotFoundError, pa.ArrowInvalid) as error:
            raise LostChunk(f"a part of the state, {file}, can't be read: {error}") from error

    def names(self) -> list[str]:
        return [file.stem for file in self.directory.glob(f"[0-9]*{_SUFFIX}")]

    def delete(self, name: str) -> None:
        self._file(name).unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        return self.directory / f"{name}{_SUFFIX}"


def store_new(store: ChunkStore, chunks: Chunks, batch: int) -> Chunks:
    """Store the chunks that a batch has made; returns all of them, each with its name."""
    stored: dict[str, tuple[Chunk, ...]] = {}
    for part, mine in chunks.items():
        named = []
        for index, chunk in enumerate(mine):
            name = chunk.name or f"{batch:08d}-{part}-{index}"
            if chunk.name is None:
                store.write(name, chunk.rows)
            named.append(Chunk(chunk.rows, name))
        stored[part] = tuple(named)
    return stored


def delete_unnamed(store: ChunkStore, named: Collection[str], batch: int) -> None:
    """Delete the chunks that the state after a batch does not name; chunks of later batches stay."""
    for name in store.names():
        if name not in named and int(name.split("-")[0]) <= batch:
            store.delete(name)
