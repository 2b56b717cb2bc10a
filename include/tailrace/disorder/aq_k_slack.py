"""AQ-K-slack: the adaptive policy that paper 002 is compared with, which goes by the delays of the recent past."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.pd_policy import PDPolicy
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.tick_statistics import TickStatistics

_RECENT = 100  # slides of arrival time


class AQKSlack(PDPolicy):
    """K = αk, with k the largest delay of the recent past, and α from a PD controller.

    What is known of it: K is adapted to statistics of the recent delays, it grows and falls, and late tuples are given
    up (paper 002); a coverage threshold comes from sampling theory and the promised error, the runtime coverage is that
    of a window in the past, by when its late tuples have come, and K changes by the difference of the two (the abstract
    of [1]_, and US patent 10311061 of its authors); K = αk with a PD controller for α, Kp = 0.5 and Kd = 0.8 (the
    extension `reorder` of Siddhi, an open implementation, whose k is the largest delay of all).

    What is ours: the recent past is the newest 100 slides of arrival time; and as in `hybrid` when a window is judged,
    where α begins and its bounds, and λ_thr.

    References
    ----------
    .. [1] Ji, Zhou, Jerzak, Nica, Hackenbroich, Fetzer. Quality-driven processing of sliding window aggregates over
       out-of-order data streams. DEBS 2015 (paper 002, reference 11).
    """

    policy: Literal["aq_k_slack"]

    @property
    def gains(self) -> tuple[float, float]:
        return 0.5, 0.8

    def base(self, stats: TickStatistics, state: PolicyState) -> tuple[NDArray[np.int64], PolicyState]:
        fresh = {"recent_end": stats.ticks.end, "recent_delay": stats.t_max - stats.ticks.min_event}
        end, delay = (np.concatenate([state.get(name, column[:0]), column]) for name, column in fresh.items())
        first = np.searchsorted(end, end - _RECENT * stats.windows.slide_ms, side="right")
        here = range(len(end) - len(stats), len(end))
        largest = np.array([delay[first[i] : i + 1].max() for i in here], np.int64)
        return largest, {"recent_end": end[first[-1] :], "recent_delay": delay[first[-1] :]}
