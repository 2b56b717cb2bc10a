"""The search for any geometries: an R-tree of envelopes, or all rows, and an exact test of each candidate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import shapely

from tailrace.ground.columns import Floats, Ints
from tailrace.spatial_join.geometries import Geometries, Mask
from tailrace.spatial_join.pairs import NO_PAIRS, Pairs, ordered

Widen = Callable[[Floats], tuple[Floats, Ints]]
"""Makes of envelopes, shape (n, 4), the boxes to search, shape (m, 4), and the envelope of each, shape (m,)."""

Test = Callable[[Geometries, Geometries], Mask]
"""Tells whether the i-th left geometry and the i-th right one are a pair."""

_BLOCK = 1 << 12
"""The number of left geometries whose candidates are held at once."""

_TESTED = 1 << 16
"""The number of candidates that are tested at once."""


@dataclass(frozen=True, eq=False)
class ShapeSearch:
    """Candidates are rows whose envelope meets the widened one of the left geometry; a test decides.

    Attributes
    ----------
    table : Geometries
    tree : STRtree or None
        The envelopes of the rows; without it all rows are candidates.
    test : callable
    widen : callable or None
        Where it is not given, envelopes are searched as they are.
    """

    table: Geometries
    tree: shapely.STRtree | None
    test: Test
    widen: Widen | None = None

    def find(self, left: Geometries) -> Pairs:
        """The pairs of a left geometry and a row that are related, in ascending order of the left one, then the row."""
        parts = [NO_PAIRS]
        for first in range(0, len(left), _BLOCK):
            block = left.take(slice(first, first + _BLOCK))
            found = tested(self.test, block, self.table, self._candidates(block))
            parts.append(Pairs(found.left + first, found.right))
        return Pairs.joined(parts)

    def _candidates(self, block: Geometries) -> Pairs:
        if self.tree is None:
            rows = np.arange(len(self.table))
            return Pairs(np.repeat(np.arange(len(block)), len(rows)), np.tile(rows, len(block)))
        if self.widen is None:
            return ordered(Pairs(*self.tree.query(block.shapes)))
        boxes, owner = self.widen(block.bounds)
        box, row = self.tree.query(shapely.box(*boxes.T))
        pairs = ordered(Pairs(owner[box], row))
        is_new = np.ones(len(pairs.left), bool)  # two boxes of one geometry may meet the same row
        is_new[1:] = (np.diff(pairs.left) != 0) | (np.diff(pairs.right) != 0)
        return pairs.take(is_new)


def tested(test: Test, left: Geometries, table: Geometries, candidates: Pairs) -> Pairs:
    """The candidates, pairs of a left geometry and a row, that pass a test; not all are held as geometries at once."""
    is_pair = np.zeros(len(candidates.left), bool)
    for first in range(0, len(is_pair), _TESTED):
        some = slice(first, first + _TESTED)
        is_pair[some] = test(left.take(candidates.left[some]), table.take(candidates.right[some]))
    return candidates.take(is_pair)
