"""Policy `aq_k_slack`: slack K (allowed lateness) from recent delays; the adaptive baseline of paper 002."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.pd_policy import PDPolicy
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.tick_statistics import TickStatistics

_RECENT_SLIDES = 100  # the recent past, in slides of arrival time


class AQKSlack(PDPolicy):
    """Slack K = αk, with k the largest delay of the recent past, and α from a PD controller.

    Known of the original are these points. K adapts to statistics of recent delays, it grows and falls, and late tuples
    are given up (paper 002). A coverage threshold comes from sampling theory and the promised error; the coverage of a
    past window is measured when its late tuples have arrived, and K changes by the difference (the abstract of [1]_,
    and US patent 10311061 of its authors). K = αk with a PD controller for α, Kp = 0.5 and Kd = 0.8 (the extension
    `reorder` of Siddhi, an open implementation, whose k is the largest delay of all).

    Chosen here: the recent past is the newest 100 slides of arrival time. The time at which a window is judged, the
    initial α and its bounds, and λ_thr are as in `hybrid`.

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
        delays = np.maximum(stats.t_max - stats.ticks.min_event, 0)  # negative if a whole tick is ahead of its end
        new_columns = {"recent_end": stats.ticks.end, "recent_delay": delays}
        end, delay = (np.concatenate([state.get(name, column[:0]), column]) for name, column in new_columns.items())
        first = np.searchsorted(end, end - _RECENT_SLIDES * stats.windows.slide_ms, side="right")
        positions = range(len(end) - len(stats), len(end))
        largest = np.array([delay[first[i] : i + 1].max() for i in positions], np.int64)
        return largest, {"recent_end": end[first[-1] :], "recent_delay": delay[first[-1] :]}
