"""The health of a stream for the log of its watch: problems at WARNING, then changed facts."""

from __future__ import annotations

import math
from pathlib import Path

from tailrace.drivers.conditions import Line
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.driver_warnings import DriverWarnings
from tailrace.storage.layout import Layout

FACTS_EVERY_S = 60.0
"""Interval between rounds of facts; when the driver's state changes, they come at once."""


class HealthLog:
    """Turns successive statuses of one driver into lines of a log, one fact each.

    Parameters
    ----------
    file : Path
        The query file.
    hang_after_s, patience_s : float
        How long the driver may be silent before it is replaced, and its host unreachable before the watch fails, in s.
    """

    def __init__(self, layout: Layout, file: Path, hang_after_s: float, patience_s: float) -> None:
        self._warnings = DriverWarnings(layout, file, hang_after_s, patience_s)
        self._summary: tuple[object, ...] | None = None
        self._facts: list[str] = []
        self._due_s = -math.inf

    def observe(self, status: DriverStatus | None, away: str, now_s: float) -> list[Line]:
        """Return the lines that are due, warnings first.

        Parameters
        ----------
        status : DriverStatus or None
            None where the driver host did not answer.
        away : str
            The reason why it did not.
        now_s : float
            Seconds of a steady clock.
        """
        if status is None:
            return _split(self._warnings.host_away(away))
        lines = self._warnings.observe(status, now_s)
        if status.summary != self._summary or now_s >= self._due_s:
            self._summary, self._due_s = status.summary, now_s + FACTS_EVERY_S
            before, self._facts = self._facts, [*status.facts(with_ages=False), *self._warnings.promise]
            lines += [Line(status.head), *(Line(fact) for fact in self._facts if fact not in before)]
        return _split(lines)


def _split(lines: list[Line]) -> list[Line]:
    """Make each line of a text a line of the log."""
    return [Line(part, line.is_warning) for line in lines for part in line.text.splitlines()]
