"""What a driver sees and says of itself while it runs."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import pyarrow as pa

from tailrace.spark.layout import Layout
from tailrace.spark.status import State, Status, wall_ms
from tailrace.spark.tables import in_ms

_SAY_MS = 1000


@dataclass
class Watch:
    """Keeps `status.json`, and looks for the wish to drain; one that was there before this driver is none to it."""

    layout: Layout

    def __post_init__(self) -> None:
        self.layout.stream.mkdir(parents=True, exist_ok=True)
        self.layout.drain.unlink(missing_ok=True)
        now = wall_ms()
        self._status = Status("starting", os.getpid(), now, 0, 0)
        self.say("starting")

    @property
    def drains(self) -> bool:
        return self.layout.drain.exists()

    def say(self, state: State, rows_left: int = 0) -> None:
        """Say how it stands, if that was not just said."""
        now = wall_ms()
        if state in ("drained", "ended") or now - self._status.at_ms >= _SAY_MS:
            self._status = replace(self._status, state=state, at_ms=now, rows_left=rows_left)
            self._status.write(self.layout)

    def see(self, batch: int, written: dict[str, pa.Table]) -> int | None:
        """Take in what a batch gave to the tables; returns the arrival time up to which all is taken in."""
        metrics, old = in_ms(written["metrics"]).to_pylist(), self._status
        stands = {name: metrics[-1][name] for name in ("committed", "frontier", "t_max", "k_ms", "coverage")}
        totals = {name: getattr(old, name) + sum(row[name] for row in metrics) for name in ("rows", "late", "answers")}
        self._status = replace(old, batches=batch + 1, committed_at_ms=wall_ms(), **stands, **totals)
        return self._status.committed
