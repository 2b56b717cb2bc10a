"""Pairs of rows of two sides, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tailrace.ground.columns import Ints
from tailrace.spatial_join.geometries import Mask


class Pairs(NamedTuple):
    """Pairs of a row of the left side and a row of the right one; shape (p,) each."""

    left: Ints
    right: Ints

    def take(self, rows: Ints | Mask) -> Pairs:
        """Select pairs by index or mask."""
        return Pairs(self.left[rows], self.right[rows])


NO_PAIRS = Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64))


def joined(parts: Sequence[Pairs]) -> Pairs:
    """All pairs of some parts, one part after another; there is at least one."""
    return Pairs(np.concatenate([part.left for part in parts]), np.concatenate([part.right for part in parts]))


def ordered(pairs: Pairs) -> Pairs:
    """Sort pairs by their left row, then by their right one."""
    key = pairs.left * (pairs.right.max(initial=0) + 1) + pairs.right
    return pairs if (key[1:] >= key[:-1]).all() else pairs.take(np.argsort(key, kind="stable"))
