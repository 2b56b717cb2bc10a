"""The journal: entry n says what batch n is. It is Spark's source, so a replayed batch is the same batch.

An entry names the segments to be read, the settings in force, and what the silence of the source says. The driver
writes one entry at a time, between two batches; it is never changed. So which files came together, in which order, when
those without an arrival time were taken in, and when the stream was quiet, is decided once.
"""

from __future__ import annotations

import gzip
import itertools
import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tailrace.engine.batch_header import BatchHeader
from tailrace.ground.files import write_atomically
from tailrace.sources.segments import Segment

_BLOCK = 1000
"""Entries in a file of old ones."""


@dataclass(frozen=True)
class LogPosition:
    """How the log stands after an entry.

    Attributes
    ----------
    segments, rows : int
        How many are in it.
    version : int
        Up to which version of its table it holds everything; 0 for files.
    planned_ms, last_rows_ms : int
        When the entry was planned, and when the newest one with rows; by the wall clock.
    silent_since_ms : int
        When the newest entry was that had rows or told an arrival time: what silence there is began then.
    heartbeat_ms : int or None
        The arrival time that the last heartbeat after the newest rows told, if there was one.
    quiet : bool
        Whether the closing of all windows has followed the newest rows.
    """

    segments: int = 0
    rows: int = 0
    version: int = -1
    planned_ms: int = 0
    last_rows_ms: int = 0
    silent_since_ms: int = 0
    heartbeat_ms: int | None = None
    quiet: bool = True


@dataclass(frozen=True)
class BatchRecord:
    """What a batch is."""

    header: BatchHeader
    segments: tuple[Segment, ...]
    position: LogPosition


@dataclass(frozen=True)
class Journal:
    """The entries in a directory, from 0 on without a gap; old ones together in files."""

    directory: Path

    def __contains__(self, batch: int) -> bool:
        return self._file(batch).exists() or self._block(batch).exists()

    def __getitem__(self, batch: int) -> BatchRecord:
        try:
            return _entry(json.loads(self._file(batch).read_text()))
        except FileNotFoundError:
            return _entry(_block(self._block(batch))[batch % _BLOCK])

    def last(self) -> BatchRecord | None:
        """The newest entry."""
        numbers = self._single()
        return self[max(numbers)] if numbers else None

    def missing(self) -> int | None:
        """The first entry that is not there though a later one is; None where there is no gap."""
        blocks = {int(file.name.split(".")[0]) for file in self.directory.glob("[0-9]*.jsonl.gz")}
        first = next(block for block in itertools.count(0, _BLOCK) if block not in blocks)
        single = set(self._single())
        later = max([*single, *blocks], default=0)
        return next((number for number in range(first, later) if number not in single), None)

    def append(self, entry: BatchRecord) -> None:
        """Add the next entry; it is there whole or not at all."""
        write_atomically(self._file(entry.header.batch), json.dumps(asdict(entry)))
        if entry.header.batch % _BLOCK == 0:
            self._fold(entry.header.batch // _BLOCK - 1)

    def _fold(self, before: int) -> None:
        """Put the entries of each block before this one into one file; those of the last block stay as they are."""
        numbers = self._single()
        for block in sorted({number // _BLOCK for number in numbers if number // _BLOCK < before}):
            target = self._block(block * _BLOCK)
            mine = range(block * _BLOCK, (block + 1) * _BLOCK)
            if not target.exists():
                write_atomically(target, gzip.compress(b"\n".join(self._file(number).read_bytes() for number in mine)))
            for number in mine:
                self._file(number).unlink(missing_ok=True)

    def _single(self) -> list[int]:
        return [int(file.stem) for file in self.directory.glob("[0-9]*.json")]

    def _file(self, batch: int) -> Path:
        return self.directory / f"{batch:08d}.json"

    def _block(self, batch: int) -> Path:
        return self.directory / f"{batch // _BLOCK * _BLOCK:08d}.jsonl.gz"


@lru_cache(maxsize=2)
def _block(file: Path) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


def _entry(kept: dict[str, Any]) -> BatchRecord:
    segments = tuple(Segment(**segment) for segment in kept["segments"])
    return BatchRecord(BatchHeader(**kept["header"]), segments, LogPosition(**kept["position"]))
