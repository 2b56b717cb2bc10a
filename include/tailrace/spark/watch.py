"""What a driver sees and says of itself while it runs."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import pandas as pd
import pyarrow as pa

from tailrace.spark.layout import Layout
from tailrace.spark.status import State, Status, wall_ms

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
        metrics, old = written["metrics"].to_pandas(), self._status
        now = metrics.iloc[-1]
        committed = _ms(now["committed"])
        self._status = replace(
            old,
            batches=batch + 1,
            committed_at_ms=wall_ms(),
            committed=committed,
            frontier=_ms(now["frontier"]),
            t_max=_ms(now["t_max"]),
            k_ms=int(now["k_ms"]),
            coverage=None if pd.isna(now["coverage"]) else float(now["coverage"]),
            rows=old.rows + int(metrics["rows"].sum()),
            late=old.late + int(metrics["late"].sum()),
            answers=old.answers + int(metrics["answers"].sum()),
        )
        return committed


def _ms(time: pd.Timestamp) -> int | None:
    return None if pd.isna(time) else time.value // 1_000_000
