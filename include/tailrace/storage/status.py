"""The status of a stream's driver, which the driver writes to `_stream/status.json`. No Spark."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from tailrace.ground import html
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.storage.layout import Layout

_ROOM = 4096
"""Size of the file in bytes: a disk block, so that a longer status fits on a full disk, too."""

_NEXT_PROBLEM = re.compile(r"\n(?=\S)")

ENDINGS = {
    "interrupted": "was interrupted",
    "failed": "failed",
    "drained": "drained",
    "ended": "read its source to the end",
}
"""The states of a driver that has ended, each with a description."""

OVER = tuple(ENDINGS)
SOURCE, DISK = "source", "disk or network"
"""The names of the problems that keep a driver from reading its source."""

CUT_SHORT = ("interrupted", "failed")
"""The states of a driver that ended without draining or reading its source to the end."""

SILENT_MS = 60_000
"""The age from which a driver's last report counts as old; by default a watch waits as long."""

Over = Literal["interrupted", "failed", "drained", "ended"]
State = Literal["starting", "streaming", "waiting", "quiet", "held"] | Over
Phase = Literal["starting", "running", "idle", "held", "awaiting", "broken"] | Over


@dataclass(frozen=True)
class Status:
    """A status, written by a driver about every second.

    Attributes
    ----------
    state : str
        `waiting`: there is nothing to read; `quiet`: there was nothing to read for so long that windows were closed;
        `held`: no rows are read until a delivery target has the answers that it lacks; `drained`, `ended`: the driver
        is over, after all of a batch; `interrupted`: Ctrl-C or a signal ended it; `failed`: an error did.
    started_ms, at_ms : int
        Wall-clock times of the driver's start and of this status.
    batches : int
        The number of committed batches.
    committed_at_ms : int or None
        Wall-clock time of the last commit: `at_ms` less the time elapsed since by a steady clock, so that a jump of the
        wall clock does not age a commit. None before the first one since the start.
    rows_left : int
        The number of rows known in the source, at `at_ms`, that are not yet in a batch. Readers take `unread_rows`.
    committed, frontier, t_max : int or None
        The arrival time up to which everything was processed, the frontier F (the watermark), and the largest event
        time, in ms.
    k_ms : int or None
        The slack K (allowed lateness) in force.
    coverage : float or None
        The coverage λ over all closed windows.
    rows, late, answers, repeats, quarantined, filtered, unmatched : int
        Totals over the life of the stream; 0 until the driver has read them. `rows` counts accepted records, `repeats`
        the accepted ones whose id had come before, `filtered` the records that are left out, and `unmatched` the
        filtered ones that met no row of a lookup.
    busy_ms : int or None
        The age of the current batch; None between two batches.
    busy_rows : int
        The number of rows that the current batch reads.
    batch_ms : int
        The duration of the longest of the newest batches; 0 before the first one since the start.
    ahead : str or None
        The record whose event time is furthest ahead of arrival; None where none is far ahead.
    problem : str or None
        The problems of the source, the disk or the stream, each on its own line; indented lines continue one. In the
        state `failed`, the reason of the end alone.
    is_awaiting : bool
        Whether the only problem is that the source lacks something that may still come.
    gives_up_ms : int or None
        Wall-clock time at which the driver gives up on its problem; None where it retries for ever.
    rejected : str or None
        The most frequent reasons for rejected records, with an example each.
    rejected_for : str or None
        The same reasons without examples, so that no record is quoted.
    delivered : dict
        By delivery target: the arrival time, in ms, up to which it has the answers. Targets without a delivery since
        the driver's start are left out.
    recent_rows, recent_quarantined : int
        Like `rows` and `quarantined`, for the newest batch with records and the batches in the minute before it.
    tasks : int
        The number of tasks of the newest batch; 0 where it has never been changed, or before a batch.
    is_idle : bool
        Whether there were no rows to read for a minute, or none since the start.
    since_ms : int
        Wall-clock time at which `phase` began.
    away : dict
        By the name of a delivery target's problem: the wall-clock time since which it takes no answers, or of the
        driver's start if it has taken none since. Targets that take answers are left out.
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
    unmatched: int = 0
    ahead: str | None = None
    rejected: str | None = None
    gives_up_ms: int | None = None
    rejected_for: str | None = None
    recent_rows: int = 0
    recent_quarantined: int = 0
    delivered: dict[str, int] = field(default_factory=dict)
    tasks: int = 0
    is_idle: bool = False
    since_ms: int = 0
    away: dict[str, int] = field(default_factory=dict)

    @property
    def phase(self) -> Phase:
        """What the driver is doing; unlike the state, this does not change with each batch.

        `running`: it reads rows; `idle`: there are none; `awaiting`: its source lacks something that may still come;
        `broken`: it has a problem.
        """
        match self.state:
            case "starting" | "interrupted" | "failed" | "drained" | "ended":
                return self.state
            case _ if self.is_awaiting:
                return "awaiting"
            case "held":
                return "held"
            case _ if self.problem is not None:
                return "broken"
        return "idle" if self.is_idle else "running"

    @property
    def knows_its_source(self) -> bool:
        """False while the driver starts, and if it ended early: then it may not know its source and its totals."""
        return self.state != "starting" and self.state not in CUT_SHORT

    def unread_rows(self, now_ms: int) -> int | None:
        """Return the number of known rows that are not yet in a batch; None if nobody knows what came since.

        Nobody knows before a driver knows its source, while it can't read it, after its end, and after a long time
        without a report.
        """
        is_reading = self.state != "starting" and self.state not in OVER and not self.hides_rows
        return self.rows_left if is_reading and now_ms - self.at_ms < SILENT_MS else None

    @property
    def hides_rows(self) -> bool:
        """True if the source can't be read, so that it may have unknown rows."""
        return any(text.startswith((f"{SOURCE}: ", f"{DISK}: ")) for text in self.problems)

    @property
    def problems(self) -> list[str]:
        """The texts of `problem`, one for each problem; a text's later lines are indented."""
        return [] if self.problem is None else _NEXT_PROBLEM.split(self.problem)

    def away_problems(self, after_ms: int) -> list[str]:
        """Return a line for each delivery target that has taken no answers for at least some time."""
        lines = [text.partition("\n")[0] for text in self.problems]
        since = {name: ms for name, ms in self.away.items() if self.at_ms - ms >= after_ms}
        return [line for line in lines if line.partition(": ")[0] in since]

    def _repr_html_(self) -> str:
        times = {"reported at": self.at_ms, "committed up to": self.committed, "frontier": self.frontier}
        texts = {"state": ENDINGS.get(self.state, self.state)}
        texts |= {name: format_time(ms) for name, ms in times.items() if ms is not None}
        texts |= {} if self.k_ms is None else {"K": format_duration(self.k_ms)}
        texts |= {} if self.coverage is None else {"coverage": f"{self.coverage:.2%}"}
        counts = {"accepted": self.rows, "filtered": self.filtered, "rejected": self.quarantined, "late": self.late}
        counts |= {"answers": self.answers, "batches": self.batches}
        texts |= {name: f"{count:,}" for name, count in counts.items()}
        return html.named_texts(texts if self.problem is None else texts | {"problem": self.problem})

    def write(self, layout: Layout) -> None:
        """Replace the last status; on a full disk overwrite its file in place, which needs no additional room."""
        try:
            write_atomically(layout.status, json.dumps(asdict(self)).ljust(_ROOM))
        except OSError:
            if not isinstance(layout.status, Path):
                return  # the next status may be written
            with suppress(OSError), layout.status.open("r+b") as file:
                size = os.fstat(file.fileno()).st_size
                texts = (json.dumps(asdict(status)).encode() for status in (self, replace(self, problem=None)))
                file.write(next((text.ljust(size) for text in texts if len(text) <= size), b""))

    @staticmethod
    def read(layout: Layout) -> Status | None:
        """Read the last status; None where none was written yet, or one is being overwritten on a full disk."""
        try:
            values = json.loads(layout.status.read_text())  # a later release may report more
            return Status(**{name: value for name, value in values.items() if name in Status.__dataclass_fields__})
        except (FileNotFoundError, ValueError, TypeError, AttributeError):
            return None


def wall_ms() -> int:
    """Return the current wall-clock time in epoch milliseconds."""
    return time.time_ns() // 1_000_000
