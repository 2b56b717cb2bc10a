"""The index of a dimension table: the rows of the table to which geometries of a stream are related."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import shapely

from tailrace.ground.columns import Ints
from tailrace.spatial_join.area_searches import AreaSearch, area_search
from tailrace.spatial_join.condition import Condition
from tailrace.spatial_join.geometries import AREAS, Geometries, Mask, Points, Shapes, geometries_of
from tailrace.spatial_join.metrics import Planar
from tailrace.spatial_join.pair_search import LocalIndex
from tailrace.spatial_join.pairs import NO_PAIRS, Pairs, ordered

How = Literal["raster", "edges", "rtree"]
"""The method by which rows are found; the pairs are the same.

raster: points in polygons by cells, and in mixed ones by the edge index. edges: an R-tree of envelopes, then ray
casting over indexed edges (paper 003, section 2.2). rtree: an R-tree of envelopes, then GEOS. If a geometry is no
point, or a row no polygon, raster and edges are as rtree.
"""


_MOST_CELLS = 1 << 20
"""The size of a matrix of geometries and rows that is held to find those without a partner."""


@dataclass(frozen=True, eq=False)
class TableIndex:
    """Finds the rows of a table to which geometries are related; an empty geometry is related to none.

    Attributes
    ----------
    everything : LocalIndex
        Finds rows for any geometries.
    points : PointSearch
        Finds rows for points.
    rest_of : ndarray of bool or None, shape (r,)
        The rows that are not empty, if the answer is what the searches do not find, as of `disjoint`.
    """

    everything: LocalIndex
    points: PointSearch
    rest_of: Mask | None

    @staticmethod
    def of(shapes: Shapes, relation: str, how: How = "raster") -> TableIndex:
        """Index the rows of a table for a relation of a stream's geometries to them.

        Parameters
        ----------
        shapes : ndarray of shapely geometries, shape (r,)
            The rows; valid or empty, none is None.
        relation : str
            One of `relations.TOPOLOGICAL`.
        how : str
        """
        inverted = relation == "disjoint"
        relation = "intersects" if inverted else relation
        rest_of = ~shapely.is_empty(shapes) if inverted else None
        return TableIndex(_by_envelopes(shapes, relation), PointSearch.of(shapes, relation, how), rest_of)

    def matches(self, left: Geometries) -> Pairs:
        """The pairs of a geometry and a row, ascending by the geometry, then by the row."""
        pairs = self.points.find(left) if isinstance(left, Points) else ordered(self.everything.matches(left))
        return pairs if self.rest_of is None else _rest(pairs, left, self.rest_of)


@dataclass(frozen=True, eq=False)
class PointSearch:
    """Finds the rows to which points are related: polygons by an area search, all others by a search of shapes.

    Attributes
    ----------
    areas : AreaSearch
    area_rows : ndarray
        The rows that are polygons or multipolygons.
    others : LocalIndex
    other_rows : ndarray
        All other rows.
    """

    areas: AreaSearch
    area_rows: Ints
    others: LocalIndex
    other_rows: Ints

    @staticmethod
    def of(shapes: Shapes, relation: str, how: How) -> PointSearch:
        """Index rows for a relation, not `disjoint`, of points to them."""
        is_area = np.isin(shapely.get_type_id(shapes), AREAS)
        areas, rows = area_search(shapes[is_area], relation, how), np.arange(len(shapes))
        return PointSearch(areas, rows[is_area], _by_envelopes(shapes[~is_area], relation), rows[~is_area])

    def find(self, points: Points) -> Pairs:
        """The pairs of a point and a row, ascending by the point, then by the row."""
        areas = self.areas.find(points)
        if not len(self.other_rows):
            return areas
        others = self.others.matches(points)
        numbered = Pairs(areas.left, self.area_rows[areas.right]), Pairs(others.left, self.other_rows[others.right])
        return ordered(Pairs.joined(numbered))


def _by_envelopes(shapes: Shapes, relation: str) -> LocalIndex:
    return LocalIndex.of(geometries_of(shapes), Condition(relation, None, Planar()))


def _rest(pairs: Pairs, left: Geometries, rows: Mask) -> Pairs:
    """The pairs of geometries and rows, neither of them empty, that are not among those found."""
    is_there = np.ones(len(left), bool) if isinstance(left, Points) else ~shapely.is_empty(left.shapes)
    step = max(_MOST_CELLS // max(len(rows), 1), 1)
    parts = [NO_PAIRS]
    for first in range(0, len(left), step):
        rest = is_there[first : first + step, None] & rows
        low, high = np.searchsorted(pairs.left, [first, first + step])
        rest[pairs.left[low:high] - first, pairs.right[low:high]] = False
        geometry, row = np.nonzero(rest)
        parts.append(Pairs(geometry + first, row))
    return Pairs.joined(parts)
