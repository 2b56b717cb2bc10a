"""Distance limits decided by chords, the straight lengths between places in space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.spatial_join.geometry.geometries import Mask


class Chords(NamedTuple):
    """Chords that decide a limit: pairs up to `sure` are within it, pairs over `most` are not, others are measured.

    `sure` is negative if all pairs up to `most` are measured.
    """

    sure: float
    most: float

    def decide(self, squares: Floats) -> tuple[Mask, Ints]:
        """Decide pairs by the squares of their chords, shape (n,).

        Returns
        -------
        near : ndarray of bool, shape (n,)
        unsure : ndarray of int64
            The indices of near pairs that must be measured.
        """
        near: Mask = squares <= self.most * self.most
        if self.sure < 0:
            return near, np.flatnonzero(near)
        return near, np.flatnonzero(near & (squares > self.sure * self.sure))


def squares(left: Floats, right: Floats, left_rows: Ints | slice, right_rows: Ints | slice) -> Floats:
    """Return the squared chords of places, shapes (d, n) and (d, m), paired by rows; infinite on overflow."""
    total: Floats | None = None
    with np.errstate(over="ignore"):
        for a, b in zip(left, right, strict=True):  # one coordinate at a time, so that blocks stay in the cache
            part = a[left_rows] - b[right_rows]
            part *= part
            total = part if total is None else np.add(total, part, out=total)
    assert total is not None
    return total
