"""Reports the status of a running driver in `status.json`, and polls for drain requests."""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tailrace.engine.progress import Progress
from tailrace.ground import json_log
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.errors import Refused
from tailrace.ground.interruptions import is_interruption
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.storage.layout import Layout
from tailrace.storage.progress import NEWEST, TOTALS, read_newest, read_totals
from tailrace.storage.rejections import Rejections
from tailrace.storage.status import OVER, State, Status, wall_ms
from tailrace.storage.tables import COMPACT_EVERY, Tables
from tailrace.stream.activity_log import ActivityLog
from tailrace.stream.failures import Failure
from tailrace.stream.recent_records import RecentRecords
from tailrace.stream.run_options import RunOptions

AWAITED = "awaited source"
"""Name under which the status reports that a stream's source lacks records that may still come."""

WRITE_EVERY_S = 1.0
_WRITTEN_AT_ONCE = ("starting", *OVER)  # no report may follow for a long time
_IDLE_S = 60.0  # time without a row to read after which a stream is idle
_RECENT = 2 * COMPACT_EVERY + 1  # batches whose durations are compared with the next; some compact tables
_FAR_AHEAD_MS = 60_000  # an event time that is further ahead of arrival is worth a line
_REASONS = 3  # for rejected records, in a status
_LAUNCHED = "TAILRACE_DRIVER"  # environment variable of a driver host's processes: `MARK` of drivers/fence.py


@dataclass
class StatusReporter:
    """Writes `status.json`, and polls for a drain request.

    A run in the foreground removes a request that is older than itself. On a driver host the deployment does that; the
    driver keeps the request, which applies to all its restarts.

    Attributes
    ----------
    grace_s : float
        The time that the running batch has after a drain request to a run in the foreground.
    activity : ActivityLog or None
        Takes every status that is written; None for a run that is not live, or that has no tables yet.
    """

    layout: Layout
    grace_s: float = RunOptions().grace_s
    activity: ActivityLog | None = None

    def __post_init__(self) -> None:
        self.layout.stream.mkdir(parents=True, exist_ok=True)
        self._foreground = _LAUNCHED not in os.environ
        self._drain_seen_s: float | None = None
        self._drain, self._drain_due_s = False, -math.inf
        if self._foreground:
            self.layout.drain.unlink(missing_ok=True)
        now = wall_ms()
        self._problems: dict[str, str | None] = {}
        self._ends_ms: dict[str, int] = {}  # by part: the time at which the driver ends because of its problem
        self._rejections, self._recent = Rejections(), RecentRecords()
        self._written_s, self._status = 0.0, Status("starting", os.getpid(), now, now, 0, since_ms=now)
        self._busy_since_s: float | None = None
        self._committed_s: float | None = None
        self._rows_s: float | None = None  # the last time at which there were rows to read
        self._furthest: tuple[int, str] | None = None  # the event time furthest ahead of arrival, and its position
        self._recent_ms: deque[int] = deque(maxlen=_RECENT)
        json_log.name(query=self.layout.home.name)
        self.report("starting")

    @property
    def drain_requested(self) -> bool:
        """Whether the driver was asked to drain; an object store is asked at most once a second."""
        now_s = time.monotonic()
        if not self.layout.is_remote or now_s >= self._drain_due_s:
            self._drain_due_s = now_s + WRITE_EVERY_S
            with nullcontext() if not self.layout.is_remote else suppress(OSError):  # a store may be away for a while
                self._drain = self.layout.drain.exists()
        return self._drain

    @property
    def is_overdue(self) -> bool:
        """Whether a drain request is so old that the running batch must be hanging.

        On a driver host the requester ends such a driver.
        """
        if not (self._foreground and self.drain_requested):
            return False
        now_s = time.monotonic()
        self._drain_seen_s = now_s if self._drain_seen_s is None else self._drain_seen_s
        return now_s - self._drain_seen_s >= self.grace_s

    def starting(self, batches: int) -> None:
        """Report that the driver starts, with the number of committed batches, their totals and progress."""
        tables = Tables(self.layout)
        totals: dict[str, Any] = read_totals(tables, batches)
        self._rejections = Rejections.read(self.layout) if totals["quarantined"] else Rejections()
        newest = read_newest(tables, batches)  # the next batch may take long
        self._status = replace(self._status, batches=batches, **self._rejected, **totals, **newest)
        self.report("starting")

    def report(self, state: State, rows_left: int = 0, busy_rows: int | None = None) -> None:
        """Write the status, at most once a second unless the state must be known at once.

        Parameters
        ----------
        busy_rows : int, optional
            The number of rows of the running batch; None between two batches.
        """
        now_s = time.monotonic()  # the wall clock may be set back
        if busy_rows is None:
            self._busy_since_s = None
        elif self._busy_since_s is None:
            self._busy_since_s = now_s
        if busy_rows or rows_left:
            self._rows_s = now_s
        if state in _WRITTEN_AT_ONCE or now_s - self._written_s >= WRITE_EVERY_S:
            at_ms = wall_ms()
            age_ms = None if self._committed_s is None else round((now_s - self._committed_s) * 1000)
            self._change(
                state=state,
                at_ms=at_ms,
                committed_at_ms=None if age_ms is None else at_ms - age_ms,
                rows_left=rows_left,
                busy_ms=self._busy_ms(now_s),
                busy_rows=busy_rows or 0,
                batch_ms=max(self._recent_ms, default=0),
                is_idle=self._rows_s is None or now_s - self._rows_s >= _IDLE_S,
            )
            self._write(now_s)

    @contextmanager
    def until_stopped(self) -> Iterator[None]:
        """Report that the driver has ended if an exception ends the block, unless another driver reports by now.

        The reason of a failure replaces all earlier problems, as some may be over.
        """
        try:
            yield
        except BaseException as error:
            with suppress(Exception):
                last = Status.read(self.layout)
                mine = self._status
                is_last = last is None or (last.pid, last.started_ms) == (mine.pid, mine.started_ms)
                if is_last and mine.state not in OVER:
                    if not (is_interrupted := is_interruption(error)):
                        reason = str(error) if isinstance(error, Refused) else Failure.classify(error).reason
                        self._change(problem=reason or None, is_awaiting=False, gives_up_ms=None)
                    self.report("interrupted" if is_interrupted else "failed", mine.rows_left)
            raise

    def report_alive(self) -> None:
        """Repeat the last status, at most once a second, during long operations of the driver."""
        if time.monotonic() - self._written_s >= WRITE_EVERY_S:
            self._status = replace(self._status, at_ms=wall_ms())
            self._write(time.monotonic())

    def _write(self, now_s: float) -> None:
        self._status.write(self.layout)
        self._written_s = now_s
        if self.activity is not None:
            self.activity.observe(self._status)

    def report_problem(self, part: str, problem: str | None, gives_up_in_s: float | None = None) -> None:
        """Log a problem of a part of the stream, and put it into the next status; None means that it is over.

        Parameters
        ----------
        gives_up_in_s : float, optional
            The time after which the driver gives up on this problem.
        """
        if problem == self._problems.get(part):
            return
        print(f"{part}: {'works again' if problem is None else problem}", file=sys.stderr, flush=True)
        self._problems = {name: text for name, text in (self._problems | {part: problem}).items() if text is not None}
        problems = "\n".join(f"{name}: {text}" for name, text in self._problems.items())
        is_awaiting = set(self._problems) == {AWAITED}
        self._ends_ms = {name: ms for name, ms in self._ends_ms.items() if name in self._problems and name != part}
        if gives_up_in_s is not None:
            self._ends_ms[part] = wall_ms() + round(gives_up_in_s * 1000)
        self._change(
            problem=problems or None,
            is_awaiting=is_awaiting,
            gives_up_ms=min(self._ends_ms.values(), default=None),
        )
        self._written_s = -math.inf

    def place_away(self, part: str, is_away: bool = True) -> None:
        """Add to the next status that a delivery target takes no answers, or takes them again.

        A target that has not taken any since the driver's start counts as away, so that a restart ends no outage.

        Parameters
        ----------
        part : str
            The part whose problem the status shows.
        """
        others = {name: ms for name, ms in self._status.away.items() if name != part}
        since_ms = self._status.away.get(part, wall_ms())
        self._change(away=others | ({part: since_ms} if is_away else {}))

    @property
    def committed(self) -> int | None:
        """The arrival time up to which everything was processed, in ms."""
        return self._status.committed

    def delivered(self, place: str, committed: int | None) -> None:
        """Report that a target has the answers up to an arrival time, in ms; None if no batch has been committed."""
        if committed is not None:
            self._status = replace(self._status, delivered=self._status.delivered | {place: committed})

    def batch_written(
        self, batch: int, metrics: Sequence[dict[str, Any]], written: Mapping[str, pa.Table], tasks: int = 0
    ) -> Progress:
        """Add a batch's metrics, times in ms, to the status; return the progress of the stream after it.

        `tasks` is the new number of tasks, if it has changed.
        """
        self._committed_s = time.monotonic()
        took_ms, self._busy_since_s = self._busy_ms(self._committed_s), None
        if took_ms is not None:
            self._recent_ms.append(took_ms)
        if self.activity is not None:
            self.activity.batch_took(took_ms)
        old = self._status
        progress = {name: metrics[-1][name] for name in NEWEST}
        ahead = self._event_ahead(metrics[-1], written.get("segments"))
        counts = {name: [row[name] for row in metrics] for name in TOTALS["metrics"]}
        counts |= {name: written["segments"][name].to_pylist() for name in TOTALS["segments"] if "segments" in written}
        totals: dict[str, Any] = {name: getattr(old, name) + sum(of_parts) for name, of_parts in counts.items()}
        if "quarantine" in written:
            self._rejections.add(written["quarantine"])
            totals |= self._rejected
        of_batch = {name: sum(of_parts) for name, of_parts in counts.items()}
        self._recent.add(of_batch["rows"], of_batch.get("quarantined", 0), self._committed_s)
        totals |= self._recent.counts
        self._status = replace(
            old, batches=batch + 1, committed_at_ms=wall_ms(), ahead=ahead, tasks=tasks, **progress, **totals
        )
        json_log.write_event("batch", batch=batch, took_ms=took_ms, **of_batch, **progress)
        return Progress.from_metrics(metrics)

    def _change(self, **changes: Any) -> None:
        """Change the status; its phase begins now, but an idle phase began after the last rows."""
        old, new = self._status, replace(self._status, **changes)
        if new.phase != old.phase:
            since_ms = wall_ms()
            if (old.phase, new.phase) == ("running", "idle") and self._rows_s is not None:
                rows_ms = since_ms - round((time.monotonic() - self._rows_s) * 1000)
                since_ms = max(rows_ms, old.since_ms)
            new = replace(new, since_ms=since_ms)
        self._status = new

    @property
    def _rejected(self) -> dict[str, Any]:
        lines, reasons = (list(self._rejections.lines(_REASONS, examples)) for examples in (True, False))
        return {"rejected": "; ".join(lines) or None, "rejected_for": "; ".join(reasons) or None}

    def _event_ahead(self, metrics: Mapping[str, Any], segments: pa.Table | None) -> str | None:
        """Describe the event time furthest ahead of arrival; None if none is far ahead. `metrics` are the batch's."""
        newest_ms, reached = metrics["newest_event"], [ms for ms in metrics["reached"] or () if ms is not None]
        if newest_ms is None or not reached or newest_ms - max(reached) < _FAR_AHEAD_MS:
            return None
        if segments is not None and segments.num_rows and (self._furthest is None or newest_ms > self._furthest[0]):
            row = max(
                segments.to_pylist(), key=lambda one: BEFORE_ALL if one["max_event"] is None else one["max_event"]
            )
            rows = f"rows {row['first_row']} to {row['first_row'] + row['rows'] - 1} of {row['path']}"
            self._furthest = newest_ms, f" (stream {row['stream']}, {rows})"
        place = self._furthest[1] if self._furthest and self._furthest[0] == newest_ms else ""
        gap = format_duration((newest_ms - max(reached)) // _FAR_AHEAD_MS * _FAR_AHEAD_MS)
        what = f"an event time of {format_time(newest_ms)}{place} is {gap} ahead of arrival, which has reached "
        return f"{what}{format_time(max(reached))}: it moves the frontier no further than arrival comes"

    def _busy_ms(self, now_s: float) -> int | None:
        return None if self._busy_since_s is None else round((now_s - self._busy_since_s) * 1000)
