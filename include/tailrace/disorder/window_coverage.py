"""The coverage λ of windows one by one, as they closed (paper 002, section 1.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.disorder.policy import PolicyState
from tailrace.disorder.tick_statistics import Floats, Ints, TickStatistics
from tailrace.ground.columns import group_sums
from tailrace.windows.sliding import Sliding

_NAMES = ("ends", "received", "late")


@dataclass
class WindowCoverage:
    """Counts what came to each window before it closed, and after.

    The paper counts as late what comes within "a period" after the closing, and leaves the period open. Here it lasts
    until F is a window's size beyond the window's end: that is when the paper, too, has let go of its tuples (1.3).

    Attributes
    ----------
    ends, received, late : ndarray, shape (m,)
        The windows that are not judged yet.
    since : int
        Windows that end at or before it do not count: they began before the first tick.
    """

    windows: Sliding
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
        """A tick's tuples, which found F at `before`."""
        size = self.windows.size_ms
        row, end = self.windows.ends(pane, np.full(len(pane), max(before - size, self.since)), None)
        many, there = count[row], end > before
        fresh = end, many * there, many * ~there
        ends, *counts = (np.concatenate([getattr(self, name), part]) for name, part in zip(_NAMES, fresh, strict=True))
        self.ends, (self.received, self.late) = group_sums(ends, *counts)

    def finished(self, frontier: int) -> Floats:
        """λ of each window whose period is over, in the order of their ends; they are forgotten."""
        over = int(np.searchsorted(self.ends, frontier - self.windows.size_ms, side="right"))
        received, late = self.received[:over], self.late[:over]
        self.ends, self.received, self.late = (getattr(self, name)[over:] for name in _NAMES)
        return received / (received + late)
