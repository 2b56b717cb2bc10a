"""Observes the conditions of a query's alerts, in each poll of its driver and in the verdict on it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace.drivers.driver_host import Driver
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.launch import CRASH_LOOP
from tailrace.ground.duration import ms
from tailrace.orchestration.incidents import Incidents, Undelivered
from tailrace.query.loading import load
from tailrace.storage.layout import Layout
from tailrace.storage.status import OVER, Status

if TYPE_CHECKING:
    from tailrace.correction.promise_state import PromiseReader

LOST_AFTER_S = 30.0  # how long a driver host may be silent: an alert is due within a minute
FRESH_MS = 15_000  # a driver that has reported within this time lives
PROMISE_EVERY_S = 20.0  # interval between two looks at the measured errors
PAUSES_S = (5.0, 10.0, 20.0, 40.0, 80.0)
CALM_S = 60.0  # a lag is over after this time within its bound
_AGAIN_S = 15.0  # interval between tries, so that a hanging receiver does not stop the watch


class AlertWatch:
    """Observes the conditions while a driver is watched; it never raises.

    Parameters
    ----------
    log : callable
        Called with each line about alerts.
    """

    def __init__(self, file: Path, layout: Layout, log: Callable[[str], Any]) -> None:
        self._layout, self._log = layout, log
        self._incidents = Incidents(layout, load(file).alerts, log)
        self._incidents.forget_undeclared()
        self._down_since_s: float | None = None
        self._promise: PromiseReader | None = None
        self._promise_at_s = self._failed_at_s = -math.inf
        self._lag_at_s = time.monotonic()  # unknown at first; a lag reported by an earlier watch ends after a while

    def observe(self, status: DriverStatus | None) -> None:
        """Handle one poll of the driver; None where its host did not answer."""
        now_s = time.monotonic()
        if not self._incidents.alerts.declared() or now_s - self._failed_at_s < _AGAIN_S:
            return
        try:
            self._observe_driver(status, now_s)
            if now_s - self._promise_at_s >= PROMISE_EVERY_S:
                self._promise_at_s = now_s
                self._observe_promise()
        except Exception as error:
            self._failed_at_s = now_s
            self._log(f"alerts: {error}")

    def _observe_driver(self, status: DriverStatus | None, now_s: float) -> None:
        if status is None:
            self._down_since_s = now_s if self._down_since_s is None else self._down_since_s
            if now_s - self._down_since_s >= LOST_AFTER_S:
                self._echo("driver_lost", True, "its driver host does not answer")
            return
        self._down_since_s = None
        reported = status.reported
        if reported is None or not status.driver.alive or (status.silent_ms or 0) > FRESH_MS:
            return
        if not reported.knows_its_source:
            return
        for condition in ("driver_lost", "crash_loop"):
            self._echo(condition, False, f"a driver runs, pid {status.driver.pid}")
        lag = self._incidents.alerts.lag
        if lag is not None and status.lag_rows is not None:
            self._observe_lag(status.lag_rows, lag.rows, now_s)
        place = self._incidents.alerts.place_away
        if place is not None:
            self._observe_places(reported, ms(place.after))

    def _observe_lag(self, rows: int, bound: int, now_s: float) -> None:
        """Observe the lag, which is over when it was within the bound for a while.

        So a lag that varies about the bound is one incident.
        """
        if rows > bound:
            self._lag_at_s = now_s
        if rows > bound or now_s - self._lag_at_s >= CALM_S:
            self._echo("lag", rows > bound, f"{rows:,} rows to read, {bound:,} are the bound")

    def _observe_places(self, reported: Status, after_ms: int) -> None:
        """Observe whether a target takes no answers; this is over once each has taken some from the same driver."""
        if reported.state in OVER:
            return
        if not reported.away:
            self._echo("place_away", False, "every place takes answers")
        elif problems := reported.away_problems(after_ms):
            held = ["the stream is held by it"] if reported.state == "held" else []
            self._echo("place_away", True, "; ".join([*problems, *held]))

    def _echo(self, condition: str, is_active: bool, detail: str) -> None:
        """Report an observation; if an alert can't be sent, the others still are."""
        try:
            self._incidents.observe(condition, is_active, detail)
        except Undelivered:
            self._failed_at_s = time.monotonic()

    def _observe_promise(self) -> None:
        from tailrace.correction.promise_state import PromiseReader  # noqa: PLC0415 (Delta takes long to import)

        if self._incidents.alerts.promise_broken is None:
            return
        self._promise = self._promise or PromiseReader(self._layout)
        promise = self._promise.read()
        if promise.state != "unknown":
            self._echo("promise_broken", promise.state == "broken", promise.detail)


def alert_of_end(file: Path, layout: Layout, driver: Driver | None, detail: str, log: Callable[[str], Any]) -> None:
    """Notify that a driver has ended for good without a request; never raise.

    Retry a failed delivery after `PAUSES_S`, as nobody watches any more afterwards.

    Parameters
    ----------
    driver : Driver or None
        None where its host did not answer.
    """
    is_loop = driver is not None and driver.exit_code == CRASH_LOOP
    for pause_s in (*PAUSES_S, None):
        try:
            incidents = Incidents(layout, load(file).alerts, log)
            incidents.observe("crash_loop" if is_loop else "driver_lost", True, detail)
        except Undelivered:
            if pause_s is not None:
                time.sleep(pause_s)
                continue
        except Exception as error:
            log(f"alerts: {error}")
        return
