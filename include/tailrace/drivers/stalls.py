"""Finds signs that a stream does not advance: its driver does not report, or the frontier stays while rows come."""

from __future__ import annotations

from collections.abc import Iterator

from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.liveness import START_S
from tailrace.ground.duration import format_time
from tailrace.ground.words import counted
from tailrace.storage.status import Status

SILENT_S = 15.0
"""Seconds without a report after which a started driver counts as silent; it reports about every second."""

STARTING_S = 60.0
"""The same for a starting driver, as Spark's start takes long."""

STILL_S = 300.0
"""Seconds without a move of the frontier, while rows come, after which a stall is reported."""

_RECENT_S = 60.0  # rows still come if the last ones came within this time


class Stalls:
    """Finds stalls in successive statuses of one driver, measured by the caller's steady clock.

    Parameters
    ----------
    hang_after_s : float
        How long a driver may be silent before it is replaced, in s.
    """

    def __init__(self, hang_after_s: float) -> None:
        self._hang_after_s = hang_after_s
        self._report: tuple[int | None, int | None] | None = None
        self._reported_s = 0.0
        self._frontier: int | None = None
        self._rows = self._rows_before = 0
        self._rows_since_s: float | None = None
        self._rows_s = 0.0
        self._is_still = False

    def observe(self, status: DriverStatus, now_s: float) -> dict[str, str]:
        """Observe the status of a living driver; return a text for each stall, by its name."""
        return dict([*self._silence(status, now_s), *self._still_frontier(status.reported, now_s)])

    def _silence(self, status: DriverStatus, now_s: float) -> Iterator[tuple[str, str]]:
        reported = status.reported
        report = status.driver.pid, None if reported is None else reported.at_ms
        if report != self._report:
            self._report, self._reported_s = report, now_s
        is_starting = reported is None or not reported.knows_its_source
        limit_s = max(self._hang_after_s, START_S) if is_starting else self._hang_after_s
        silent_s = now_s - self._reported_s
        if silent_s >= (STARTING_S if is_starting else SILENT_S):
            started = "starts, and" if is_starting else "lives, and"
            yield (
                "silence",
                f"its driver {started} has reported nothing for {silent_s:.0f} s; after {limit_s:g} s it is replaced",
            )

    def _still_frontier(self, reported: Status | None, now_s: float) -> Iterator[tuple[str, str]]:
        """Yield a stall `STILL_S` after the first row that did not move the frontier, until it moves."""
        if reported is None or not reported.knows_its_source:
            return
        if reported.frontier != self._frontier or reported.rows < self._rows:
            self._frontier, self._rows_before, self._rows_since_s, self._is_still = (
                reported.frontier,
                reported.rows,
                None,
                False,
            )
        elif reported.rows > self._rows:
            self._rows_since_s = now_s if self._rows_since_s is None else self._rows_since_s
            self._rows_s = now_s
        self._rows = reported.rows
        still_s = 0.0 if self._rows_since_s is None else now_s - self._rows_since_s
        self._is_still |= still_s >= STILL_S and now_s - self._rows_s < _RECENT_S
        if self._is_still:
            at = "nowhere yet" if self._frontier is None else format_time(self._frontier)
            rows = counted(reported.rows - self._rows_before, "row")
            yield (
                "frontier",
                f"it closes no window: {rows} came in {still_s / 60:.0f} min, and the frontier stands at {at}",
            )
