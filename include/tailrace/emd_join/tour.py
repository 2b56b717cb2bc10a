"""Greedy nearest-neighbour orders of bins and of histograms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]

BLOCK = 1024
"""The number of histograms that one tour visits: its cost is quadratic."""


def tour(count: int, start: int, distances_from: Callable[[int], Reals]) -> Ints:
    """Return `count` items in the order of a walk that always continues with the nearest item not visited.

    Parameters
    ----------
    distances_from : callable
        Returns the distances from one item to all, shape (count,).
    """
    order = np.empty(count, np.int64)
    is_left = np.ones(count, bool)
    at = start
    for index in range(count):
        order[index] = at
        is_left[at] = False
        if index + 1 < count:
            at = int(np.where(is_left, distances_from(at), np.inf).argmin())
    return order


def tour_of_bins(costs: NDArray[np.float64]) -> Ints:
    """Return a tour of all bins, from the bin furthest from the others; on a line it is the line's order."""
    return tour(len(costs), int(costs.sum(axis=1).argmax()), lambda at: np.asarray(costs[at]))


def tour_of_keys(keys: NDArray[np.float64]) -> Ints:
    """Return a tour of m histograms by the largest difference of their keys, shape (m, z), block by block."""
    starts = range(0, len(keys), BLOCK)
    walks = [start + _walk(keys[start : start + BLOCK]) for start in starts]
    return np.concatenate([np.zeros(0, np.int64), *walks])


def _walk(keys: NDArray[np.float64]) -> Ints:
    return tour(len(keys), 0, lambda at: np.asarray(np.abs(keys - keys[at]).max(axis=1)))
