"""The activity of a live stream over time: an observation of its status every minute, in the table `activity`.

People look at it later, and nothing depends on it: a driver that can't write the table goes on, and tries again with
    the next observation.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, NamedTuple

from tailrace.ground.background import Background
from tailrace.storage.status import OVER, Status
from tailrace.storage.tables import COMPACT_EVERY, Tables
from tailrace.tables.stream import ACTIVITY

TABLE = ACTIVITY.name
KEPT_MS = 30 * 86_400_000
"""How long observations are kept; they are removed at a compaction."""

_EVERY_MS = 60_000
_SOONER_MS = 10_000  # after the previous observation if the state has changed: a problem may come and go each second
_MOST_PENDING = 1_440  # observations that wait for a table that can't be written; the oldest ones are dropped
END_S = 5.0  # for the last observation of a driver to be written
_ALIKE = {"streaming": "at work", "waiting": "at work"}
_COPIED = ("state", "problem", "committed", "frontier")
_TOTALS = ("batches", "rows", "late", "quarantined", "answers", "rows_left")


class Usage(NamedTuple):
    """What the processes of a driver have used: CPU time since their start, ms, and resident memory, bytes."""

    cpu_ms: int | None
    memory: int | None

    @staticmethod
    def read() -> Usage:
        """Measure this process, the ancestors in its process group, such as `spark-submit`, and all their children.

        Both are None without psutil, and where the system does not report them.
        """
        try:
            psutil: Any = import_module("psutil")  # of the extra airflow
        except ModuleNotFoundError:
            return Usage(None, None)
        cpu_s, memory = 0.0, 0
        try:
            root = psutil.Process()
            with suppress(psutil.Error, OSError):
                while (parent := root.parent()) is not None and os.getpgid(parent.pid) == os.getpgid(0):
                    root = parent
            for process in [root, *root.children(recursive=True)]:
                with suppress(psutil.Error):  # it may have ended meanwhile
                    cpu_s, memory = cpu_s + sum(process.cpu_times()[:4]), memory + process.memory_info().rss
        except (psutil.Error, OSError):
            return Usage(None, None)
        return Usage(round(cpu_s * 1000), memory)


@dataclass
class ActivityLog:
    """Writes the observations of one driver in a separate thread, as a table may be slow.

    Parameters
    ----------
    usage : callable
        Measures the processes of the driver.
    """

    tables: Tables
    usage: Callable[[], Usage] = Usage.read
    _pending: list[dict[str, Any]] = field(default_factory=list)
    _in_hand: list[dict[str, Any]] = field(default_factory=list)  # what the thread writes
    _writing: Background[None] | None = None
    _last: tuple[int, tuple[object, ...]] | None = None
    _longest_ms: int | None = None
    _fault: str | None = None

    def batch_took(self, took_ms: int | None) -> None:
        """Count a batch for the next observation."""
        self._longest_ms = max((ms for ms in (self._longest_ms, took_ms) if ms is not None), default=None)

    def observe(self, status: Status) -> None:
        """Add an observation if one is due; the last one of a driver is awaited for a moment, until it is written."""
        phase = (_ALIKE.get(status.state, status.state), status.problem)
        if not self._is_due(status, phase):
            return
        self._last = status.at_ms, phase
        self._pending = [*self._pending, self._row(status)][-_MOST_PENDING:]
        self._write()
        if status.state in OVER:
            self._finish(time.monotonic() + END_S)

    def _finish(self, end_s: float) -> None:
        """Wait briefly until all is written; begin no write that nobody would wait for."""
        while self._writing is not None and self._writing.wait(max(end_s - time.monotonic(), 0.0)):
            self._end(self._writing)
            if self._fault is not None:
                return
            self._write()

    def _is_due(self, status: Status, phase: tuple[object, ...]) -> bool:
        if self._last is None:
            return True
        last_ms, last_phase = self._last
        if status.state in OVER:
            return phase != last_phase
        least_ms = _EVERY_MS if phase == last_phase else _SOONER_MS
        return not 0 <= status.at_ms - last_ms < least_ms  # the wall clock may be set back

    def _row(self, status: Status) -> dict[str, Any]:
        self.batch_took(status.busy_ms)
        row = {"made_at": status.at_ms, "started_at": status.started_ms, "batch_ms": self._longest_ms}
        row |= {name: getattr(status, name) for name in _COPIED}
        row |= {name: getattr(status, name) if status.knows_its_source else None for name in _TOTALS}
        row |= {"rows_left": None} if status.hides_rows else {}
        self._longest_ms = None
        return row | self.usage()._asdict()

    def _write(self) -> None:
        """Begin to write what is pending, unless the thread is still writing."""
        if self._writing is not None:
            if not self._writing.wait(0):
                return
            self._end(self._writing)
        if self._pending:
            rows = self._in_hand = self._pending
            self._pending = []
            self._writing = Background(lambda: self._append(rows), TABLE)

    def _append(self, rows: list[dict[str, Any]]) -> None:
        self.tables.create({TABLE: ACTIVITY.schema()})
        self.tables.add(TABLE, ACTIVITY.table(rows))
        self._in_hand = []
        if self.tables.open(TABLE).version() % COMPACT_EVERY == 0:  # counted over all drivers
            oldest = datetime.fromtimestamp((rows[-1]["made_at"] - KEPT_MS) / 1000, UTC)
            self.tables.open(TABLE).delete(f"made_at < '{oldest:%Y-%m-%dT%H:%M:%SZ}'")
            self.tables.compact((TABLE,))

    def _end(self, writing: Background[None]) -> None:
        """Return observations that could not be written to the pending ones, and print the reason once."""
        try:
            writing.result()
            fault = None
        except Exception as error:
            fault = str(error).split("\n")[0] or type(error).__name__
            self._pending = [*self._in_hand, *self._pending][-_MOST_PENDING:]
        if fault is not None and self._fault is None:
            print(f"{TABLE}: it can't be written, and is tried again: {fault}", file=sys.stderr, flush=True)
        self._writing, self._fault = None, fault
