"""The files with the states of a stream's clock and tasks, after each of the two newest batches.

The state after a batch depends only on the state before it and the batch's record in the journal. It is written before
the tables get the batch; the state before it is kept until the tables have the batch. So a batch that is run again, by
any process, starts from the same state as its first run, and writes the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tailrace.engine.chunk_stores import LostChunk
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.files.object_path import Location

_HEADER_BYTES = 4  # the checksum of the state

StateOwner = int | Literal["clock"]
"""The owner of a state: a task, by its number, or the clock."""

CLOCK: Final = "clock"


@dataclass(frozen=True)
class TaskStates:
    """The states below a directory, on a disk or in an object store: OWNER/BATCH.state."""

    directory: Location

    def read(self, owner: StateOwner, batch: int) -> bytes | None:
        """Read the state of the clock or a task after a batch; None before batch 0.

        Raises
        ------
        LostChunk
            When it is missing or damaged.
        """
        if batch < 0:
            return None
        file = self._file(owner, batch)
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            raise LostChunk(f"the state after batch {batch}, {file}, is not there") from None
        state = content[_HEADER_BYTES:]
        if not state or content[:_HEADER_BYTES] != _checksum(state):
            raise LostChunk(f"the state after batch {batch}, {file}, is damaged")
        return state

    def write(self, owner: StateOwner, batch: int, state: bytes) -> None:
        """Write the state after a batch, and delete the one that is no longer needed."""
        file = self._file(owner, batch)
        if isinstance(file, Path):
            file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, _checksum(state) + state)
        if batch > 1:
            with suppress(OSError):  # `sweep` deletes it at a later start; the batch does not depend on it
                self._file(owner, batch - 2).unlink(missing_ok=True)

    def newest(self) -> int:
        """Return the number of the newest batch with any state; -1 where there is none."""
        return max((int(file.stem) for file in self._files()), default=-1)

    def missing(self, tasks: int, batch: int) -> Location | None:
        """Return the first missing file among the states of clock and tasks after a batch; None if none is missing."""
        owners: list[StateOwner] = [CLOCK, *range(tasks)] if batch >= 0 else []
        files = (self._file(owner, batch) for owner in owners)
        return next((file for file in files if not file.exists()), None)

    def sweep(self, committed: int) -> int:
        """Delete states not needed after `committed` batches, and earlier drivers' leftovers; return their number."""
        old = [file for file in self._files() if int(file.stem) < committed - 1]
        for file in old:
            file.unlink(missing_ok=True)
        return len(old)

    def _files(self) -> Iterator[Location]:
        owners = self.directory.iterdir() if self.directory.is_dir() else ()
        return (file for owner in owners for file in owner.glob("[0-9]*.state"))

    def _file(self, owner: StateOwner, batch: int) -> Location:
        return self.directory / str(owner) / f"{batch:08d}.state"


def _checksum(state: bytes) -> bytes:
    return zlib.crc32(state).to_bytes(4, "big")
