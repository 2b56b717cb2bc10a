"""Finds the cells of a grid that edges cross or come near, in columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.spatial_join.table.cells import RasterFrame
from tailrace.spatial_join.table.edge_index import PolygonEdges

MARGIN = 1.0
"""The distance up to which an edge counts as crossing a cell, in units: far more than rounding errors."""


@dataclass(frozen=True, eq=False)
class UnitEdges:
    """Edges of polygons in the units of a frame, from left to right ends; each column of shape (e,)."""

    x1: Floats
    y1: Floats
    x2: Floats
    y2: Floats

    @staticmethod
    def from_edges(edges: PolygonEdges, frame: RasterFrame) -> UnitEdges:
        x1, x2 = frame.units(0, edges.x1), frame.units(0, edges.x2)
        y1, y2 = frame.units(1, edges.y1), frame.units(1, edges.y2)
        swap = x1 > x2
        ends = (x2, x1), (y2, y1), (x1, x2), (y1, y2)
        return UnitEdges(*(np.where(swap, other, one) for other, one in ends))


class CellBoxes(NamedTuple):
    """Rectangles of cells by their first and last columns and lines, shape (n,) each; cells are numbered by floor."""

    left: Ints
    bottom: Ints
    right: Ints
    top: Ints

    def take(self, rows: Ints) -> CellBoxes:
        """Select rectangles by index."""
        return CellBoxes(*(side[rows] for side in self))

    @property
    def widths(self) -> Ints:
        return np.asarray(np.maximum(self.right - self.left + 1, 0))

    @property
    def sizes(self) -> Ints:
        """The number of cells of each rectangle."""
        return np.asarray(self.widths * np.maximum(self.top - self.bottom + 1, 0))


def expand(first: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Concatenate ranges of integers: return the range's index and the integer of each element."""
    count = np.maximum(count, 0)
    index = np.repeat(np.arange(len(first)), count)
    return index, np.arange(len(index)) + np.repeat(first - np.cumsum(count) + count, count)


def crossed_cells(edges: UnitEdges, edge: Ints, boxes: CellBoxes, width: int) -> tuple[Ints, Ints, Ints]:
    """Return the cells in each edge's box that the edge approaches to less than the margin; perhaps some neighbours.

    An edge is cut by columns of cells. The ends of the part in a column, widened by the margin on both sides, determine
    the lines that it spans.

    Parameters
    ----------
    edge : ndarray, shape (n,)
        Indices of edges.
    boxes : CellBoxes, length n
        The cells of interest for each edge.
    width : int
        The side of a cell in units.

    Returns
    -------
    index, column, line : ndarray, shape (m,)
        The index into `edge`, and a cell.
    """
    x1, y1, x2, y2 = edges.x1[edge], edges.y1[edge], edges.x2[edge], edges.y2[edge]
    first = np.maximum(_number(x1 - MARGIN, width), boxes.left)
    index, column = expand(first, np.minimum(_number(x2 + MARGIN, width), boxes.right) - first + 1)
    x1, y1, rise = x1[index], y1[index], (y2 - y1)[index]
    run = x2[index] - x1
    is_steep = run < MARGIN  # too narrow to divide by: the whole edge counts for each column that it touches
    run = np.maximum(run, MARGIN)
    enters = np.where(is_steep, 0.0, np.clip((column * width - MARGIN - x1) / run, 0, 1))
    leaves = np.where(is_steep, 1.0, np.clip(((column + 1) * width + MARGIN - x1) / run, 0, 1))
    one, other = y1 + enters * rise, y1 + leaves * rise
    bottom = np.maximum(_number(np.minimum(one, other) - MARGIN, width), boxes.bottom[index])
    top = np.minimum(_number(np.maximum(one, other) + MARGIN, width), boxes.top[index])
    piece, line = expand(bottom, top - bottom + 1)
    return index[piece], column[piece], line


def _number(units: Floats, width: int) -> Ints:
    return np.floor(units / width).astype(np.int64)


def boxes_of(bounds: Floats, width: int) -> CellBoxes:
    """Return the cells that rectangles, in units as minx, miny, maxx, maxy, approach to less than the margin."""
    margins = np.array([-MARGIN, -MARGIN, MARGIN, MARGIN])
    return CellBoxes(*_number(bounds + margins, width).T)
