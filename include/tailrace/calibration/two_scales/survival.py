"""The distribution of delays: the share of tuples that are delayed by at least d, by blocks of event time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.ground.arrow.columns import Floats, Ints

_RANKS, _LATEST = 1_500, 500
"""If there are more delays, `_RANKS` of them are kept by rank, and the `_LATEST` greatest ones."""


@dataclass(frozen=True, eq=False)
class DelayLevel:
    """The survival function S of delays, as the mass of each delay in each of b blocks.

    Attributes
    ----------
    delays : ndarray, shape (n,)
        Distinct delays in ms, ascending. If there were too many, each also represents those below it.
    mass : ndarray, shape (b, n)
        The weight of the tuples of each block that have such a delay.
    """

    delays: Ints
    mass: Floats

    @staticmethod
    def from_delays(delay: Ints, weight: Floats, block: Ints) -> DelayLevel:
        """Build the level of at least one tuple, with its delay, its weight, and the number of its block from 0 on."""
        delays = np.unique(delay)
        if len(delays) > _RANKS + _LATEST:
            ranked = np.sort(delay)
            bulk = ranked[np.linspace(0, len(ranked) - 1, _RANKS).astype(np.int64)]
            delays = np.unique(np.concatenate([bulk, delays[-_LATEST:]]))
        bin_ = np.searchsorted(delays, delay)
        shape = int(block.max()) + 1, len(delays)
        mass = np.bincount(block * len(delays) + bin_, weight, shape[0] * shape[1]).reshape(shape)
        return DelayLevel(delays, mass[mass.sum(axis=1) > 0])

    @property
    def blocks(self) -> int:
        """The number of blocks with tuples."""
        return len(self.mass)

    def survival(self, delay: Ints) -> Floats:
        """Return S, the share of tuples with at least each of these delays, in the shape of `delay`."""
        tail = np.append(np.cumsum(self.mass.sum(axis=0)[::-1])[::-1], 0.0)
        return np.asarray(tail[np.searchsorted(self.delays, delay)] / tail[0])

    def steps(self, hazard_ratio: Floats, counts: Floats | None = None) -> Floats:
        """Return the fall of S^γ at each delay, shape (r, n); rows sum to 1.

        Parameters
        ----------
        hazard_ratio : ndarray, shape (r,)
            γ, the exponent of each row.
        counts : ndarray, shape (r, b), optional
            How often each block counts in a row; once by default.
        """
        mass = self.mass.sum(axis=0)[None] if counts is None else counts @ self.mass
        tail = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]
        power = (tail / tail[:, :1]) ** hazard_ratio[:, None]
        return np.asarray(-np.diff(power, axis=1, append=0.0))
