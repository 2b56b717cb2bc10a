"""Policy `none`: no slack (allowed lateness); a window closes as soon as the largest event time reaches its end."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.policy import PolicyState, SlackPolicy
from tailrace.disorder.tick_statistics import TickStatistics


class NoSlack(SlackPolicy):
    """Slack K = 0."""

    policy: Literal["none"] = "none"

    def slack(self, stats: TickStatistics, state: PolicyState) -> tuple[NDArray[np.int64], PolicyState]:
        return np.zeros(len(stats), np.int64), state
