"""Grid of cells over an extent of the plane (paper 003, section 2.1 and Algorithm 3), numbered along a Z-curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.ground.arrow.columns import Floats, Ints

MOST_CELLS = 1024
"""The most cells along a side, so that a double holds a cell's number with a fraction."""


@dataclass(frozen=True)
class Grid:
    """n × n cells over an extent. A point outside the extent belongs to the nearest cell of its border.

    Neighbours in the plane are mostly neighbours on the Z-curve, along which cells are numbered.

    Attributes
    ----------
    extent : tuple of float
        minx, miny, maxx, maxy: finite, and each minimum below its maximum.
    n : int
        From 1 to `MOST_CELLS`.
    """

    extent: tuple[float, float, float, float]
    n: int

    @property
    def numbers(self) -> int:
        """One more than the largest number of a cell."""
        return int(4 ** (self.n - 1).bit_length())

    def cell(self, x: Floats, y: Floats) -> Ints:
        """Return the number of the cell that contains each point, shape (m,)."""
        low_x, low_y, high_x, high_y = self.extent
        return _interleaved(self._steps(x, low_x, high_x), self._steps(y, low_y, high_y))

    def places(self, cells: Ints) -> tuple[Ints, Ints]:
        """Return the column and the row of each cell, from 0 to n − 1; shape (m,) each."""
        return _compacted(cells), _compacted(cells >> 1)

    def cells(self, boxes: Floats) -> tuple[Ints, Ints]:
        """Return all cells that each box meets: the index of the box, and the number of the cell; shape (k,) each.

        Parameters
        ----------
        boxes : ndarray, shape (m, 4)
            minx, miny, maxx, maxy.
        """
        x, y, width, height = self._span(boxes)
        counts = width * height
        box = np.repeat(np.arange(len(boxes)), counts)
        index = np.arange(len(box)) - np.repeat(np.cumsum(counts) - counts, counts)
        up, right = np.divmod(index, width[box])
        return box, _interleaved(x[box] + right, y[box] + up)

    def counts(self, boxes: Floats) -> Ints:
        """Return the number of cells that each box meets, shape (m,)."""
        _, _, width, height = self._span(boxes)
        return width * height

    def _span(self, boxes: Floats) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the column and row of the first cell of each box, and the numbers of its columns and rows."""
        low_x, low_y, high_x, high_y = self.extent
        columns = [self._steps(boxes[:, side], low_x, high_x) for side in (0, 2)]
        rows = [self._steps(boxes[:, side], low_y, high_y) for side in (1, 3)]
        return columns[0], rows[0], columns[1] - columns[0] + 1, rows[1] - rows[0] + 1

    def _steps(self, values: Floats, low: float, high: float) -> Ints:
        """Return the column or row of each coordinate, from 0 to n − 1.

        The result is monotone, so a box has all cells between its ends.
        """
        with np.errstate(over="ignore"):  # an overflow means outside
            steps = np.floor((values - low) / (high - low) * self.n)
        return np.clip(steps, 0, self.n - 1).astype(np.int64)


def _interleaved(column: Ints, row: Ints) -> Ints:
    return _spread(column) | (_spread(row) << 1)


def _spread(number: Ints) -> Ints:
    """Put a zero between the bits of numbers below 2^16."""
    for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        number = (number | (number << shift)) & mask
    return number


def _compacted(number: Ints) -> Ints:
    """Return every other bit, from the lowest on, of numbers below 2^32: the inverse of `_spread`."""
    number = number & 0x55555555
    for shift, mask in ((1, 0x33333333), (2, 0x0F0F0F0F), (4, 0x00FF00FF), (8, 0x0000FFFF)):
        number = (number | (number >> shift)) & mask
    return number
