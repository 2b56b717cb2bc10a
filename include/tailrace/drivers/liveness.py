"""What a supervisor makes of what it sees of a driver, look by look. No clock, no Airflow: the times are given."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from tailrace.drivers.driver_host import Driver
from tailrace.storage.status import Status

START_S = 300.0  # a driver that has not said anything yet: Spark may have to fetch its jars first
GONE_S = 15.0  # a driver that is not there: it may be between two deployments
SLOWER = 5.0  # times the longest of the newest batches: a machine may become busy meanwhile
ROWS_A_SECOND = 20_000.0  # a batch of many rows after small ones: no machine at work reads fewer (2 M/s on a quiet one)


@dataclass(frozen=True)
class Verdict:
    """How a watch over a driver ends.

    Attributes
    ----------
    kind : str
        `ended`: it drained, or came to the end of its input. `failed`: it gave up, or no restart would help.
        `hung`: it lives, and says nothing or ends no batch. `gone`: someone stopped or removed it. `replaced`: another
        driver was deployed in its place. `unreachable`: its host is down.
    pid : int or None
        Of the driver that it is about.
    """

    kind: Literal["ended", "failed", "hung", "gone", "replaced", "unreachable"]
    detail: str
    pid: int | None = None

    def as_event(self) -> dict[str, Any]:
        return asdict(self)


class LivenessJudge:
    """Watches one driver.

    A driver hangs when it has said nothing new for `hang_after_s`, or when the batch under way has not ended for that
    time and for much longer than batches take: what reads its rows may hang while the driver itself speaks on. Both
    are measured by this watch's own time: so neither a clock that differs between machines nor a machine that slept
    makes a driver hang.

    Parameters
    ----------
    hang_after_s : float
        How long a driver may be silent, or at a batch; after a start at least five minutes, for its first word as for
        its first batch.
    patience_s : float
        How long its host may be down. The stream goes on meanwhile.
    """

    def __init__(self, hang_after_s: float, patience_s: float) -> None:
        self._hang_after_s, self._patience_s = hang_after_s, patience_s
        self._pid: int | None = None
        self._said_ms: int | None = None
        self._speaks = False
        self._silent_since: float | None = None
        self._batch: int | None = None
        self._batch_since = 0.0
        self._gone_since: float | None = None
        self._down_since: float | None = None

    def observe(self, driver: Driver | None, said: Status | None, now_s: float) -> Verdict | None:
        """Take in a look at the driver; None: go on.

        Parameters
        ----------
        driver : Driver or None
            None: its host did not answer.
        now_s : float
            By a steady clock.
        """
        if driver is None:
            self._down_since = now_s if self._down_since is None else self._down_since
            down_s = now_s - self._down_since
            return Verdict("unreachable", f"no answer for {down_s:.0f} s") if down_s >= self._patience_s else None
        self._down_since = None
        if not driver.alive:
            return self._see_dead(driver, now_s)
        self._gone_since = None
        return self._see_alive(driver, said, now_s)

    def _see_dead(self, driver: Driver, now_s: float) -> Verdict | None:
        if driver.state == "failed":
            return Verdict("failed", driver.detail, driver.pid)
        if driver.state == "ended" and driver.exit_code == 0:
            return Verdict("ended", driver.detail, driver.pid)
        self._gone_since = now_s if self._gone_since is None else self._gone_since
        return Verdict("gone", driver.detail) if now_s - self._gone_since >= GONE_S else None

    def _see_alive(self, driver: Driver, said: Status | None, now_s: float) -> Verdict | None:
        said_ms = None if said is None else said.at_ms
        if self._silent_since is None or driver.pid != self._pid:
            self._speaks, self._silent_since = False, now_s
        elif said is not None and said_ms != self._said_ms:
            self._speaks, self._silent_since = said.state != "starting", now_s  # after that word Spark starts
        self._pid, self._said_ms = driver.pid, said_ms
        silent_s, limit_s = now_s - self._silent_since, self._hang_after_s
        if driver.state == "stopping":
            return None
        if silent_s >= (limit_s if self._speaks else max(limit_s, START_S)):
            return Verdict("hung", f"it has said nothing for {silent_s:.0f} s", driver.pid)
        return self._see_batch(driver, said if self._speaks else None, now_s)

    def _see_batch(self, driver: Driver, said: Status | None, now_s: float) -> Verdict | None:
        """Whether the batch under way takes too long; none is under way for a driver that has not spoken yet."""
        batch = None if said is None or said.busy_ms is None else said.batches
        if batch != self._batch:
            self._batch, self._batch_since = batch, now_s
        if said is None or batch is None:
            return None
        busy_s = now_s - self._batch_since
        patient = said.committed_at_ms is None or not said.busy_rows  # Spark starts; or all that is open closes
        usual_s = SLOWER * said.batch_ms / 1000 + said.busy_rows / ROWS_A_SECOND
        if busy_s < max(self._hang_after_s, usual_s, START_S if patient else 0.0):
            return None
        usual = f", the longest one of late took {said.batch_ms / 1000:.1f} s" if said.batch_ms else ""
        detail = f"its batch of {said.busy_rows:,} rows has not ended for {busy_s:.0f} s{usual}"
        return Verdict("hung", detail, driver.pid)
