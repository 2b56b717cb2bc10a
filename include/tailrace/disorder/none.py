"""No slack: every window closes as soon as the largest event time has reached its end."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.policy import SlackPolicy
from tailrace.disorder.ticks import Ticks


class NoSlack(SlackPolicy):
    """K = 0."""

    policy: Literal["none"] = "none"

    def slack(self, ticks: Ticks, t_max: NDArray[np.int64], largest: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.zeros(len(ticks), np.int64)
