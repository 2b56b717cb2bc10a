"""Coverage λ of each window, known one window size after its end, when its late tuples have been counted.

Time is measured by the frontier F (the watermark). λ is defined in paper 002, section 1.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.disorder.error_model import Floats, Ints
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.tick_statistics import TickStatistics
from tailrace.ground.columns import group_sums
from tailrace.windows.windows import Windows

_NAMES = ("ends", "received", "late")


@dataclass
class WindowCoverage:
    """Counts of the tuples that arrived for each window before it closed, and after.

    The paper counts as late what arrives within "a period" after the closing, and leaves the period open. Here it lasts
    until the frontier F (the watermark) is a window's size beyond the window's end: by then the paper, too, has dropped
    the window's tuples (section 1.3).

    Attributes
    ----------
    ends, received, late : ndarray, shape (m,)
        The windows whose period is not over: their ends, and the tuples before and after the closing.
    since : int
        Windows that end at or before this time do not count, as they began before the first tick.
    """

    windows: Windows
    ends: Ints
    received: Ints
    late: Ints
    since: int

    @staticmethod
    def restore(stats: TickStatistics, state: PolicyState) -> WindowCoverage:
        ends, received, late = (state.get(name, np.zeros(0, np.int64)) for name in _NAMES)
        since = state.get("since", stats.before + stats.windows.size_ms)
        return WindowCoverage(stats.windows, ends, received, late, since)

    def checkpoint(self) -> PolicyState:
        return {name: getattr(self, name) for name in (*_NAMES, "since")}

    def add(self, pane: Ints, count: Ints, before: int) -> None:
        """Add the tuples of one tick; `before` is F before it."""
        size = self.windows.size_ms
        row, end = self.windows.ends(pane, np.full(len(pane), max(before - size, self.since)), None)
        tuples, in_time = count[row], end > before
        new = end, tuples * in_time, tuples * ~in_time
        ends, *counts = (np.concatenate([getattr(self, name), part]) for name, part in zip(_NAMES, new, strict=True))
        self.ends, (self.received, self.late) = group_sums(ends, *counts)

    def finished(self, frontier: int) -> Floats:
        """Remove the windows whose period is over and return the λ of each, in the order of their ends."""
        n = int(np.searchsorted(self.ends, frontier - self.windows.size_ms, side="right"))
        received, late = self.received[:n], self.late[:n]
        self.ends, self.received, self.late = (getattr(self, name)[n:] for name in _NAMES)
        return received / (received + late)
