"""What every slack policy is: frozen settings that say, tick by tick, how long to wait."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from tailrace.disorder.tick_statistics import TickStatistics

PolicyState = dict[str, Any]
"""What a policy keeps from call to call: JSON values, and arrays of shape (m,) of int64 or float64."""


class SlackPolicy(BaseModel):
    """Settings of a policy, and the policy itself.

    A policy sees complete ticks only, in order, and each tick once; so K is a function of the tuples and of
    nothing else, and every task that runs the same policy over the same ticks comes to the same K.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    samples: ClassVar[bool] = False
    """Whether it needs a sample of the partials."""

    policy: str

    @abstractmethod
    def slack(self, stats: TickStatistics, state: PolicyState) -> tuple[NDArray[np.int64], PolicyState]:
        """K in ms as it stands at the end of each tick.

        Parameters
        ----------
        stats : Seen
            n complete ticks in order, n ≥ 1, however the stream is cut into calls.
        state : dict
            What the call before gave, under the same settings; empty at the first.

        Returns
        -------
        k_ms : ndarray, shape (n,)
        state : dict
        """
