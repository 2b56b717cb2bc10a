"""The index of a dimension table, which finds the rows to which geometries of a stream are related."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import shapely

from tailrace.ground.arrow.columns import Ints
from tailrace.spatial_join.geometry.geometries import AREAS, Geometries, Mask, Points, Shapes, geometries_of
from tailrace.spatial_join.geometry.metrics import Planar
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.search.pair_search import LocalIndex
from tailrace.spatial_join.search.pairs import NO_PAIRS, Pairs, ordered
from tailrace.spatial_join.table.area_searches import area_search
from tailrace.spatial_join.table.shape_search import ShapeSearch

How = Literal["raster", "edges", "rtree"]
"""The method that finds rows; all give the same pairs.

raster: points in polygons by cells, in mixed cells by the edge index. edges: an R-tree of envelopes, then ray casting
over indexed edges (paper 003, section 2.2). rtree: an R-tree of envelopes, then GEOS. Geometries that are not points
are searched by `ShapeSearch`; with rtree, by GEOS. Rows that are not polygons are always searched as with rtree.
"""


MOST_CELLS = 1 << 20
"""The size of the matrix of geometries and rows that is used to find rows without a partner."""


@dataclass(frozen=True, eq=False)
class TableIndex:
    """Finds the rows of a table to which geometries are related; an empty geometry is related to none.

    Attributes
    ----------
    shapes : RowSearch or LocalIndex
        Finds rows for any geometries.
    points : RowSearch
        Finds rows for points.
    rest_of : ndarray of bool or None, shape (r,)
        The rows that are not empty if the result is the complement of the found pairs, as for `disjoint`; otherwise
        None.
    """

    shapes: RowSearch | LocalIndex
    points: RowSearch
    rest_of: Mask | None

    @staticmethod
    def from_shapes(shapes: Shapes, relation: str, how: How = "raster") -> TableIndex:
        """Index the rows of a table for a relation of a stream's geometries to them.

        Parameters
        ----------
        shapes : ndarray of shapely geometries, shape (r,)
            The rows; valid or empty, never None.
        relation : str
            One of `relations.TOPOLOGICAL`.
        how : str
        """
        inverted = relation == "disjoint"
        relation = "intersects" if inverted else relation
        rest_of = ~shapely.is_empty(shapes) if inverted else None
        condition = _related(relation)
        by_shape = _by_envelopes(shapes, condition) if how == "rtree" else RowSearch.of_shapes(shapes, condition)
        return TableIndex(by_shape, RowSearch.of_points(shapes, relation, how), rest_of)

    def matches(self, left: Geometries) -> Pairs:
        """Find the pairs of a geometry and a row, ascending by the geometry, then by the row."""
        search = self.points if isinstance(left, Points) else self.shapes
        pairs = ordered(search.matches(left))
        return pairs if self.rest_of is None else _rest(pairs, left, self.rest_of)


@dataclass(frozen=True, eq=False)
class RowSearch:
    """Finds the rows to which geometries are related: polygons by a separate search, other rows by their envelopes.

    Attributes
    ----------
    areas : callable
        Finds the related polygons, in ascending order of the geometry, then of the polygon.
    area_rows : ndarray
        The rows that are polygons or multipolygons.
    others : LocalIndex
    other_rows : ndarray
        All other rows.
    """

    areas: Callable[[Any], Pairs]
    area_rows: Ints
    others: LocalIndex
    other_rows: Ints

    @staticmethod
    def of_points(shapes: Shapes, relation: str, how: How) -> RowSearch:
        """Index rows for a relation, except `disjoint`, of points to them."""
        areas = _areas(shapes)
        return RowSearch._of(area_search(shapes[areas], relation, how).find, areas, shapes, _related(relation))

    @staticmethod
    def of_shapes(shapes: Shapes, condition: Condition) -> RowSearch:
        """Index rows for a condition, except `disjoint`, of any geometries with them."""
        areas = _areas(shapes)
        return RowSearch._of(ShapeSearch(shapes[areas], condition).matches, areas, shapes, condition)

    @staticmethod
    def _of(search: Callable[[Any], Pairs], areas: Mask, shapes: Shapes, condition: Condition) -> RowSearch:
        others = _by_envelopes(shapes[~areas], condition)
        return RowSearch(search, np.flatnonzero(areas), others, np.flatnonzero(~areas))

    def matches(self, left: Geometries) -> Pairs:
        """Find the pairs of a geometry and a row, ascending by the geometry, then by the row."""
        areas = self.areas(left)
        if not len(self.other_rows):
            return areas
        others = self.others.matches(left)
        numbered = Pairs(areas.left, self.area_rows[areas.right]), Pairs(others.left, self.other_rows[others.right])
        return ordered(Pairs.joined(numbered))


def _areas(shapes: Shapes) -> Mask:
    return np.isin(shapely.get_type_id(shapes), AREAS)


def _related(relation: str) -> Condition:
    return Condition(relation, None, Planar())


def _by_envelopes(shapes: Shapes, condition: Condition) -> LocalIndex:
    return LocalIndex.from_geometries(geometries_of(shapes), condition)


def _rest(pairs: Pairs, left: Geometries, rows: Mask) -> Pairs:
    """Return the pairs of a geometry and a row, both not empty, that were not found."""
    is_there = np.ones(len(left), bool) if isinstance(left, Points) else ~shapely.is_empty(left.shapes)
    step = max(MOST_CELLS // max(len(rows), 1), 1)
    parts = [NO_PAIRS]
    for first in range(0, len(left), step):
        rest = is_there[first : first + step, None] & rows
        low, high = np.searchsorted(pairs.left, [first, first + step])
        rest[pairs.left[low:high] - first, pairs.right[low:high]] = False
        geometry, row = np.nonzero(rest)
        parts.append(Pairs(geometry + first, row))
    return Pairs.joined(parts)
