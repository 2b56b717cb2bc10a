"""A raster of a table's polygons with cells inside, outside or mixed; most points are answered by their cell alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Ints
from tailrace.spatial_join.geometry.geometries import Mask, Points
from tailrace.spatial_join.search.pairs import NO_PAIRS, Pairs
from tailrace.spatial_join.table.cells import BITS, RasterFrame

BLOCK = 1 << 15
"""The number of points of a block, so that its columns stay in the cache."""


_NO_ENTRIES = np.zeros(0, np.int32)

_COVERED, _LISTED = 1, 2
"""Kinds of cells besides empty ones (0): covered by one row, with no other near; and all others."""


class RasterCandidates(NamedTuple):
    """The pairs of a point and a row whose polygon contains the point, and the pairs for which this is not known.

    Attributes
    ----------
    covered : Pairs
        Points in cells that one polygon covers and no other approaches; in ascending order of the point.
    others : Pairs
        Points in all other cells, with each row that covers the cell or has edges there; unordered.
    is_certain : ndarray of bool, shape (p,)
        The pairs among `others` whose polygon covers the cell; geometry decides the rest.
    """

    covered: Pairs
    others: Pairs
    is_certain: Mask


@dataclass(frozen=True, eq=False)
class Contents:
    """The rows of cells as linked lists: a cell refers to an entry, and each entry to the next one; entry 0 is the end.

    Attributes
    ----------
    row : ndarray, shape (c,)
        The row of each entry.
    is_certain : ndarray of bool, shape (c,)
        Whether the row's polygon covers the cells, so that no point of them lies on its boundary.
    rest : ndarray, shape (c,)
        The next entry of the list.
    """

    row: Ints
    is_certain: Mask
    rest: NDArray[np.int32]

    @cached_property
    def kinds(self) -> NDArray[np.int8]:
        """The kind of the list at an entry: empty (0), a single row that covers the cell (1), or another list (2)."""
        kinds = np.where(self.is_certain & (self.rest == 0), _COVERED, _LISTED).astype(np.int8)
        kinds[0] = 0
        return kinds


@dataclass(frozen=True, eq=False)
class Raster:
    """A tree of square grids: the root covers the frame, and cells crossed by edges are cut into finer grids.

    The number of edges decides the depth, and cells are only cut at edges. So distant polygons, and empty space between
    them, cost no memory.

    Attributes
    ----------
    frame : RasterFrame
    bits : tuple of int
        For each level, the bits of a cell's position along a side: grids of the level have 2**bits cells along each
        side.
    cells : ndarray of int32
        The cells of all grids, row by row, the root first. A cell has its entry in `contents`, or −1 − the index of the
        first cell of its finer grid.
    contents : Contents
    """

    frame: RasterFrame
    bits: tuple[int, ...]
    cells: NDArray[np.int32]
    contents: Contents

    def candidates(self, points: Points) -> RasterCandidates:
        """Return the rows to which points may be related: each point with the rows of its cell."""
        covered, others, entries = [NO_PAIRS], [NO_PAIRS.left], [_NO_ENTRIES]
        for first in range(0, len(points), BLOCK):
            entry = self._entries(points.take(slice(first, first + BLOCK)))
            kinds = self.contents.kinds.take(entry)
            alone, other = np.flatnonzero(kinds == _COVERED), np.flatnonzero(kinds == _LISTED)
            covered.append(Pairs(alone + first, self.contents.row.take(entry.take(alone))))
            others.append(other + first)
            entries.append(entry[other])
        return RasterCandidates(Pairs.joined(covered), *self._listed(np.concatenate(others), np.concatenate(entries)))

    def _listed(self, point: Ints, entry: NDArray[np.int32]) -> tuple[Pairs, Mask]:
        """Return each point with all rows of the list that begins at its entry, and whether they are certain."""
        points, entries = [NO_PAIRS.left], [_NO_ENTRIES]
        while len(point):
            points.append(point)
            entries.append(entry)
            more = np.flatnonzero(self.contents.rest[entry])
            point, entry = point[more], self.contents.rest[entry[more]]
        entry = np.concatenate(entries)
        return Pairs(np.concatenate(points), self.contents.row[entry]), self.contents.is_certain[entry]

    def _entries(self, points: Points) -> NDArray[np.int32]:
        """Return the first entry of the cell that contains each point."""
        x, y = self.frame.numbers(0, points.x), self.frame.numbers(1, points.y)
        shift = BITS - self.bits[0]
        entry = self.cells.take(((y >> shift) << self.bits[0]) + (x >> shift))
        at = np.flatnonzero(entry < 0)
        x, y = x[at], y[at]
        for bits in self.bits[1:]:
            shift -= bits
            last = (1 << bits) - 1
            child = self.cells.take(-1 - entry[at] + (((y >> shift) & last) << bits) + ((x >> shift) & last))
            entry[at] = child
            deeper = np.flatnonzero(child < 0)
            at, x, y = at[deeper], x[deeper], y[deeper]
        return entry
