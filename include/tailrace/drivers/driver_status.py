"""The status of a query's driver: its host's view of it, and the driver's own last report."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.drivers.driver_host import Driver
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.words import counted
from tailrace.storage.status import Status


@dataclass(frozen=True)
class DriverStatus:
    """The status of a query's driver at one moment.

    Attributes
    ----------
    driver : Driver
        The host's view of it.
    reported : Status or None
        Its own last report, also after its end; None where none ever ran.
    now_ms : int
        Wall-clock time of this observation, in epoch milliseconds.
    """

    driver: Driver
    reported: Status | None
    now_ms: int

    @property
    def silent_ms(self) -> int | None:
        """Milliseconds since the driver's last report; None where there is none."""
        return None if self.reported is None else max(self.now_ms - self.reported.at_ms, 0)

    @property
    def commit_age_ms(self) -> int | None:
        """Milliseconds since the last batch was committed; None before the first one since the driver's start."""
        committed_at_ms = None if self.reported is None else self.reported.committed_at_ms
        return None if committed_at_ms is None else max(self.now_ms - committed_at_ms, 0)

    @property
    def lag_rows(self) -> int | None:
        """Number of rows that are known to be in the source and not read yet; None where there is no report."""
        return None if self.reported is None else self.reported.rows_left

    @property
    def summary(self) -> tuple[object, ...]:
        """The fields whose change a watcher logs at once."""
        return (
            self.driver.state,
            self.driver.pid,
            self.driver.exit_code,
            self.reported and (self.reported.state, self.reported.problem, self.reported.ahead is not None),
        )

    def __str__(self) -> str:
        driver, status = self.driver, self.reported
        pid = f", pid {driver.pid}" if driver.pid is not None else ""
        detail = f" ({driver.detail})" if driver.detail and not driver.alive else ""
        head = f"{driver.query}: {driver.state}{pid}{detail}"
        if status is None:
            return f"{head}; it has said nothing yet"
        age_ms, silence_ms = self.commit_age_ms, self.silent_ms or 0
        batches = counted(status.batches, "batch", "batches")
        committed_ago = "–" if age_ms is None else _seconds(age_ms)
        parts = [
            f"{status.state}, {_seconds(silence_ms)} ago",
            f"{batches}, the last one {committed_ago} ago",
            f"{counted(self.lag_rows or 0, 'row')} to read",
            f"committed up to {_time(status.committed)}",
            f"frontier {_time(status.frontier)}",
            f"K {'–' if status.k_ms is None else format_duration(status.k_ms)}",
            f"coverage {'–' if status.coverage is None else format(status.coverage, '.2%')}",
            counted(status.answers, "answer"),
            f"{status.late:,} late",
            f"{status.rows:,} accepted",
        ]
        if status.filtered:
            parts += [f"{status.filtered:,} filtered"]
        if status.quarantined:
            reasons = "" if status.rejected is None else f": {status.rejected}"
            parts += [f"{status.quarantined:,} rejected{reasons}"]
        if status.problem is not None:
            parts[:0] = [f"a problem: {status.problem}"]
        if status.busy_ms is not None:
            parts[1:1] = [f"at a batch of {counted(status.busy_rows, 'row')} for {_seconds(status.busy_ms)}"]
        parts += [] if status.ahead is None else [status.ahead]
        return f"{head}; {'; '.join(parts)}"


def _time(time_ms: int | None) -> str:
    return "–" if time_ms is None else format_time(time_ms)


def _seconds(value_ms: int) -> str:
    return f"{value_ms / 1000:.0f} s"
