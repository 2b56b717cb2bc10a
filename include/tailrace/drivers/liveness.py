"""Liveness detection: a verdict on a driver from successive observations. No clock, no Airflow: times are arguments."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from tailrace.drivers.driver_host import Driver
from tailrace.ground.words import counted
from tailrace.storage.status import OVER, Status

START_S = 300.0  # for a driver without a report yet, as Spark may have to fetch jars first
GONE_S = 15.0  # for a missing driver, which may be between two deployments
SLOWER = 5.0  # multiple of the longest of the newest batches, as the machine may have become busy since
ROWS_A_SECOND = 20_000.0  # for a large batch after small ones: any working machine reads more (a quiet one reads 2 M/s)


@dataclass(frozen=True)
class LivenessVerdict:
    """The result that ends a watch over a driver.

    Attributes
    ----------
    kind : str
        `ended`: it drained, or reached the end of its input. `failed`: it gave up, or no restart would help. `hung`: it
        lives, but reports nothing or finishes no batch. `gone`: someone stopped or removed it. `replaced`: another
        driver was deployed in its place. `unreachable`: its host is down.
    pid : int or None
        Process id of the driver that the verdict is about.
    """

    kind: Literal["ended", "failed", "hung", "gone", "replaced", "unreachable"]
    detail: str
    pid: int | None = None

    def as_event(self) -> dict[str, Any]:
        return asdict(self)


class LivenessJudge:
    """Judges from successive observations whether one driver lives, hangs, is over, or unreachable.

    A driver hangs when it has not reported for `hang_after_s`. It also hangs when the current batch has run for that
    time, and for much longer than batches usually take: readers may hang while the driver still reports. Both are
    measured by the caller's steady clock, so neither different clocks of machines nor a suspended machine make a driver
    look hung.

    Parameters
    ----------
    hang_after_s : float
        Seconds that a driver may be silent or work on one batch; after a start at least five minutes, both for its
        first report and its first batch.
    patience_s : float
        Seconds that its host may be down, while the stream continues.
    """

    def __init__(self, hang_after_s: float, patience_s: float) -> None:
        self._hang_after_s, self._patience_s = hang_after_s, patience_s
        self._pid: int | None = None
        self._report_ms: int | None = None
        self._has_started = False
        self._silent_since: float | None = None
        self._batch_number: int | None = None
        self._batch_since = 0.0
        self._gone_since: float | None = None
        self._down_since: float | None = None

    def observe(self, driver: Driver | None, status: Status | None, now_s: float) -> LivenessVerdict | None:
        """Add an observation of the driver; return a verdict, or None to continue.

        Parameters
        ----------
        driver : Driver or None
            None where its host did not answer.
        now_s : float
            Seconds of a steady clock.
        """
        if driver is None:
            self._down_since = now_s if self._down_since is None else self._down_since
            down_s = now_s - self._down_since
            return (
                LivenessVerdict("unreachable", f"no answer for {down_s:.0f} s") if down_s >= self._patience_s else None
            )
        self._down_since = None
        if not driver.alive:
            return self._judge_dead(driver, now_s)
        self._gone_since = None
        return self._judge_alive(driver, status, now_s)

    def _judge_dead(self, driver: Driver, now_s: float) -> LivenessVerdict | None:
        if driver.state == "failed":
            return LivenessVerdict("failed", driver.detail, driver.pid)
        if driver.state == "ended" and driver.exit_code == 0:
            return LivenessVerdict("ended", driver.detail, driver.pid)
        self._gone_since = now_s if self._gone_since is None else self._gone_since
        return LivenessVerdict("gone", driver.detail) if now_s - self._gone_since >= GONE_S else None

    def _judge_alive(self, driver: Driver, status: Status | None, now_s: float) -> LivenessVerdict | None:
        report_ms = None if status is None else status.at_ms
        if self._silent_since is None or driver.pid != self._pid:
            self._has_started, self._silent_since = False, now_s
        elif status is not None and report_ms != self._report_ms:
            is_at_work = status.state not in ("starting", *OVER)  # Spark starts after that report
            self._has_started = is_at_work or (self._has_started and status.state != "starting")
            self._silent_since = now_s
        self._pid, self._report_ms = driver.pid, report_ms
        silent_s, limit_s = now_s - self._silent_since, self._hang_after_s
        if driver.state == "stopping":
            return None
        if silent_s >= (limit_s if self._has_started else max(limit_s, START_S)):
            return LivenessVerdict("hung", f"it has said nothing for {silent_s:.0f} s", driver.pid)
        return self._judge_batch(driver, status if self._has_started else None, now_s)

    def _judge_batch(self, driver: Driver, status: Status | None, now_s: float) -> LivenessVerdict | None:
        """Return the verdict on a batch that takes too long; a starting driver has no batch."""
        batch_number = None if status is None or status.busy_ms is None else status.batches
        if batch_number != self._batch_number:
            self._batch_number, self._batch_since = batch_number, now_s
        if status is None or batch_number is None:
            return None
        busy_s = now_s - self._batch_since
        if busy_s < max(self._hang_after_s, longest_batch_s(status)):
            return None
        comparison = f", the longest one of late took {status.batch_ms / 1000:.1f} s" if status.batch_ms else ""
        detail = f"its batch of {counted(status.busy_rows, 'row')} has not ended for {busy_s:.0f} s{comparison}"
        return LivenessVerdict("hung", detail, driver.pid)


def longest_batch_s(status: Status) -> float:
    """Return how long the current batch may take, in s, before its driver counts as hung."""
    may_be_slow = status.committed_at_ms is None or not status.busy_rows  # Spark starts, or all windows close
    expected_s = SLOWER * status.batch_ms / 1000 + status.busy_rows / ROWS_A_SECOND
    return max(expected_s, START_S if may_be_slow else 0.0)
