"""Warnings about a driver for the log of its watch: it died, has a problem, rejects records, or breaks its promise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.drivers import edits
from tailrace.drivers.conditions import Conditions, Line
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.stalls import Stalls
from tailrace.ground.words import counted
from tailrace.storage.layout import Layout

if TYPE_CHECKING:
    from tailrace.correction.promise_state import PromiseReader

PROMISE_EVERY_S = 20.0
"""Interval between looks at the table `quality`, which is read only if it has a new version."""

_REJECTS_EVERY_S = 60.0
_GOES_ON = "    other records may fit, so the driver goes on, and supervise watches on: mark it to end the stream"


class DriverWarnings:
    """Finds problems in successive statuses of one driver; warns of each once, and reports its end.

    Parameters
    ----------
    file : Path
        The query file.
    hang_after_s, patience_s : float
        How long the driver may be silent before it is replaced, and its host unreachable before the watch fails, in s.

    Attributes
    ----------
    promise : list of str
        A line about the promise, empty while it is unknown.
    """

    def __init__(self, layout: Layout, file: Path, hang_after_s: float = 60.0, patience_s: float = 1800.0) -> None:
        self._layout, self._file, self._patience_s = layout, file, patience_s
        self._conditions, self._stalls = Conditions(), Stalls(hang_after_s)
        self._pid: int | None = None
        self._is_dead = False
        self._rejected, self._accepted, self._rejects_due_s = 0, 0, 0.0
        self.promise: list[str] = []
        self._promise: dict[str, str] = {}
        self._promise_due_s = -math.inf
        self._reader: PromiseReader | None = None

    def observe(self, status: DriverStatus, now_s: float) -> list[Line]:
        """Return the lines about a status, warnings first; `now_s` is of a steady clock."""
        events = [self._death(status), self._rejects(status, now_s)]
        problems = status.problems | self._broken_promise(now_s)
        if status.driver.alive and status.driver.state != "stopping":
            problems |= self._stalls.observe(status, now_s)
        named = {key: f"{status.driver.query}: {text}" for key, text in problems.items()} | self._edited()
        is_known = status.driver.alive and status.reported is not None and status.reported.knows_its_source
        conditions = self._conditions.observe(named, is_known)
        return [*(Line(event, is_warning=True) for event in events if event is not None), *conditions]

    def host_away(self, why: str) -> list[Line]:
        """Return the lines that are due when the driver host does not answer, so that nothing else is known."""
        name, minutes = self._layout.home.name, self._patience_s / 60
        fault = f"{name}: the driver host does not answer; a driver that lives goes on: {why}"
        outcome = f"    if that lasts for {minutes:.0f} min, supervise fails, and leaves the stream as it is"
        return self._conditions.observe({"host": f"{fault}\n{outcome}"}, may_end=False)

    def _death(self, status: DriverStatus) -> str | None:
        driver = status.driver
        if self._pid is None or not driver.alive or driver.state == "stopping" or driver.pid == self._pid:
            self._pid = driver.pid if driver.alive else None
            return None
        if driver.pid is None:
            if self._is_dead:
                return None
            self._is_dead = True
            return f"{driver.query}: its driver died, pid {self._pid}: {driver.detail}"
        died = "" if self._is_dead else f" died, pid {self._pid}, and"
        self._pid, self._is_dead = driver.pid, False
        return f"{driver.query}: its driver{died} was started again, pid {driver.pid}"

    def _rejects(self, status: DriverStatus, now_s: float) -> str | None:
        reported = status.reported
        if reported is None or not reported.knows_its_source:
            return None
        new, accepted = reported.quarantined - self._rejected, reported.rows - self._accepted
        if new <= 0:
            self._accepted = reported.rows
        if new <= 0 or now_s < self._rejects_due_s:
            return None
        self._rejected, self._accepted = reported.quarantined, reported.rows
        self._rejects_due_s = now_s + _REJECTS_EVERY_S
        fault = f"{status.driver.query}: {counted(new, 'record')} rejected"
        if accepted > 0:
            return f"{fault}{self._reasons()}"
        return f"{fault}, and none accepted meanwhile{self._reasons()}\n{_GOES_ON}"

    def _reasons(self) -> str:
        from tailrace.storage.rejects import newest_rejects  # noqa: PLC0415 (Delta takes long to import, and DAG files import this)

        try:
            rejects = newest_rejects(self._layout)
        except Exception as error:  # the table may be unavailable; the warning of rejected records still comes
            return f"; the reasons can't be read: {error}"
        return "" if rejects is None else f", the newest: {rejects}"

    def _edited(self) -> dict[str, str]:
        try:
            edit = edits.warning(self._layout, self._file)
        except Exception as error:  # a disk may be unavailable; the watch continues
            edit = f"{self._layout.home.name}: what its driver was deployed with can't be read: {error}"
        return {} if edit is None else {edit: edit}

    def _broken_promise(self, now_s: float) -> dict[str, str]:
        """Return a text if the promise is broken or can't be read, looking every `PROMISE_EVERY_S`."""
        if now_s < self._promise_due_s:
            return self._promise
        from tailrace.correction.promise_state import PromiseReader  # noqa: PLC0415 (Delta takes long to import)

        self._promise_due_s = now_s + PROMISE_EVERY_S
        self._reader = self._reader or PromiseReader(self._layout)
        try:
            promise = self._reader.read()
        except Exception as error:  # the table may be unavailable or damaged; the watch continues
            self._promise = {"quality": f"whether its promise is kept can't be read: {error}"}
            return self._promise
        self.promise = [] if promise.state == "unknown" else [f"promise {promise.state}: {promise.detail}"]
        self._promise = {"promise": f"its promise is broken: {promise.detail}"} if promise.state == "broken" else {}
        return self._promise
