"""Interface of slack policies: frozen settings that compute slack K (allowed lateness) tick by tick."""

from __future__ import annotations

from abc import abstractmethod
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from tailrace.disorder.tick_statistics import TickStatistics

PolicyState = dict[str, Any]
"""State of a policy between calls: JSON values, and arrays of shape (m,) with int64, float64, texts or bytes."""


class SlackPolicy(BaseModel):
    """Base class of slack policies, which are both their settings and the computation of K.

    A policy is deterministic: it sees only complete ticks, in order, and each tick once. So K only depends on the
    tuples.
    """

    # as in `ground.fields.Section`: a query's validator contains its policy's, so no other is built
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    policy: str

    @property
    def declared_k(self) -> timedelta:
        """The declared slack K, perhaps only the initial one; 0 if the policy finds it."""
        return timedelta(0)

    def coverage_threshold(self, state: PolicyState) -> float | None:
        """Return λ_thr, the coverage that K aims for, in a given state; None for a policy without one."""
        return None

    @abstractmethod
    def slack(self, stats: TickStatistics, state: PolicyState) -> tuple[NDArray[np.int64], PolicyState]:
        """Compute K in ms at the end of each tick.

        Parameters
        ----------
        stats : TickStatistics
            n complete ticks in order, n ≥ 1. The result does not depend on the cuts of the stream into calls.
        state : dict
            The state that the previous call returned under the same settings; empty at the first call.

        Returns
        -------
        k_ms : ndarray, shape (n,)
        state : dict
        """
