"""The status of a stream's driver, which it writes to `_stream/status.json` itself. No Spark."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from tailrace.ground.files import write_atomically
from tailrace.storage.layout import Layout

_ROOM = 4096
"""Size of its file, in bytes: a block of the disk, so that a longer status has room on a full disk too."""

_NEXT_PROBLEM = re.compile(r"\n(?=\S)")

State = Literal["starting", "streaming", "waiting", "quiet", "drained", "ended"]


@dataclass(frozen=True)
class Status:
    """A status, which a driver writes about every second while it lives.

    Attributes
    ----------
    state : str
        `waiting`: there is nothing to read; `quiet`: there was nothing for so long that the windows are closed;
        `drained`, `ended`: the driver has stopped.
    started_ms, at_ms : int
        Wall-clock times of the driver's start and of this status.
    batches : int
        The number of committed batches.
    committed_at_ms : int or None
        Wall-clock time of the last commit: `at_ms` less what has elapsed since by a steady clock, so that a wall clock
        that jumps makes no commit old. None before the first one since the start.
    rows_left : int
        The number of rows that are known to be there and are not yet in a batch.
    committed, frontier, t_max : int or None
        The arrival time up to which everything was taken in, the frontier F (the watermark), and the largest event
        time, in ms.
    k_ms : int or None
        The slack K (allowed lateness) in force.
    coverage : float or None
        The coverage λ over all closed windows.
    rows, late, answers, repeats, quarantined, filtered : int
        Totals over the life of the stream; 0 until the driver starts Spark. `rows` are the accepted ones, `repeats`
        those among them whose id had come before; `filtered` are the records that `where` leaves out.
    busy_ms : int or None
        The age of the batch under way; None between two batches.
    busy_rows : int
        The number of rows that the batch under way reads.
    batch_ms : int
        The duration of the longest of the newest batches; 0 before the first one since the start.
    ahead : str or None
        The record whose event time is furthest ahead of arrival; None where none is far ahead.
    problem : str or None
        What is wrong with the source, the disk or the stream, each from a line of its own on; indented lines go on.
    is_awaiting : bool
        Whether the problem is only that the source lacks something which may still come.
    gives_up_ms : int or None
        Wall-clock time at which the driver ends unless its problem is over; None: it tries as long as that takes.
    rejected : str or None
        The most frequent reasons for which records were rejected, with an example each.
    rejected_for : str or None
        The same reasons, without examples: it quotes no record.
    recent_rows, recent_quarantined : int
        As `rows` and `quarantined`, of the batches in the minute before the newest one with records, and of that one.
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
    is_awaiting: bool = False
    repeats: int = 0
    quarantined: int = 0
    filtered: int = 0
    ahead: str | None = None
    rejected: str | None = None
    gives_up_ms: int | None = None
    rejected_for: str | None = None
    recent_rows: int = 0
    recent_quarantined: int = 0

    @property
    def problems(self) -> list[str]:
        """The texts of `problem`, one for each problem; a text's later lines are indented."""
        return [] if self.problem is None else _NEXT_PROBLEM.split(self.problem)

    def write(self, layout: Layout) -> None:
        """Replace the last status; on a full disk overwrite its file in place, which needs no more room."""
        try:
            write_atomically(layout.status, json.dumps(asdict(self)).ljust(_ROOM))
        except OSError:
            if not isinstance(layout.status, Path):
                return  # the next one may get through
            with suppress(OSError), layout.status.open("r+b") as file:
                size = os.fstat(file.fileno()).st_size
                texts = (json.dumps(asdict(status)).encode() for status in (self, replace(self, problem=None)))
                file.write(next((text.ljust(size) for text in texts if len(text) <= size), b""))

    @staticmethod
    def read(layout: Layout) -> Status | None:
        """Read the last status; None where none was ever written, or one is just being overwritten on a full disk."""
        try:
            values = json.loads(layout.status.read_text())
            return Status(**{name: values[name] for name in Status.__dataclass_fields__ if name in values})
        except (FileNotFoundError, ValueError, TypeError):
            return None


def wall_ms() -> int:
    """Return the current wall-clock time in epoch milliseconds."""
    return time.time_ns() // 1_000_000
