"""Pairs of rows of two sides, and the bounds on their event times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tailrace.ground.arrow.columns import Ints
from tailrace.spatial_join.geometry.geometries import Mask
from tailrace.windows.sliding import Sliding


class Pairs(NamedTuple):
    """Distinct pairs by their rows, in no particular order; shapes (p,)."""

    left: Ints
    right: Ints

    @property
    def swapped(self) -> Pairs:
        """The same pairs with the sides exchanged."""
        return Pairs(self.right, self.left)

    def take(self, rows: Ints | Mask) -> Pairs:
        """Select pairs by index or mask."""
        return Pairs(self.left[rows], self.right[rows])

    @staticmethod
    def joined(parts: Iterable[tuple[Ints, Ints]]) -> Pairs:
        """Concatenate pairs of several parts."""
        none = np.zeros(0, np.int64)
        left, right = zip((none, none), *parts, strict=True)
        return Pairs(np.concatenate(left), np.concatenate(right))


NO_PAIRS = Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64))


def ordered(pairs: Pairs) -> Pairs:
    """Sort pairs by their left row, then by their right one."""
    key = pairs.left * (pairs.right.max(initial=0) + 1) + pairs.right
    return pairs if (key[1:] >= key[:-1]).all() else pairs.take(np.argsort(key, kind="stable"))


class JoinInterval(NamedTuple):
    """The interval of event times of a join (paper 003, definition 6): lower ≤ right − left ≤ upper, in ms.

    Attributes
    ----------
    left_ms, right_ms : ndarray of int64, shapes (n,) and (m,)
        The event times of both sides.
    lower, upper : int
    windows : Sliding or None
        The windows of a window join, one of which must contain both tuples of a pair.
    """

    left_ms: Ints
    right_ms: Ints
    lower: int
    upper: int
    windows: Sliding | None = None

    @property
    def swapped(self) -> JoinInterval:
        """The same interval with the sides exchanged (Algorithm 4, line 10)."""
        return JoinInterval(self.right_ms, self.left_ms, -self.upper, -self.lower, self.windows)

    def hold(self, left: Ints, right: Ints) -> Mask:
        """Test pairs of rows; shape (p,)."""
        left_ms, right_ms = self.left_ms[left], self.right_ms[right]
        apart = right_ms - left_ms
        held = np.asarray((apart >= self.lower) & (apart <= self.upper))
        if self.windows is not None:
            held &= self.windows.share(left_ms, right_ms)
        return held
