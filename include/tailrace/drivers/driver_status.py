"""How a query's driver stands, by its host and by its own word."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.drivers.driver_host import Driver
from tailrace.ground.duration import format_duration, format_time
from tailrace.storage.status import Status


@dataclass(frozen=True)
class DriverStatus:
    """How a query's driver stands.

    Attributes
    ----------
    driver : Driver
        As its host sees it.
    said : Status or None
        What it last said of itself, also after its end; None where none ever ran.
    now_ms : int
        When this was found out, by the wall clock.
    """

    driver: Driver
    reported: Status | None
    now_ms: int

    @property
    def silent_ms(self) -> int | None:
        """How long ago the driver said how it stands."""
        return None if self.reported is None else max(self.now_ms - self.reported.at_ms, 0)

    @property
    def commit_age_ms(self) -> int | None:
        """How long ago the last batch was committed; None before the first one since the driver's start."""
        at = None if self.reported is None else self.reported.committed_at_ms
        return None if at is None else max(self.now_ms - at, 0)

    @property
    def lag_rows(self) -> int | None:
        """How many rows are known to be there, and are not read yet."""
        return None if self.reported is None else self.reported.rows_left

    @property
    def summary(self) -> tuple[object, ...]:
        """What a watcher tells at once when it changes."""
        return (
            self.driver.state,
            self.driver.pid,
            self.driver.exit_code,
            self.reported and (self.reported.state, self.reported.problem),
        )

    def __str__(self) -> str:
        driver, said = self.driver, self.reported
        pid = f", pid {driver.pid}" if driver.pid is not None else ""
        detail = f" ({driver.detail})" if driver.detail and not driver.alive else ""
        head = f"{driver.name}: {driver.state}{pid}{detail}"
        if said is None:
            return f"{head}; it has said nothing yet"
        age, silent = self.commit_age_ms, self.silent_ms or 0
        parts = [
            f"{said.state}, {_seconds(silent)} ago",
            f"{said.batches:,} batches, the last one {'–' if age is None else _seconds(age)} ago",
            f"{self.lag_rows:,} rows to read",
            f"committed up to {_time(said.committed)}",
            f"frontier {_time(said.frontier)}",
            f"K {'–' if said.k_ms is None else format_duration(said.k_ms)}",
            f"coverage {'–' if said.coverage is None else format(said.coverage, '.2%')}",
            f"{said.answers:,} answers",
            f"{said.late:,} late",
        ]
        if said.busy_ms is not None:
            parts[1:1] = [f"at a batch of {said.busy_rows:,} rows for {_seconds(said.busy_ms)}"]
        parts += [] if said.problem is None else [f"a problem: {said.problem}"]
        return f"{head}; {'; '.join(parts)}"


def _time(time_ms: int | None) -> str:
    return "–" if time_ms is None else format_time(time_ms)


def _seconds(value_ms: int) -> str:
    return f"{value_ms / 1000:.0f} s"
