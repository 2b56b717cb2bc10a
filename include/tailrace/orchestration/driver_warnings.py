"""Warnings about a driver for the log of its watch: it died, records are rejected, an edit is not in force."""

from __future__ import annotations

from pathlib import Path

from tailrace.drivers.driver_status import DriverStatus
from tailrace.ground.words import counted
from tailrace.orchestration import edits
from tailrace.storage.layout import Layout

_REJECTS_EVERY_S = 60.0


class DriverWarnings:
    """Finds what is new and wrong in successive statuses of one driver; each thing is warned of once.

    Parameters
    ----------
    file : Path or None
        The query file; None in a watch that an earlier version has begun.
    """

    def __init__(self, layout: Layout, file: Path | None) -> None:
        self._layout, self._file = layout, file
        self._pid: int | None = None
        self._is_dead = False
        self._rejected, self._rejects_due_s = 0, 0.0
        self._edit: str | None = None

    def observe(self, status: DriverStatus | None, now_s: float) -> list[str]:
        """Return the warnings about a status, none for an absent host; `now_s` is of a steady clock."""
        if status is None:
            return []
        warnings = [self._death(status), self._rejects(status, now_s), self._edited()]
        return [warning for warning in warnings if warning is not None]

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
        total = status.reported.quarantined if status.reported else 0  # 0 while a driver starts
        new = total - self._rejected
        if new <= 0 or now_s < self._rejects_due_s:
            return None
        self._rejected, self._rejects_due_s = total, now_s + _REJECTS_EVERY_S
        return f"{status.driver.query}: {counted(new, 'record')} rejected{self._reasons()}"

    def _reasons(self) -> str:
        from tailrace.storage.rejects import newest_rejects  # noqa: PLC0415 (Delta takes long to import, and DAG files import this)

        try:
            rejects = newest_rejects(self._layout)
        except Exception as error:  # the table may be away; the warning of rejected records comes all the same
            return f"; the reasons can't be read: {error}"
        return "" if rejects is None else f", the newest: {rejects}"

    def _edited(self) -> str | None:
        try:
            edit = None if self._file is None else edits.warning(self._layout, self._file)
        except Exception as error:  # a disk may be away; the watch goes on
            edit = f"{self._layout.home.name}: what its driver was deployed with can't be read: {error}"
        is_new, self._edit = edit != self._edit, edit
        return edit if is_new else None
