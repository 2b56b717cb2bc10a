"""What every slack policy is: frozen settings that say, tick by tick, how long to wait."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from tailrace.disorder.ticks import Ticks


class SlackPolicy(BaseModel):
    """Settings of a policy, and the policy itself.

    A policy sees complete ticks only, in order, and each tick once; so K is a function of the tuples and of
    nothing else, and every task that runs the same policy over the same ticks comes to the same K.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    policy: str

    @abstractmethod
    def slack(self, ticks: Ticks, t_max: NDArray[np.int64], largest: NDArray[np.int64]) -> NDArray[np.int64]:
        """K in ms as it stands at the end of each tick.

        Parameters
        ----------
        ticks : Ticks
            n complete ticks in order, n ≥ 1.
        t_max, largest : ndarray, shape (n,)
            The largest event time and the largest delay (ms) that the query has seen, each tick's own tuples
            included.
        """
