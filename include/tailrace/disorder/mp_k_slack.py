"""Policy `mp_k_slack`: slack K (allowed lateness) is the wait that the most delayed tuple so far would have needed."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.policy import PolicyState, SlackPolicy
from tailrace.disorder.tick_statistics import TickStatistics


class MPKSlack(SlackPolicy):
    """Slack K is the largest delay that the query has seen, so it only grows.

    References
    ----------
    .. [1] Mutschler, Philippsen. Distributed low-latency out-of-order event processing for high data rate sensor
       streams. IPDPS 2013 (paper 002, reference 9).
    """

    policy: Literal["mp_k_slack"]

    def slack(self, stats: TickStatistics, state: PolicyState) -> tuple[NDArray[np.int64], PolicyState]:
        return stats.largest, state
