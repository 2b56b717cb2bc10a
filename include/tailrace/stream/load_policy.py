"""The policy that raises the number of a live stream's tasks under a burst, and lowers it afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field

BUSY_MS, CALM_MS = 1000, 250
"""Bounds of a batch's duration, ms. A batch that takes the first leaves the stream no rest (`stream/pace.py`). After a
batch that takes at most the second, half of the tasks would still be far from the first."""

RAISES_AFTER, LOWERS_AFTER = 2, 30
"""Consecutive busy batches before the number doubles, and calm ones before it is halved."""

_SOON = 4 * LOWERS_AFTER
"""Batches after a lowering: a raise within them shows that the lowering came too early."""

_MOST_PATIENCE = 8

_SETTLES = 2
"""Batches after a change that do not count: one moves the state, and the next has the rows that came meanwhile."""


@dataclass
class LoadPolicy:
    """Wants another number of tasks when consecutive batches are busy, or calm.

    Between the two bounds nothing changes, and a change starts the count again after two batches. So the number does
    not flap. If a burst follows soon after a lowering, the next lowering needs twice the calm, up to eight times. The
    wanted number is stamped in the journal, so a batch that is run again does not decide again.

    Attributes
    ----------
    least, most : int
        The bounds of the number.
    patience : int
        The calm batches before a lowering, as a multiple of `LOWERS_AFTER`.
    """

    least: int
    most: int
    patience: int = 1
    _tasks: int | None = None
    _busy: int = 0
    _calm: int = 0
    _settling: int = 0
    _since_lowering: int = field(default=_SOON)

    def observe(self, tasks: int, rows: int, took_ms: int) -> None:
        """Observe a batch: the number of its tasks and rows, and the time from its plan to its commit."""
        self._since_lowering += 1
        if self._tasks is not None and tasks != self._tasks:
            self._settling = _SETTLES
            if tasks < self._tasks:
                self._since_lowering = 0
            elif self._since_lowering < _SOON:
                self.patience = min(2 * self.patience, _MOST_PATIENCE)
        self._tasks = tasks
        if self._settling:
            self._settling, self._busy, self._calm = self._settling - 1, 0, 0
            return
        self._busy = self._busy + 1 if rows and took_ms >= BUSY_MS else 0
        self._calm = self._calm + 1 if took_ms <= CALM_MS else 0

    def wanted(self, tasks: int) -> tuple[int, str] | None:
        """Return the number of tasks for the next batch, and the reason; None where it stays."""
        if self._busy >= RAISES_AFTER and tasks < self.most:
            return min(2 * tasks, self.most), f"burst: {self._busy} batches took {BUSY_MS} ms or more each"
        if self._calm >= LOWERS_AFTER * self.patience and tasks > self.least:
            return max(tasks // 2, self.least), f"calm: {self._calm} batches took {CALM_MS} ms or less each"
        return None
