"""The journal, a write-ahead log: entry n defines batch n, so a batch that is run again is the same.

An entry names the segments to read, the settings in force, and the consequences of silent sources. The driver appends
one entry at a time, between two batches, and never changes it. So the order and grouping of files, the arrival time of
files without one, and the times at which streams were idle or silent are decided only once.
"""

from __future__ import annotations

import errno
import gzip
import itertools
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from tailrace.engine.batch_header import BatchHeader, header_of
from tailrace.ground.errors import Busy, Problem
from tailrace.ground.files.atomic_files import create_atomically, write_atomically
from tailrace.ground.files.object_path import Location, unlink_all
from tailrace.sources.segments import Segment

BLOCK = 1000
"""The number of entries in a block: older entries are stored as blocks, in a file each."""
_READERS = 16  # of entries at once; sequentially, a block's entries take minutes in an object store


@dataclass(frozen=True)
class StreamPosition:
    """The state of one stream's log after an entry.

    Attributes
    ----------
    rows : int
        The number of rows in it.
    version : int
        The version of the source's table up to which everything was read; 0 for files.
    last_rows_ms : int
        Time, by the driver's clock, of the newest entry with rows of this stream; before its first rows, of the first
        entry with any rows.
    silent_since_ms : int
        Time of the newest entry with rows or a heartbeat of this stream, or that closed windows because streams were
        silent; silence is measured from here.
    heartbeat_ms : int or None
        The arrival time of its last heartbeat after its newest rows; None without one.
    idle : bool
        Whether the stream was recorded as idle after its newest rows.
    reached_ms : int or None
        The arrival time that the stream had reached, as far as known at the entry.
    awaited_since_ms : int or None
        The time since which others wait for this stream: another one has reached a later arrival time, and this one has
        not advanced since. None if none waits.
    path, row : str, int
        The path of its newest segment, and the next row there. Reading a topic continues from here.
    """

    rows: int = 0
    version: int = -1
    last_rows_ms: int = 0
    silent_since_ms: int = 0
    heartbeat_ms: int | None = None
    idle: bool = False
    reached_ms: int | None = None
    awaited_since_ms: int | None = None
    path: str = ""
    row: int = 0


@dataclass(frozen=True)
class LogPosition:
    """The state of the log of all streams after an entry.

    Attributes
    ----------
    streams : dict
        The state of each stream's log, by the stream's name.
    segments : int
        The number of segments in it.
    planned_ms : int
        Time, by the driver's clock (`stream/steady_clock.py`), at which the entry was planned. It never decreases.
    quiet : bool
        Whether all streams were silent, so that windows were closed, after the newest rows; also true before any rows.
    """

    streams: Mapping[str, StreamPosition] = field(default_factory=dict)
    segments: int = 0
    planned_ms: int = 0
    quiet: bool = True

    @property
    def rows(self) -> int:
        """The number of rows in it, of all streams."""
        return sum(stream.rows for stream in self.streams.values())

    @property
    def last_rows_ms(self) -> int:
        """Time, by the driver's clock, of the newest entry with rows; 0 before any."""
        return max((stream.last_rows_ms for stream in self.streams.values()), default=0)


@dataclass(frozen=True)
class BatchRecord:
    """An entry of the journal: the header and segments of a batch, and the state of the log after it."""

    header: BatchHeader
    segments: tuple[Segment, ...]
    position: LogPosition


@dataclass(frozen=True)
class Journal:
    """The entries in a directory, numbered from 0 without a gap; older ones are stored in blocks."""

    directory: Location

    def __contains__(self, batch: int) -> bool:
        return self._file(batch).exists() or self._block(batch).exists()

    def __getitem__(self, batch: int) -> BatchRecord:
        try:
            return _entry(json.loads(self._file(batch).read_text()))
        except FileNotFoundError:
            return _entry(_block(self._block(batch))[batch % BLOCK])

    def last(self) -> BatchRecord | None:
        """Return the newest entry; None where there is none."""
        numbers = self._single_entries()
        return self[max(numbers)] if numbers else None

    @property
    def count(self) -> int:
        """The number of entries, according to the newest one."""
        return max(self._single_entries(), default=-1) + 1

    def missing(self) -> int | None:
        """Return the number of the first missing entry before a later one; None without a gap."""
        blocks = {int(file.name.split(".")[0]) for file in self.directory.glob("[0-9]*.jsonl.gz")}
        first = next(block for block in itertools.count(0, BLOCK) if block not in blocks)
        single = set(self._single_entries())
        later = max([*single, *blocks], default=0)
        return next((number for number in range(first, later) if number not in single), None)

    def append(self, entry: BatchRecord) -> None:
        """Append the next entry atomically. It is idempotent: an identical entry may already exist.

        Raises
        ------
        Busy
            When a different entry exists: another driver has continued the stream while this one was suspended.
        OSError
            When it may or may not have been written; call it again with the same entry.
        """
        number, content = entry.header.batch, json.dumps(asdict(entry))
        try:
            if self._block(number).exists():
                raise FileExistsError
            create_atomically(self._file(number), content)
        except FileExistsError:
            if not self._holds(number, content):
                fault = f"another driver has planned batch {number} meanwhile"
                raise Busy([Problem(str(self.directory), fault, "one driver a query: this one ends")]) from None
        if number % BLOCK == 0:
            with suppress(OSError):  # the entry is written; a later fold merges and deletes the rest
                self._fold(number // BLOCK - 1)

    def _holds(self, number: int, content: str) -> bool:
        try:
            return self._file(number).read_text() == content
        except FileNotFoundError:
            if self._block(number).exists():
                return False
            raise OSError(errno.EIO, "a write was refused, though nothing is there", str(self._file(number))) from None

    def _fold(self, before: int) -> None:
        """Merge the entries of each block before the given one into one file; later entries keep a file each."""
        numbers = self._single_entries()
        for block in sorted({number // BLOCK for number in numbers if number // BLOCK < before}):
            target = self._block(block * BLOCK)
            if not target.exists():
                files = [self._file(number) for number in range(block * BLOCK, (block + 1) * BLOCK)]
                with ThreadPoolExecutor(_READERS) as readers:
                    entries = list(readers.map(lambda file: file.read_bytes(), files))
                write_atomically(target, gzip.compress(b"\n".join(entries)))
            unlink_all([self._file(number) for number in numbers if number // BLOCK == block])

    def _single_entries(self) -> list[int]:
        return [int(file.stem) for file in self.directory.glob("[0-9]*.json")]

    def _file(self, batch: int) -> Location:
        return self.directory / f"{batch:08d}.json"

    def _block(self, batch: int) -> Location:
        return self.directory / f"{batch // BLOCK * BLOCK:08d}.jsonl.gz"


@lru_cache(maxsize=2)
def _block(file: Location) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


def _entry(values: dict[str, Any]) -> BatchRecord:
    segments = tuple(Segment(**segment) for segment in values["segments"])
    position = values["position"]
    streams = {name: StreamPosition(**stream) for name, stream in position["streams"].items()}
    return BatchRecord(header_of(values["header"]), segments, LogPosition(**position | {"streams": streams}))
