"""How a stream's driver stands, as it says itself in `_stream/status.json`. No Spark."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Literal

from tailrace.ground.files import write_atomically
from tailrace.storage.layout import Layout

State = Literal["starting", "streaming", "waiting", "quiet", "drained", "ended"]


@dataclass(frozen=True)
class Status:
    """A driver says this every second or so while it lives.

    Attributes
    ----------
    state : str
        `waiting` has nothing to read; `quiet` has had nothing for so long that its windows are closed; `drained` and
        `ended` are the last words.
    started_ms, at_ms : int
        When it started, and when it said this, by the wall clock.
    batches : int
        How many are committed.
    committed_at_ms : int or None
        When the last of them was, by the wall clock; None before the first since the start.
    rows_left : int
        Rows that are known to be there and are not yet in a batch.
    committed, frontier, t_max : int or None
        Arrival time up to which all was taken in, F, and the largest event time, in ms.
    k_ms, coverage : K in force, and λ over all closed windows
    rows, late, answers : int
        Totals since the start of the driver.
    busy_ms : int or None
        How long the batch under way has been going; None between two batches.
    busy_rows : int
        How many rows it reads.
    batch_ms : int
        The longest of the newest batches; 0 before the first one since the start.
    problem : str or None
        What is wrong with the source or the disk; it is tried again.
    """

    state: State
    pid: int
    started_ms: int
    at_ms: int
    batches: int
    committed_at_ms: int | None = None
    rows_left: int = 0
    committed: int | None = None
    frontier: int | None = None
    t_max: int | None = None
    k_ms: int | None = None
    coverage: float | None = None
    rows: int = 0
    late: int = 0
    answers: int = 0
    busy_ms: int | None = None
    busy_rows: int = 0
    batch_ms: int = 0
    problem: str | None = None

    def write(self, layout: Layout) -> None:
        """Put it in the place of the last one; on a full disk into the last one's own blocks, which are its already."""
        try:
            write_atomically(layout.status, json.dumps(asdict(self)))
        except OSError:
            with suppress(OSError), layout.status.open("r+b") as file:
                room = os.fstat(file.fileno()).st_size
                texts = (json.dumps(asdict(said)).encode() for said in (self, replace(self, problem=None)))
                file.write(next((text.ljust(room) for text in texts if len(text) <= room), b""))

    @staticmethod
    def read(layout: Layout) -> Status | None:
        """The last one; None where no driver ever said anything, or one is just saying it on a full disk."""
        try:
            said = json.loads(layout.status.read_text())
            return Status(**{name: said[name] for name in Status.__dataclass_fields__ if name in said})
        except (FileNotFoundError, json.JSONDecodeError):
            return None


def wall_ms() -> int:
    """Now, by the wall clock, in epoch milliseconds."""
    return time.time_ns() // 1_000_000
