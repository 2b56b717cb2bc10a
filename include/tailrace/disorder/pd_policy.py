"""Base of the policies with a PD controller: slack K (allowed lateness) = αk, with α driven by window coverage."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.coverage_threshold import SHARE, thresholds
from tailrace.disorder.error_model import Floats, Ints
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.disorder.tick_statistics import TickStatistics
from tailrace.ground.arrow.columns import group_sums
from tailrace.windows.windows import Windows


class PDPolicy(PromisingPolicy):
    """Policy K = αk, where a PD controller sets α from err(i) = λ_thr − λ_i, in the order of the windows' ends.

    λ_thr is the largest coverage threshold of the promised answers, measured on recent windows. Here only ticks move F
    (the frontier, the watermark): K is not responsible for tuples that windows closed by silence miss.
    """

    needs_threshold: ClassVar[bool] = True

    @property
    @abstractmethod
    def gains(self) -> tuple[float, float]:
        """The gains Kp and Kd."""

    @abstractmethod
    def base(self, stats: TickStatistics, state: PolicyState) -> tuple[NDArray[np.int64], PolicyState]:
        """Return k at each tick in ms, shape (n,), and the state for the next call."""

    def coverage_threshold(self, state: PolicyState) -> float | None:
        share: float | None = state.get(SHARE)
        return share

    def slack(self, stats: TickStatistics, state: PolicyState) -> tuple[NDArray[np.int64], PolicyState]:
        base, base_state = self.base(stats, state)
        threshold, threshold_state = thresholds(stats, self.promised(stats), self.error, self.risk, state)
        coverage = WindowCoverage.restore(stats, state)
        pd = PDController(*self.gains, state.get("alpha", 1.0), state.get("last", 0.0))
        k_ms, frontier = np.empty(len(stats), np.int64), state.get("frontier", stats.frontier)
        edge = np.searchsorted(stats.counts.at, np.arange(len(stats) + 1))
        for i in range(len(stats)):
            rows = slice(edge[i], edge[i + 1])
            coverage.add(stats.counts["pane"][rows], stats.counts["count"][rows], frontier)
            for window_coverage in coverage.finished(frontier):
                pd.observe(float(threshold[i] - window_coverage))
            k_ms[i] = round(pd.alpha * int(base[i]))
            frontier = max(frontier, int(stats.t_max[i] - k_ms[i]))
        controller_state = {"alpha": pd.alpha, "last": pd.last, "frontier": frontier}
        return k_ms, coverage.checkpoint() | threshold_state | base_state | controller_state


@dataclass
class PDController:
    """PD controller of α from the error err(i) of each window in turn: Δα = Kp · err(i) + Kd · (err(i) − err(i−1)).

    The paper leaves open the initial α, its bounds, and err(0). Here α starts at 1 (K = k), and stays in [0, 1]; err(0)
    = 0.

    Attributes
    ----------
    alpha, last : float
        α, and err of the last window.
    """

    kp: float
    kd: float
    alpha: float = 1.0
    last: float = 0.0

    def observe(self, error: float) -> None:
        """Update α by the error of the next window."""
        change = self.kp * error + self.kd * (error - self.last)
        self.alpha, self.last = min(max(self.alpha + change, 0.0), 1.0), error


# Time is measured by the frontier F (the watermark). λ is defined in paper 002, section 1.2.

_NAMES = ("ends", "received", "late")


@dataclass
class WindowCoverage:
    """Counts of the tuples that arrived for each window before it closed, and after.

    In the paper, tuples count as late if they arrive within "a period" after the closing, which it leaves open. Here
    the period lasts until the frontier F (the watermark) is a window's size beyond the window's end: by then the paper,
    too, has dropped the window's tuples (section 1.3).

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
