"""Ground distances: the cost of moving a unit of mass from one histogram bin to another."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Costs = NDArray[np.float64]
"""A ground distance as a matrix of shape (n, n): the cost c_ij between bins i and j, a metric."""

_TOLERANCE = 1e-9  # tolerance of the triangle inequality, as a share of the largest distance


def line(bins: int, scale: float = 1.0) -> Costs:
    """Return the distance of bins on a line: abs(i − j), divided by `scale`."""
    return grid((bins,), scale)


def grid(shape: tuple[int, ...], scale: float = 1.0) -> Costs:
    """Return the Euclidean distance of a grid's cells, flattened in C order, in cells, divided by `scale`."""
    places = grid_places(shape)
    return np.asarray(np.sqrt(((places[:, None] - places) ** 2).sum(axis=2)) / scale)


def grid_places(shape: tuple[int, ...], scale: float = 1.0) -> Costs:
    """Return the coordinates of a grid's cells, flattened in C order, divided by `scale`; shape (n, d)."""
    return np.indices(shape).reshape(len(shape), -1).T.astype(np.float64) / scale


def fault(costs: Costs) -> str | None:
    """Return the reason why a matrix is not a metric, with the bins that show it; None for a metric."""
    if not costs.ndim or not costs.size or costs.shape != costs.shape[:1] * 2:
        return f"its shape is {costs.shape}, not (n, n)"
    for wrong, reason in _faults(costs):
        if wrong.any():
            first, second = (int(index[0]) for index in np.nonzero(wrong))
            return f"the distance of bins {first} and {second} {reason}"
    return None


def _faults(costs: Costs) -> Iterator[tuple[NDArray[np.bool_], str]]:
    """Yield, for each property of a metric, the pairs of bins that violate it, and the description of the violation."""
    yield ~np.isfinite(costs), "is not a finite number"
    yield costs < 0, "is negative"
    bound = _TOLERANCE * float(costs.max())
    yield np.abs(costs - costs.T) > bound, "is not the distance back"
    same = np.eye(len(costs), dtype=bool)
    yield same & (costs != 0), "is not 0, though it is the distance of a bin to itself"
    yield ~same & (costs == 0), "is 0, though these are two bins"
    for via in range(len(costs)):
        yield costs - (costs[:, via, None] + costs[via]) > bound, f"is longer than the way over bin {via}"


def is_line(costs: Costs) -> bool:
    """Test whether the bins lie on a line in their order: each distance is the sum of the steps between."""
    steps = np.diagonal(costs, offset=1)
    places = np.concatenate([[0.0], np.cumsum(steps)])
    bound = _TOLERANCE * max(float(costs.max()), math.ulp(1.0))
    return bool((np.abs(np.abs(places[:, None] - places) - costs) <= bound).all())
