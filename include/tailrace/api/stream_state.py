"""The state of a query's stream, read only from its warehouse, without the driver host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tailrace.api.to_correct import ToCorrect
from tailrace.drivers.driver_host import Driver
from tailrace.drivers.driver_status import DriverStatus
from tailrace.ground.duration import format_time
from tailrace.storage.checkpoint import committed_batches
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.progress import read_newest, read_totals
from tailrace.storage.status import OVER, SILENT_MS, Status, wall_ms

COLUMNS = ("query", "state", "frontier", "late", "to correct", "answers", "rejected", "committed up to", "batches")
"""The columns of a table with a row for each stream."""


@dataclass(frozen=True)
class WarehouseStream:
    """The state of a stream.

    Attributes
    ----------
    reported : Status
        Its last report; without one, a status from its tables.
    to_correct : ToCorrect
        The late tuples that wait for a correction.
    now_ms : int
        The wall-clock time of this observation, in epoch milliseconds.
    """

    name: str
    reported: Status
    to_correct: ToCorrect
    now_ms: int

    @staticmethod
    def read(layout: Layout) -> WarehouseStream:
        """Read the state of a stream that has begun."""
        reported, now_ms = Status.read(layout) or _of_tables(layout), wall_ms()
        return WarehouseStream(layout.home.name, reported, ToCorrect.read(layout), now_ms)

    @property
    def is_running(self) -> bool:
        """Whether a process has reported within a minute, without reporting its end."""
        return self.reported.state not in OVER and self.now_ms - self.reported.at_ms < SILENT_MS

    @property
    def state(self) -> str:
        return "running" if self.is_running else "not running"

    def lines(self) -> Iterator[str]:
        """Yield the known facts about the stream, a short line for each."""
        yield from (f"WARNING: {problem}" for problem in self.reported.problems)
        yield f"{self.name}: {self.state}"
        yield from DriverStatus(Driver(self.name, "absent", None, None, ""), self.reported, self.now_ms).facts()
        yield from self.to_correct.lines()

    def row(self) -> list[str]:
        """Return the cells of its row in a table of `COLUMNS`."""
        reported = self.reported
        frontier, committed = (
            "–" if time is None else format_time(time)[:19] for time in (reported.frontier, reported.committed)
        )
        counts = reported.late, self.to_correct.late, reported.answers, reported.quarantined
        return [
            self.name,
            self.state,
            frontier,
            *(f"{count:,}" for count in counts),
            committed,
            f"{reported.batches:,}",
        ]


def _of_tables(layout: Layout) -> Status:
    """Return a status from a stream's tables, for a stream without a report, such as after a restore."""
    batches, tables = committed_batches(layout), OpenedTables(layout)
    totals: dict[str, Any] = read_totals(tables, batches)
    return Status("drained", 0, 0, 0, batches, **read_newest(tables, batches), **totals)
