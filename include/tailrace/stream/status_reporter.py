"""What a driver sees and says of itself while it runs."""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from dataclasses import dataclass, replace

import pyarrow as pa

from tailrace.storage.layout import Layout
from tailrace.storage.progress import Progress
from tailrace.storage.status import State, Status, wall_ms
from tailrace.storage.tables import COMPACT_EVERY, in_ms

_SAY_S = 1.0
_AT_ONCE = ("starting", "drained", "ended")  # the last words for long
_GRACE_S = 60.0  # for the batch under way, once a run in the foreground was asked to drain
_RECENT = 2 * COMPACT_EVERY + 1  # batches, by whose durations the next one is judged: with some that compacted tables
_LAUNCHED = "TAILRACE_DRIVER"  # in the environment of what a driver host starts: `MARK` of drivers/fence.py


@dataclass
class StatusReporter:
    """Keeps `status.json`, and looks for the wish to drain.

    One that was there before a run in the foreground is none to it. On a driver host a deployment takes an old one
    away, and the driver leaves it as it is: it holds for all its restarts.
    """

    layout: Layout

    def __post_init__(self) -> None:
        self.layout.stream.mkdir(parents=True, exist_ok=True)
        self._foreground = _LAUNCHED not in os.environ
        self._asked_s: float | None = None
        if self._foreground:
            self.layout.drain.unlink(missing_ok=True)
        now = wall_ms()
        self._problems: dict[str, str | None] = {}
        self._said_s, self._status = 0.0, Status("starting", os.getpid(), now, now, 0)
        self._busy_since_s: float | None = None
        self._recent_ms: deque[int] = deque(maxlen=_RECENT)
        self.report("starting")

    @property
    def drain_requested(self) -> bool:
        return self.layout.drain.exists()

    @property
    def is_overdue(self) -> bool:
        """Whether the wish to drain is so old that the batch under way must hang.

        On a driver host the one who asks sees to that.
        """
        if not (self._foreground and self.drain_requested):
            return False
        now_s = time.monotonic()
        self._asked_s = now_s if self._asked_s is None else self._asked_s
        return now_s - self._asked_s >= _GRACE_S

    def starting(self, batches: int) -> None:
        """So many batches are committed already, and now Spark starts."""
        self._status = replace(self._status, batches=batches)
        self.report("starting")

    def report(self, state: State, rows_left: int = 0, busy_rows: int | None = None) -> None:
        """Say how it stands, if that was not just said.

        Parameters
        ----------
        busy_rows : int, optional
            How many rows the batch under way reads; None between two batches.
        """
        now_s = time.monotonic()  # the wall clock may be set back
        if busy_rows is None:
            self._busy_since_s = None
        elif self._busy_since_s is None:
            self._busy_since_s = now_s
        if state in _AT_ONCE or now_s - self._said_s >= _SAY_S:
            self._status = replace(
                self._status,
                state=state,
                at_ms=wall_ms(),
                rows_left=rows_left,
                busy_ms=self._busy_ms(now_s),
                busy_rows=busy_rows or 0,
                batch_ms=max(self._recent_ms, default=0),
            )
            self._status.write(self.layout)
            self._said_s = now_s

    def report_problem(self, part: str, problem: str | None) -> None:
        """Tell what is wrong with a part of the stream, here and in the log; None: nothing any more."""
        if problem == self._problems.get(part):
            return
        print(f"{part}: {'works again' if problem is None else problem}", file=sys.stderr, flush=True)
        self._problems = {name: text for name, text in (self._problems | {part: problem}).items() if text is not None}
        told = "; ".join(f"{name}: {text}" for name, text in self._problems.items())
        self._status = replace(self._status, problem=told or None)
        self._said_s = -math.inf

    def batch_written(self, batch: int, written: dict[str, pa.Table]) -> Progress:
        """Add to the status what a batch gave to the tables; returns the progress of the stream after it."""
        took_ms, self._busy_since_s = self._busy_ms(time.monotonic()), None
        if took_ms is not None:
            self._recent_ms.append(took_ms)
        metrics, old = in_ms(written["metrics"]).to_pylist(), self._status
        stands = {name: metrics[-1][name] for name in ("committed", "frontier", "t_max", "k_ms", "coverage")}
        totals = {name: getattr(old, name) + sum(row[name] for row in metrics) for name in ("rows", "late", "answers")}
        self._status = replace(old, batches=batch + 1, committed_at_ms=wall_ms(), **stands, **totals)
        return Progress.of(metrics)

    def _busy_ms(self, now_s: float) -> int | None:
        return None if self._busy_since_s is None else round((now_s - self._busy_since_s) * 1000)
