"""Searches for the polygons of a table to which points are related: raster, edge index and R-tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import shapely

from tailrace.spatial_join.geometry.geometries import Mask, Points, Shapes
from tailrace.spatial_join.search.pairs import NO_PAIRS, Pairs, ordered
from tailrace.spatial_join.table.edge_index import BOUNDARY, INTERIOR, EdgeIndex
from tailrace.spatial_join.table.raster import Raster, RasterCandidates
from tailrace.spatial_join.table.raster_levels import rasters_of

POINT_IN_AREA: dict[str, frozenset[int]] = {
    "within": frozenset({INTERIOR}),
    "covered_by": frozenset({INTERIOR, BOUNDARY}),
    "intersects": frozenset({INTERIOR, BOUNDARY}),
    "touches": frozenset({BOUNDARY}),
    **dict.fromkeys(("equals", "crosses", "contains", "overlaps", "covers"), frozenset[int]()),
}
"""The locations at which a point has the relation to a polygon; disjoint is the complement of intersects."""

_CONVERSE: dict[str, Callable[..., Mask]] = {
    "within": shapely.contains,
    "covered_by": shapely.covers,
    "intersects": shapely.intersects,
    "touches": shapely.touches,
}
"""The relations of a polygon to points. GEOS prepares the left geometry, and its prepared predicates are exact for
points.
"""

BLOCK = 1 << 14
"""The number of points in a block; a shapely object is created for each."""


class AreaSearch(Protocol):
    """A search for the polygons of a table to which points have a relation."""

    def find(self, points: Points) -> Pairs:
        """Find the related pairs, in ascending order of the point, then of the row."""
        ...


@dataclass(frozen=True, eq=False)
class RasterSearch:
    """A search that answers points in covered cells without geometry, and points in mixed cells by the edge index.

    Attributes
    ----------
    rasters : sequence of Raster
        At least one.
    index : EdgeIndex
    locations : frozenset of int
        The locations at which a point has the relation.
    """

    rasters: Sequence[Raster]
    index: EdgeIndex
    locations: frozenset[int]

    def find(self, points: Points) -> Pairs:
        """Find the pairs, see `AreaSearch`."""
        covered, others, is_certain = self._candidates(points)
        takes_interior = INTERIOR in self.locations
        accepted = is_certain & takes_interior
        doubtful = np.flatnonzero(~is_certain)
        accepted[doubtful] = _is_located(self.index, self.locations, points, others.take(doubtful))
        others = ordered(others.take(accepted))
        return _merged(covered, others) if takes_interior else others

    def _candidates(self, points: Points) -> RasterCandidates:
        """Return the candidates of all rasters; each point has candidates in at most one of them."""
        parts = [raster.candidates(points) for raster in self.rasters]
        if len(parts) == 1:
            return parts[0]
        covered, others, is_certain = zip(*parts, strict=True)
        return RasterCandidates(ordered(Pairs.joined(covered)), Pairs.joined(others), np.concatenate(is_certain))


@dataclass(frozen=True, eq=False)
class EdgeSearch:
    """The paper's two levels: an R-tree of the rows' envelopes, then ray casting over indexed edges (algorithm 1)."""

    tree: shapely.STRtree
    index: EdgeIndex
    locations: frozenset[int]

    def find(self, points: Points) -> Pairs:
        """Find the pairs, see `AreaSearch`."""
        parts = [NO_PAIRS]
        for block, _, pairs in _by_envelopes(self.tree, points):
            related = pairs.take(_is_located(self.index, self.locations, points.take(block), pairs))
            parts.append(Pairs(related.left + block.start, related.right))
        return Pairs.joined(parts)


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """An R-tree of the rows' envelopes, then GEOS's predicate of prepared polygons."""

    tree: shapely.STRtree
    prepared: Shapes
    relation: str

    def find(self, points: Points) -> Pairs:
        """Find the pairs, see `AreaSearch`."""
        parts = [NO_PAIRS]
        for block, shapes, pairs in _by_envelopes(self.tree, points):
            related = pairs.take(_CONVERSE[self.relation](self.prepared[pairs.right], shapes[pairs.left]))
            parts.append(Pairs(related.left + block.start, related.right))
        return Pairs.joined(parts)


class NoSearch:
    """A search that finds nothing: no polygon is related to any point."""

    def find(self, points: Points) -> Pairs:
        """Find the pairs, see `AreaSearch`."""
        return NO_PAIRS


def area_search(areas: Shapes, relation: str, how: str) -> AreaSearch:
    """Build the search for polygons and multipolygons by its name: raster, edges or rtree.

    Edges are searched instead of a raster if doubles can't number its cells, or there are no polygons.
    """
    locations = POINT_IN_AREA[relation]
    if not locations:
        return NoSearch()
    if how in ("raster", "edges"):
        index = EdgeIndex.from_shapes(areas)
        rasters = rasters_of(index) if how == "raster" else None
        if rasters is not None:
            return RasterSearch(rasters, index, locations) if rasters else NoSearch()
        return EdgeSearch(shapely.STRtree(areas), index, locations)
    prepared = np.asarray(shapely.force_2d(areas), object)  # copies, so that nobody else gets prepared geometries
    shapely.prepare(prepared)
    return TreeSearch(shapely.STRtree(areas), prepared, relation)


def _is_located(index: EdgeIndex, locations: frozenset[int], points: Points, pairs: Pairs) -> Mask:
    return np.isin(index.locate(points.take(pairs.left), pairs.right), list(locations))


def _by_envelopes(tree: shapely.STRtree, points: Points) -> Iterator[tuple[slice, Shapes, Pairs]]:
    """Yield blocks of points with their shapely objects, and the pairs of a point and an envelope that contains it."""
    for first in range(0, len(points), BLOCK):
        block = slice(first, first + BLOCK)
        shapes = points.take(block).shapes
        yield block, shapes, ordered(Pairs(*tree.query(shapes)))


def _merged(pairs: Pairs, others: Pairs) -> Pairs:
    """Merge two sets of ascending pairs that share no left row."""
    index = np.searchsorted(pairs.left, others.left) + np.arange(len(others.left))
    is_first = np.ones(len(pairs.left) + len(index), bool)
    is_first[index] = False
    merged = Pairs(np.empty(len(is_first), np.int64), np.empty(len(is_first), np.int64))
    for column, one, other in zip(merged, pairs, others, strict=True):
        column[is_first] = one
        column[index] = other
    return merged
