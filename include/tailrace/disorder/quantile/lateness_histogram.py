"""How long the tuples of late had to be waited for: decaying histograms, and K by a level of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.disorder.policy import PolicyState
from tailrace.disorder.tick_statistics import Floats, Ints

_PLAIN, _RATIO, _LONGEST_MS = 20, 1.05, 48 * 3_600_000
_STEPS = np.arange(1, int(np.log(_LONGEST_MS / _PLAIN) / np.log(_RATIO)) + 2)
GRID: Ints = np.concatenate([np.arange(_PLAIN + 1), np.ceil(_PLAIN * _RATIO**_STEPS).astype(np.int64)])
"""Waits in ms: 0, 1, …, 20, from there on longer by a twentieth each, up to two days; shape (g,)."""

MEMORIES = np.array([1_000.0, 10_000.0, 100_000.0])
"""Tuples that the histograms go by: each tuple takes e^(−1 / memory) from those before it."""

_SPAN = 2  # windows: no memory is shorter, however dense the stream
_FEWEST = 5  # tuples beyond a level: where a memory holds fewer, the next one is taken
_ALL = 1 - 1e-12  # what doubles may be off


def cells(wait: Ints) -> Ints:
    """The place in `GRID` of each wait, rounded up."""
    return np.searchsorted(GRID[:-1], wait)


@dataclass
class LatenessHistogram:
    """The waits of tuples. A tuple's wait is the least K with which no window would have missed it.

    A *level* is a share of tuples, and its K the least wait that no more than that share exceeds. Small levels go by a
    longer memory, that has tuples enough beyond them.

    Attributes
    ----------
    weights : ndarray, shape (3, g)
        Tuples by memory and wait.
    """

    weights: Floats

    @staticmethod
    def restore(state: PolicyState) -> LatenessHistogram:
        shape = len(MEMORIES), len(GRID)
        return LatenessHistogram(state.get("waits", np.zeros(shape)).reshape(shape).copy())

    def checkpoint(self) -> PolicyState:
        return {"waits": self.weights.ravel()}

    def add(self, cell: Ints, count: Ints, elapsed: float) -> CumulativeLateness:
        """Add a tick's tuples.

        Parameters
        ----------
        cell, count : ndarray, shape (m,)
            Places in `GRID`, and how many tuples each.
        elapsed : float
            Arrival time since the tick before, in sizes of a window.
        """
        age = np.minimum(count.sum() / MEMORIES, elapsed / _SPAN)
        self.weights *= np.exp(-age)[:, None]
        self.weights += np.bincount(cell, count, len(GRID))
        return CumulativeLateness(np.cumsum(self.weights, axis=1))


@dataclass(frozen=True)
class CumulativeLateness:
    """How many tuples waited at most so long; shape (3, g)."""

    upto: Floats

    def at(self, levels: Floats) -> Ints:
        """K in ms of each level, shape (n,), which must fall."""
        memory = np.searchsorted(MEMORIES[:-1], _FEWEST / levels)
        found = np.empty(len(levels), np.int64)
        for i in range(len(MEMORIES)):
            mine, upto = memory == i, self.upto[i]
            found[mine] = GRID[np.searchsorted(upto[:-1], (1 - levels[mine]) * upto[-1] * _ALL)]
        return np.maximum.accumulate(found)

    def at_one(self, level: float) -> int:
        """K in ms of one level."""
        upto = self.upto[np.searchsorted(MEMORIES[:-1], _FEWEST / level)]
        return int(GRID[np.searchsorted(upto[:-1], (1 - level) * upto[-1] * _ALL)])
