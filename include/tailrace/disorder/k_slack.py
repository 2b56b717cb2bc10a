"""Policy `k_slack`: a fixed slack K (allowed lateness)."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tailrace.disorder.policy import PolicyState, SlackPolicy
from tailrace.disorder.tick_statistics import TickStatistics
from tailrace.ground.duration import Duration, ms


class KSlack(SlackPolicy):
    """Slack K is constant.

    References
    ----------
    .. [1] Babu, Srivastava, Widom. Exploiting k-constraints to reduce memory overhead in continuous queries over
       data streams. TODS 29(3), 2004 (paper 002, reference 8).
    """

    policy: Literal["k_slack"]
    k: Duration = Field(
        ge=timedelta(0), description="slack K, how long a window waits beyond its end, in event time: 2 s"
    )

    @property
    def declared_k(self) -> timedelta:
        return self.k

    def slack(self, stats: TickStatistics, state: PolicyState) -> tuple[NDArray[np.int64], PolicyState]:
        return np.full(len(stats), ms(self.k), np.int64), state
