"""The states of tasks in an object store: of each task after each of the two newest batches.

The state after a batch follows from that before it and the batch's entry in the journal alone. It is written before the
tables get the batch; the one before it stays, until the tables have it. So a batch that is run again finds what its
first run found, whoever runs it, and writes the same.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from tailrace.engine.chunk_stores import LostChunk
from tailrace.ground.object_path import ObjectPath

VERSION = 6
"""The version of a state's bytes; to be raised when a later tailrace reads other ones."""

_VERSION_BYTES = 4


@dataclass(frozen=True)
class TaskStates:
    """The states below a prefix: TASK/BATCH.state."""

    directory: ObjectPath

    def read(self, task: int, batch: int) -> bytes | None:
        """Read the state of a task after a batch; None before batch 0.

        Raises
        ------
        LostChunk
            When it is not there, or of another version.
        """
        if batch < 0:
            return None
        file = self._file(task, batch)
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            raise LostChunk(f"the state after batch {batch}, {file}, is not there") from None
        if (version := int.from_bytes(content[:_VERSION_BYTES], "big")) != VERSION:
            raise LostChunk(f"the state {file} is of version {version}, this tailrace reads {VERSION}")
        return content[_VERSION_BYTES:]

    def write(self, task: int, batch: int, state: bytes) -> None:
        """Write the state after a batch, and delete the one that no batch needs any more."""
        self._file(task, batch).write_bytes(VERSION.to_bytes(_VERSION_BYTES, "big") + state)
        if batch > 1:
            with suppress(OSError):  # `sweep` deletes it at a later start; the batch needs no more
                self._file(task, batch - 2).unlink(missing_ok=True)

    def sweep(self, committed: int) -> int:
        """Delete what no batch needs after so many committed ones, and earlier drivers have left; returns how many."""
        files = [file for task in self.directory.iterdir() for file in task.glob("[0-9]*.state")]
        old = [file for file in files if int(file.stem) < committed - 1]
        for file in old:
            file.unlink(missing_ok=True)
        return len(old)

    def _file(self, task: int, batch: int) -> ObjectPath:
        return self.directory / str(task) / f"{batch:08d}.state"
