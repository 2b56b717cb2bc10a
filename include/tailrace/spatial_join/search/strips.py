"""Points sorted into horizontal strips, and by x within each: the points in a box are a few runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.spatial_join.geometry.geometries import Points

BLOCK = 1 << 18
"""The number of candidates at once, whose columns stay in the cache."""


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of positions in `PointStrips.order` whose points lie in boxes; no run is empty.

    Attributes
    ----------
    order : ndarray of int64, shape (m,)
        The boxes in the order of the strips, so that the data of neighbours stays in the cache.
    box : ndarray of int64, shape (r,), ascending
        The box of each run, by its position in `order`.
    start, count : ndarray of int64, shape (r,)
        The first position, and the number of positions.
    """

    order: Ints
    box: Ints
    start: Ints
    count: Ints

    def candidates(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield the box (as position in `order`) and the position of each point.

        A block has at most `BLOCK` points, plus the rest of a run.
        """
        ends = np.cumsum(self.count)
        total = int(ends[-1]) if len(ends) else 0
        cuts = np.unique(np.append(np.searchsorted(ends, np.arange(0, total, BLOCK), "right"), len(ends)))
        for low, high in pairwise(cuts):
            run, rank = _expand(self.start[low:high], self.count[low:high])
            yield self.box[low:high][run], rank


@dataclass(frozen=True, eq=False)
class PointStrips:
    """n points by strip and x. Only strips with points are stored, so distant points cost nothing.

    The x of points are compared by rank, so that no large coordinate makes others indistinct.

    Attributes
    ----------
    height : float
        The height of a strip; 0 where each y is its own strip.
    strips : ndarray, ascending
        The numbers of the strips with points, floor(y / height).
    x : ndarray, shape (n,), ascending
    order : ndarray of int64, shape (n,)
        The points by strip, then by x.
    keys : ndarray of int64, shape (n,), ascending
        The position of the point's strip in `strips`, times n + 1, plus the rank of x, in the order of the points.
    """

    height: float
    strips: Floats
    x: Floats
    order: Ints
    keys: Ints

    @staticmethod
    def from_points(points: Points, height: float) -> PointStrips:
        """Sort points into strips."""
        by_x = np.argsort(points.x)
        strips, strip = np.unique(_strip(points.y, height)[by_x], return_inverse=True)
        keys = strip * (len(points) + 1) + np.arange(len(points))
        order = np.argsort(keys)
        return PointStrips(height, strips, points.x[by_x], by_x[order], keys[order])

    def runs(self, bounds: Floats) -> Runs:
        """Find the points in boxes, including points of the same strip above or below a box.

        Parameters
        ----------
        bounds : ndarray, shape (m, 4)
            minx, miny, maxx, maxy, both ends included; they are found fastest in ascending order of minx.
        """
        low = np.searchsorted(self.x, bounds[:, 0], "left")
        high = np.searchsorted(self.x, bounds[:, 2], "right")
        bottom = np.searchsorted(self.strips, _strip(bounds[:, 1], self.height), "left")
        top = np.searchsorted(self.strips, _strip(bounds[:, 3], self.height), "right")
        width = len(self.x) + 1
        order = np.argsort(bottom * width + low)
        box, strip = _expand(bottom[order], (top - bottom)[order])
        keys = strip * width
        start = np.searchsorted(self.keys, keys + low[order][box])
        count = np.searchsorted(self.keys, keys + high[order][box]) - start
        some = np.flatnonzero(count)
        return Runs(order, box[some], start[some], count[some])


def _strip(y: Floats, height: float) -> Floats:
    """Return the numbers of the strips of coordinates, in ascending order with them; infinite on overflow."""
    if height == 0:
        return y
    with np.errstate(over="ignore"):
        return np.asarray(np.floor(y / height))


def _expand(start: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Expand runs of integers: return the run of each element, and the integer."""
    run = np.repeat(np.arange(len(count)), count)
    return run, np.arange(len(run)) + np.repeat(start - (np.cumsum(count) - count), count)
