"""Exponentially decayed histograms of tuple lateness, and the slack K (allowed lateness) at a level of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.disorder.error_model import Floats, Ints
from tailrace.disorder.policy import PolicyState

_LINEAR_MS, _RATIO, _LONGEST_MS = 20, 1.05, 48 * 3_600_000
_STEPS = np.arange(1, int(np.log(_LONGEST_MS / _LINEAR_MS) / np.log(_RATIO)) + 2)
GRID: Ints = np.concatenate([np.arange(_LINEAR_MS + 1), np.ceil(_LINEAR_MS * _RATIO**_STEPS).astype(np.int64)])
"""Bins of the histograms, by waits in ms: 0, 1, …, 20, then each 5 % longer, up to two days; shape (g,)."""

MEMORIES = np.array([1_000.0, 10_000.0, 100_000.0])
"""Memories of the histograms, in tuples: each tuple multiplies the weight of those before it by e^(−1 / memory)."""

_MIN_MEMORY = 2  # windows: no memory is shorter, however dense the stream
_MIN_TUPLES = 5  # beyond a level: where a memory has fewer, the next longer one is used
_ROUNDING = 1 - 1e-12  # tolerance for the rounding errors of doubles


def cells(wait: Ints) -> Ints:
    """Return the index in `GRID` of each wait, rounded up; waits beyond it fall in the last bin."""
    return np.searchsorted(GRID[:-1], wait)


@dataclass
class LatenessHistogram:
    """Decayed histograms of the waits of tuples, one for each memory.

    A tuple's *wait* is the least K with which no window would have missed it. A *level* is a share of tuples, and its K
    the least wait that no more than that share exceeds. Small levels use a longer memory, which holds enough tuples
    beyond them.

    Attributes
    ----------
    weights : ndarray, shape (3, g)
        Decayed number of tuples by memory and wait.
    """

    weights: Floats

    @staticmethod
    def restore(state: PolicyState) -> LatenessHistogram:
        shape = len(MEMORIES), len(GRID)
        return LatenessHistogram(state.get("waits", np.zeros(shape)).reshape(shape).copy())

    def checkpoint(self) -> PolicyState:
        return {"waits": self.weights.ravel()}

    def add(self, cell: Ints, count: Ints, elapsed: float) -> CumulativeLateness:
        """Add a tick's tuples, after decaying the weights, and return the cumulative histograms.

        Parameters
        ----------
        cell, count : ndarray, shape (m,)
            Indices in `GRID`, and the number of tuples of each.
        elapsed : float
            Arrival time since the previous tick, in sizes of a window.
        """
        age = np.minimum(count.sum() / MEMORIES, elapsed / _MIN_MEMORY)
        self.weights *= np.exp(-age)[:, None]
        self.weights += np.bincount(cell, count, len(GRID))
        return CumulativeLateness(np.cumsum(self.weights, axis=1))


@dataclass(frozen=True)
class CumulativeLateness:
    """Cumulative histograms: the tuples with at most each wait, by memory; shape (3, g)."""

    upto: Floats

    def at(self, levels: Floats) -> Ints:
        """Return K in ms of each level, shape (n,); the levels must be descending."""
        memory = np.searchsorted(MEMORIES[:-1], _MIN_TUPLES / levels)
        k_ms = np.empty(len(levels), np.int64)
        for i in range(len(MEMORIES)):
            in_memory, upto = memory == i, self.upto[i]
            k_ms[in_memory] = GRID[np.searchsorted(upto[:-1], (1 - levels[in_memory]) * upto[-1] * _ROUNDING)]
        return np.maximum.accumulate(k_ms)

    def at_one(self, level: float) -> int:
        """Return K in ms of one level."""
        upto = self.upto[np.searchsorted(MEMORIES[:-1], _MIN_TUPLES / level)]
        return int(GRID[np.searchsorted(upto[:-1], (1 - level) * upto[-1] * _ROUNDING)])
