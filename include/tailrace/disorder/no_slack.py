"""No slack: every window closes as soon as the largest event time has reached its end."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.policy import Kept, SlackPolicy
from tailrace.disorder.tick_statistics import Seen


class NoSlack(SlackPolicy):
    """K = 0."""

    policy: Literal["none"] = "none"

    def slack(self, seen: Seen, kept: Kept) -> tuple[NDArray[np.int64], Kept]:
        return np.zeros(len(seen), np.int64), kept
