"""Point in polygon by ray casting over indexed edges (paper 003, section 2.2, algorithm 1): exact, in columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.spatial_join.geometry.geometries import Mask, Points, Shapes
from tailrace.spatial_join.table.edge_strips import EdgeStrips

INTERIOR, BOUNDARY, EXTERIOR = 1, 0, -1

Locations = NDArray[np.int8]
"""INTERIOR, BOUNDARY or EXTERIOR, shape (n,)."""

PAIRS = 1 << 14
"""The number of (point, row) pairs of a block, so that its columns stay in the cache."""

_RELATIVE_ERROR = 4e-16  # more than (3 + 16ε)ε, Shewchuk's filter for the sign of a 2 × 2 determinant
_ABSOLUTE_ERROR = 1e-290  # more than the error of products that underflow


@dataclass(frozen=True, eq=False)
class PolygonEdges:
    """The edges of polygons and multipolygons, holes included, each from its lower to its upper end.

    Attributes
    ----------
    row : ndarray, shape (e,)
        The row of the geometry that an edge bounds; ascending.
    part : ndarray, shape (e,)
        The polygon that it bounds, by its number among the polygons of all rows; ascending.
    x1, y1, x2, y2 : ndarray, shape (e,)
        Both ends; y1 ≤ y2.
    """

    row: Ints
    part: Ints
    x1: Floats
    y1: Floats
    x2: Floats
    y2: Floats

    @staticmethod
    def from_shapes(shapes: Shapes) -> PolygonEdges:
        """Build the edges of all geometries.

        Geometries without an area have none, and edges of no length are left out.
        """
        parts, row_of_part = shapely.get_parts(shapes, return_index=True)
        rings, part_of_ring = shapely.get_rings(parts, return_index=True)
        places, ring = shapely.get_coordinates(rings, return_index=True)
        start, end = places[:-1], places[1:]
        real = (ring[:-1] == ring[1:]) & (start != end).any(axis=1)
        start, end, part = start[real], end[real], part_of_ring[ring[:-1][real]]
        upward = (start[:, 1] <= end[:, 1])[:, None]
        lower, upper = np.where(upward, start, end), np.where(upward, end, start)
        return PolygonEdges(row_of_part[part], part, *(np.ascontiguousarray(end) for end in (*lower.T, *upper.T)))

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: Ints) -> PolygonEdges:
        """Select edges by index."""
        ends = (end[rows] for end in (self.x1, self.y1, self.x2, self.y2))
        return PolygonEdges(self.row[rows], self.part[rows], *ends)

    def envelopes(self, of: Ints) -> tuple[Ints, Floats]:
        """Return the envelopes of edges by group: the distinct values of `of`, shape (k,), and bounds, (k, 4).

        Parameters
        ----------
        of : ndarray, shape (e,)
            The group of each edge, such as its row or part; ascending.
        """
        distinct, first = np.unique(of, return_index=True)
        left, right = np.minimum(self.x1, self.x2), np.maximum(self.x1, self.x2)
        lows = (np.minimum.reduceat(side, first) for side in (left, self.y1))
        highs = (np.maximum.reduceat(side, first) for side in (right, self.y2))
        return distinct, np.column_stack([*lows, *highs])


@dataclass(frozen=True, eq=False)
class EdgeIndex:
    """The edges of a table's polygons in horizontal strips: a point is only compared with edges that its ray can cross.

    If doubles can't decide the sign of an orientation, unprepared GEOS does, so all results agree with GEOS.

    Attributes
    ----------
    shapes : ndarray of shapely geometries, shape (r,)
        The table's rows; valid. Rows without an area have no edges, and every point is in their exterior.
    edges : PolygonEdges
        All edges, once each.
    strips : EdgeStrips
    entries : PolygonEdges
        The edges of each strip, strip by strip.
    """

    shapes: Shapes
    edges: PolygonEdges
    strips: EdgeStrips
    entries: PolygonEdges

    @staticmethod
    def from_shapes(shapes: Shapes) -> EdgeIndex:
        """Index the edges of all rows."""
        edges = PolygonEdges.from_shapes(shapes)
        strips, edge_of_entry = EdgeStrips.from_intervals(edges.row, edges.y1, edges.y2, len(shapes))
        return EdgeIndex(shapes, edges, strips, edges.take(edge_of_entry))

    def locate(self, points: Points, rows: Ints) -> Locations:
        """Return the location of the i-th point relative to the i-th row's polygon; shape (n,)."""
        located = np.full(len(points), EXTERIOR, np.int8)
        if len(self.edges):
            for first in range(0, len(points), PAIRS):
                block = slice(first, first + PAIRS)
                located[block] = self._locate(points.take(block), rows[block])
        return located

    def _locate(self, points: Points, rows: Ints) -> Locations:
        first, count = self.strips.entries_at(rows, points.y)
        pair = np.repeat(np.arange(len(points)), count)
        entry = np.arange(len(pair)) + np.repeat(first - np.cumsum(count) + count, count)
        near = self._may_meet(points, pair, entry)
        pair, edges = pair[near], self.entries.take(entry[near])
        x, y = points.x[pair], points.y[pair]
        beside = np.minimum(edges.x1, edges.x2) <= x  # only here can the ray miss the edge
        sign, is_exact_zero = orientation(edges, x, y, beside)
        crossed = (y < edges.y2) & ((sign > 0) | ~beside)
        odd = np.bincount(pair[crossed], minlength=len(points)) & 1
        located = np.where(odd, INTERIOR, EXTERIOR).astype(np.int8)
        doubtful = np.zeros(len(points), bool)
        doubtful[pair[beside & (sign == 0)]] = True
        located[pair[is_exact_zero]] = BOUNDARY
        asked = np.flatnonzero(doubtful & (located != BOUNDARY))
        located[asked] = located_by_geos(points.take(asked), self.shapes[rows[asked]])
        return located

    def _may_meet(self, points: Points, pair: Ints, entry: Ints) -> Ints:
        """Return the entries whose edges are level with the point, ends included, and reach to its right."""
        level = (self.entries.y1[entry] <= points.y[pair]) & (self.entries.y2[entry] >= points.y[pair])
        near = np.flatnonzero(level)
        pair, entry = pair[near], entry[near]
        return near[np.maximum(self.entries.x1[entry], self.entries.x2[entry]) >= points.x[pair]]


def orientation(edges: PolygonEdges, x: Floats, y: Floats, wanted: Mask) -> tuple[Floats, Mask]:
    """Return on which side of upward edges points lie, and for which points the side is surely 0.

    The side is the sign where this is certain, else 0.

    Parameters
    ----------
    edges : PolygonEdges, length n
    x, y : ndarray, shape (n,)
        Points in the envelopes of the edges.
    wanted : ndarray of bool, shape (n,)
        The rows of interest; all others are 0, but not surely.

    Returns
    -------
    sign : ndarray, shape (n,)
        Positive on the left, so that a ray to the right crosses; negative on the right; 0 where doubles can't decide.
    is_exact_zero : ndarray of bool, shape (n,)
        Whether the point surely lies on the edge: it is one of its ends, or has the coordinate that both ends share.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        left_x, left_y = edges.x1 - x, edges.y1 - y
        right_x, right_y = edges.x2 - x, edges.y2 - y
        one, other = left_x * right_y, left_y * right_x
        value = one - other
        certain = np.abs(value) > _RELATIVE_ERROR * (np.abs(one) + np.abs(other)) + _ABSOLUTE_ERROR  # not for NaN
    factors_zero = ((left_x == 0) | (right_y == 0)) & (
        (left_y == 0) | (right_x == 0)
    )  # a difference is 0 only if both are equal
    return np.where(certain & wanted, value, 0.0), wanted & factors_zero


def located_by_geos(points: Points, shapes: Shapes) -> Locations:
    """Locate the i-th point relative to the i-th geometry by GEOS's unprepared predicates; shape (n,)."""
    if not len(points):
        return np.zeros(0, np.int8)
    ends = points.shapes
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        inside, met = shapely.within(ends, shapes), shapely.intersects(ends, shapes)
    return np.where(inside, INTERIOR, np.where(met, BOUNDARY, EXTERIOR)).astype(np.int8)
