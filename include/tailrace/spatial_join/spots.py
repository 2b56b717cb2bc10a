"""Positions of pairs on the curve of cells, by which each pair belongs to one task."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tailrace.ground.columns import Floats, Ints, group_sums
from tailrace.partition.by_cell import fraction
from tailrace.partition.grid import Grid
from tailrace.spatial_join.condition import Condition
from tailrace.spatial_join.geometries import Geometries, Mask, Points
from tailrace.spatial_join.pairs import Pairs


class Spots(NamedTuple):
    """Positions on the curve of cells (`partition.by_cell`), which assign pairs to tasks.

    Attributes
    ----------
    cell, part : ndarray, shape (s,)
        The cell of each spot, and the fraction of its right row.
    of_pair : ndarray, shape (m,)
        The spot of each pair.
    """

    cell: Ints
    part: Floats
    of_pair: Ints

    @staticmethod
    def from_pairs(
        grid: Grid, condition: Condition, left: Geometries, right: Geometries, pairs: Pairs, right_ids: pa.Array
    ) -> Spots:
        """Return the spots of the reference points of pairs.

        The reference point of two points is the right one, so that pairs of one right row share a spot. For other
        geometries it is the lower left corner of the intersection of the pair's boxes.
        """
        is_used = np.zeros(len(right), bool)
        is_used[pairs.right] = True
        used, number = np.flatnonzero(is_used), np.cumsum(is_used) - 1
        part = fraction(right_ids.take(pa.array(used)))
        if isinstance(right, Points):
            return Spots(grid.cell(right.x[used], right.y[used]), part, number[pairs.right])
        x, y = _corners(condition, left.take(pairs.left).bounds, right.bounds[pairs.right])
        return Spots(grid.cell(x, y), part[number[pairs.right]], np.arange(len(x)))

    @property
    def position(self) -> Floats:
        return self.cell + self.part

    def loads(self, owned: Mask) -> dict[str, Floats]:
        """Return the number of owned pairs by cell, see `kind.step.Step`."""
        count = np.bincount(self.of_pair[owned], minlength=len(self.cell))
        cells, (load,) = group_sums(self.cell[count > 0], count[count > 0].astype(float))
        return {"cell": cells.astype(float), "load": load}


def _corners(condition: Condition, left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return the lower left corner of each pair's intersection: of the widened left and the right envelope."""
    boxes = condition.boxes(left)
    mine, theirs = boxes.bounds, right[boxes.row]
    meets = ((mine[:, :2] <= theirs[:, 2:]) & (theirs[:, :2] <= mine[:, 2:])).all(axis=1)
    corner = np.maximum(mine[:, :2], theirs[:, :2])
    x, y = right[:, 0].copy(), right[:, 1].copy()
    row = boxes.row[meets][::-1]  # of equal indices the last assignment stays: the first box's
    x[row], y[row] = corner[meets][::-1].T
    return x, y
