"""Policy `hybrid` of paper 002: a PD controller sets slack K (allowed lateness) from coverage and the largest delay."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tailrace.disorder.pd_policy import PDPolicy
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.tick_statistics import TickStatistics

Gain = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Hybrid(PDPolicy):
    """Slack K = αk, with k the largest delay that the query has seen, and α in [0, 1] from a PD controller.

    K and the change of α (equation 1) follow the paper, which leaves the bounds of α open (`pd_controller`).

    It holds the *mean* coverage near λ_thr. A single very late tuple makes every later change of K larger, so after a
    burst it waits much longer than its promise needs (docs/results/002.md). `quantile` is robust to both.

    References
    ----------
    .. [1] Yang, Xu, Lü, Li. Distributed aggregation query processing technology for out-of-order data streams based on
       hybrid processing model. Guangxi Sciences 26(4), 2019 (paper 002), section 1.2, equation 1.
    """

    policy: Literal["hybrid"]
    kp: Gain = Field(
        default=0.2, description="proportional gain of the PD controller, on the coverage error, at least 0: 0.2"
    )
    kd: Gain = Field(
        default=4.0,
        description="derivative gain of the PD controller, on the change of the coverage error, at least 0: 4",
    )

    @property
    def gains(self) -> tuple[float, float]:
        return self.kp, self.kd

    def base(self, stats: TickStatistics, state: PolicyState) -> tuple[NDArray[np.int64], PolicyState]:
        return stats.largest, {}
