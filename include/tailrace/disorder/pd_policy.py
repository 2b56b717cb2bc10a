"""What the policies with a PD controller share: K = αk, and α that follows the coverage of window after window."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.coverage_threshold import thresholds
from tailrace.disorder.pd_controller import PDController
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.quality_promise import QualityPromise
from tailrace.disorder.tick_statistics import TickStatistics
from tailrace.disorder.window_coverage import WindowCoverage


class PDPolicy(QualityPromise):
    """K = αk, where a PD controller finds α by err(i) = λ_thr − λ_i, in the order of the windows' ends.

    λ_thr is that of the query's function for windows as they have been of late. F is as ticks move it: what silence
    closes is no fault of K.
    """

    @property
    @abstractmethod
    def gains(self) -> tuple[float, float]:
        """Kp and Kd."""

    @abstractmethod
    def base(self, stats: TickStatistics, state: PolicyState) -> tuple[NDArray[np.int64], PolicyState]:
        """k at each tick, in ms, shape (n,), and what is to be kept of it."""

    def slack(self, stats: TickStatistics, state: PolicyState) -> tuple[NDArray[np.int64], PolicyState]:
        base, of_base = self.base(stats, state)
        share, of_share = thresholds(stats, self.error, self.risk, state)
        coverage = WindowCoverage.restore(stats, state)
        pd = PDController(*self.gains, state.get("alpha", 1.0), state.get("last", 0.0))
        k_ms, frontier = np.empty(len(stats), np.int64), state.get("frontier", stats.frontier)
        edge = np.searchsorted(stats.counts.at, np.arange(len(stats) + 1))
        for i in range(len(stats)):
            mine = slice(edge[i], edge[i + 1])
            coverage.add(stats.counts["pane"][mine], stats.counts["count"][mine], frontier)
            for there in coverage.finished(frontier):
                pd.observe(float(share[i] - there))
            k_ms[i] = round(pd.alpha * int(base[i]))
            frontier = max(frontier, int(stats.t_max[i] - k_ms[i]))
        own = {"alpha": pd.alpha, "last": pd.last, "frontier": frontier}
        return k_ms, coverage.checkpoint() | of_share | of_base | own
