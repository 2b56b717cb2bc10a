"""Ground distances: what it costs to move a unit of mass from one histogram bin to another."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Costs = NDArray[np.float64]
"""A ground distance as a matrix of shape (n, n): the cost c_ij of bin i to bin j, a metric."""

_TOLERANCE = 1e-9  # of the triangle inequality, as a share of the largest distance


def line(bins: int, scale: float = 1.0) -> Costs:
    """The distance of bins on a line: abs(i − j), divided by `scale`."""
    return grid((bins,), scale)


def grid(shape: tuple[int, ...], scale: float = 1.0) -> Costs:
    """The Euclidean distance of the cells of a grid, flattened in C order, in cells, divided by `scale`."""
    places = np.indices(shape).reshape(len(shape), -1).astype(np.float64)
    return np.asarray(np.sqrt(((places[:, :, None] - places[:, None, :]) ** 2).sum(axis=0)) / scale)


def fault(costs: Costs) -> str | None:
    """The reason for which a matrix is no metric, with the bins that show it; None for a metric."""
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or not len(costs):
        return f"its shape is {costs.shape}, not (n, n)"
    if not np.isfinite(costs).all():
        return f"{_at(~np.isfinite(costs))} is not a finite number"
    if (costs < 0).any():
        return f"{_at(costs < 0)} is negative"
    bound = _TOLERANCE * float(costs.max())
    if (np.abs(costs - costs.T) > bound).any():
        return f"{_at(np.abs(costs - costs.T) > bound)} is not the distance back"
    same = np.eye(len(costs), dtype=bool)
    if (costs[same] != 0).any():
        return f"{_at(same & (costs != 0))} is not 0, though it is the distance of a bin to itself"
    if (costs[~same] == 0).any():
        return f"{_at(~same & (costs == 0))} is 0, though these are two bins"
    for via in range(len(costs)):
        longer = costs - (costs[:, via, None] + costs[via]) > bound
        if longer.any():
            return f"{_at(longer)} is longer than the way over bin {via}"
    return None


def is_line(costs: Costs) -> bool:
    """Test whether the bins lie on a line in their order: each distance is the sum of the steps between."""
    steps = np.diagonal(costs, offset=1)
    places = np.concatenate([[0.0], np.cumsum(steps)])
    bound = _TOLERANCE * max(float(costs.max()), math.ulp(1.0))
    return bool((np.abs(np.abs(places[:, None] - places) - costs) <= bound).all())


def _at(wrong: NDArray[np.bool_]) -> str:
    first, second = (int(index[0]) for index in np.nonzero(wrong))
    return f"the distance of bins {first} and {second}"
