"""Base of the policies with a PD controller: slack K (allowed lateness) = αk, with α driven by window coverage."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.coverage_threshold import SHARE, thresholds
from tailrace.disorder.pd_controller import PDController
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.disorder.tick_statistics import TickStatistics
from tailrace.disorder.window_coverage import WindowCoverage


class PDPolicy(PromisingPolicy):
    """Policy K = αk, where a PD controller sets α from err(i) = λ_thr − λ_i, in the order of the windows' ends.

    λ_thr is the largest coverage threshold of the promised answers, measured on recent windows. Here F (the frontier,
    the watermark) is moved by ticks alone: K is not to blame for the tuples that windows closed by silence miss.
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
