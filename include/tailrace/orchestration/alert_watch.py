"""Observes the conditions of a query's alerts, from the polls of its driver and from its verdict."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailrace.drivers.driver_host import Driver
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.launch import CRASH_LOOP
from tailrace.orchestration.incidents import Incidents
from tailrace.query.loading import load
from tailrace.storage.layout import Layout

LOST_AFTER_S = 30.0  # a driver host that is silent for so long: an alert is due within a minute
FRESH_MS = 15_000  # a driver that has reported within that time lives
_PROMISE_EVERY_S = 20.0  # interval between two looks at the measured errors
_AGAIN_S = 15.0  # interval between two tries, so that a receiver that hangs does not stop the watch


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
        self._down_since_s: float | None = None
        self._promise_at_s = self._failed_at_s = -math.inf

    def observe(self, status: DriverStatus | None) -> None:
        """Take in one poll of the driver; None: its host did not answer."""
        now_s = time.monotonic()
        if not self._incidents.alerts.declared() or now_s - self._failed_at_s < _AGAIN_S:
            return
        try:
            self._observe_driver(status, now_s)
            if now_s - self._promise_at_s >= _PROMISE_EVERY_S:
                self._promise_at_s = now_s
                self._observe_promise()
        except Exception as error:
            self._failed_at_s = now_s
            self._log(f"alerts: {error}")

    def _observe_driver(self, status: DriverStatus | None, now_s: float) -> None:
        if status is None:
            self._down_since_s = now_s if self._down_since_s is None else self._down_since_s
            if now_s - self._down_since_s >= LOST_AFTER_S:
                self._incidents.observe("driver_lost", True, "its driver host does not answer")
            return
        self._down_since_s = None
        reported = status.reported
        if reported is None or not status.driver.alive or (status.silent_ms or 0) > FRESH_MS:
            return
        if reported.state != "starting":
            for condition in ("driver_lost", "crash_loop"):
                self._incidents.observe(condition, False, f"a driver runs, pid {status.driver.pid}")
        lag = self._incidents.alerts.lag
        if lag is not None:
            rows = reported.rows_left
            self._incidents.observe("lag", rows > lag.rows, f"{rows:,} rows to read, {lag.rows:,} are the bound")

    def _observe_promise(self) -> None:
        from tailrace.correction.promise_state import PromiseState  # noqa: PLC0415 (Delta takes long to import)

        if self._incidents.alerts.promise_broken is None:
            return
        promise = PromiseState.read(self._layout)
        if promise.state != "unknown":
            self._incidents.observe("promise_broken", promise.state == "broken", promise.detail)


def alert_of_end(file: Path, layout: Layout, driver: Driver | None, detail: str, log: Callable[[str], Any]) -> None:
    """Notify of a driver that has ended for good though nobody asked for it; it never raises.

    Parameters
    ----------
    driver : Driver or None
        None: its host did not answer.
    """
    try:
        is_loop = driver is not None and driver.exit_code == CRASH_LOOP
        incidents = Incidents(layout, load(file).alerts, log)
        incidents.observe("crash_loop" if is_loop else "driver_lost", True, detail)
    except Exception as error:
        log(f"alerts: {error}")
