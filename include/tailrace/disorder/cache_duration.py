"""Policy `cache_duration`: slack K (allowed lateness) is chosen by calibrations, and constant between them."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tailrace.disorder.policy import PolicyState
from tailrace.disorder.promise_of_answers import PromiseOfAnswers
from tailrace.disorder.tick_statistics import TickStatistics
from tailrace.ground.duration import Duration, ms


class CacheDuration(PromiseOfAnswers):
    """Slack K is constant until the next calibration.

    A calibration finds from history how accurate the answers would have been after different waits, and proposes the
    shortest wait that keeps the mean accuracy at `accuracy`. Method `two_scales` estimates it directly from the newest
    `queries` windows. For rankings it uses the delays of all their tuples, and the lateness of the winners of thousands
    of windows (calibration/two_scales/estimator.py); for other kinds, the loss by each late tuple
    (calibration/two_scales/measured.py). With `search` and `paper` each calibration compares `durations` waits over the
    newest `queries` windows, as one step of a search (calibration/search.py). The proposal is these settings with
    another `initial`. It holds once it is stamped as a fact (a configuration change with the tick from which it holds).
    The policy itself learns nothing.

    References
    ----------
    .. [1] Wu, Fang. Continuous top-k query method over high-speed out-of-order data streams. Journal of Zhengzhou
       University (Natural Science Edition) 53(3), 2021, section 2.1 (paper 001).
    """

    policy: Literal["cache_duration"]
    initial: Annotated[Duration, Field(ge=timedelta(0))] = Field(
        default=timedelta(seconds=2), description="slack K before the first calibration, in event time: 2 s"
    )
    durations: Annotated[int, Field(ge=2, le=100)] = Field(
        default=10, description="number of waits that a calibration compares, from 2 to 100: 10"
    )
    queries: Annotated[int, Field(ge=2, le=10_000)] = Field(
        default=30, description="number of newest windows that a calibration measures, from 2 to 10000: 30"
    )
    accuracy: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.95, description="mean accuracy of answers to keep, more than 0 and at most 1: 0.95"
    )

    method: Literal["two_scales", "search", "paper"] | None = Field(
        default=None,
        description=(
            "how a calibration finds K, by two_scales (directly; default of topk), search (step by step; "
            "default of other kinds) or paper (the search of paper 001)"
        ),
    )

    @property
    def declared_k(self) -> timedelta:
        return self.initial

    @property
    def k_ms(self) -> int:
        return ms(self.initial)

    def waiting(self, k_ms: int) -> CacheDuration:
        """Return these settings with another K."""
        return self.model_copy(update={"initial": timedelta(milliseconds=k_ms)})

    def slack(self, stats: TickStatistics, state: PolicyState) -> tuple[NDArray[np.int64], PolicyState]:
        return np.full(len(stats), self.k_ms, np.int64), state
