"""Search for the polygons of a table to which lines, polygons and other geometries are related.

No edge of a polygon meets the box around most geometries: such a geometry lies wholly inside or outside the polygon, so
one vertex decides. Where edges come near, a vertex inside may decide, too; the condition is tested for the other pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import shapely

from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.spatial_join.geometry.chords import squares
from tailrace.spatial_join.geometry.geometries import Geometries, Points, Shaped, Shapes
from tailrace.spatial_join.search.condition import DWITHIN, Condition
from tailrace.spatial_join.search.pair_search import BLOCK, LocalIndex
from tailrace.spatial_join.search.pairs import Pairs
from tailrace.spatial_join.search.queries import Queries
from tailrace.spatial_join.table.area_searches import AreaSearch, area_search
from tailrace.spatial_join.table.edge_index import PolygonEdges

_MEETING = frozenset({"intersects", DWITHIN})
"""Relations that hold if the polygon contains any point of the geometry."""

_COVERED = frozenset({"within", "covered_by"})
"""Relations that need the polygon to contain all points of the geometry, and so the vertex."""

MOST_RUNS = 1 << 18
"""The most boxes that the edges of a table have, of some 400 bytes each."""


@dataclass(frozen=True, eq=False)
class ShapeSearch:
    """Finds the polygons and multipolygons that fulfil a condition, other than `disjoint`, with geometries of any type.

    Attributes
    ----------
    areas : ndarray of shapely geometries, shape (r,)
        Valid or empty.
    condition : Condition
    """

    areas: Shapes
    condition: Condition

    def matches(self, left: Geometries) -> Pairs:
        """Find the pairs of a geometry and a polygon, each once, in ascending order."""
        vertices = first_vertices(left)
        inside, (near, close) = self._inside(vertices), self._near(left, vertices)
        relation = self.condition.relation
        if relation in _MEETING:
            accepted = np.union1d(inside, close)
            asked = np.setdiff1d(near, accepted, assume_unique=True)
        elif relation in _COVERED:
            is_near = np.isin(inside, near, assume_unique=True)
            accepted, asked = inside[~is_near], inside[is_near]
        else:
            accepted, asked = near[:0], near
        return self._pairs(np.sort(np.concatenate([accepted, self._tested(left, asked)])))

    def _inside(self, vertices: Vertices) -> Ints:
        """Return the keys of pairs whose polygon, with its border, contains the geometry's vertex; ascending."""
        if self.condition.relation not in _MEETING | _COVERED:
            return np.zeros(0, np.int64)
        pairs = self._vertex_search.find(vertices.points)
        return self._keys(Pairs(vertices.owner[pairs.left], pairs.right))

    def _near(self, left: Geometries, vertices: Vertices) -> tuple[Ints, Ints]:
        """Return the keys of pairs with an edge of the polygon that meets the geometry's box; ascending.

        Also return the keys of pairs among them with two vertices that are surely within the distance.
        """
        limit, metric = self.condition.limit, self.condition.metric
        sure = -1.0 if limit is None else metric.chords(limit).sure
        places = metric.places(vertices.points) if sure >= 0 else np.zeros((0, 0))
        near, close = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for geometry, run in self._runs.boxes.candidates(Queries(left, self.condition), swapped=False):
            keys = self._keys(Pairs(geometry, self._runs.row[run]))
            near.append(np.unique(keys))
            if sure >= 0:
                vertex = np.searchsorted(vertices.owner, geometry)
                close.append(keys[squares(places, self._runs.places, vertex, run) <= sure * sure])
        return np.unique(np.concatenate(near)), np.unique(np.concatenate(close))

    def _tested(self, left: Geometries, keys: Ints) -> Ints:
        """Return the keys of pairs that fulfil the condition, by their geometries."""
        areas, holds = Shaped(self.areas), np.zeros(len(keys), bool)
        for begin in range(0, len(keys), BLOCK):
            pairs = self._pairs(keys[begin : begin + BLOCK])
            holds[begin : begin + BLOCK] = self.condition.holds(left.take(pairs.left), areas.take(pairs.right))
        return keys[holds]

    def _keys(self, pairs: Pairs) -> Ints:
        return pairs.left * len(self.areas) + pairs.right

    def _pairs(self, keys: Ints) -> Pairs:
        return Pairs(*np.divmod(keys, max(len(self.areas), 1)))

    @cached_property
    def _vertex_search(self) -> AreaSearch:
        return area_search(self.areas, "covered_by", "raster")

    @cached_property
    def _runs(self) -> _Runs:
        edges, metric = PolygonEdges.from_shapes(self.areas), self.condition.metric
        length = -(-len(edges) // MOST_RUNS) or 1
        index = np.arange(len(edges)) - np.searchsorted(edges.row, edges.row)
        starts = index % length == 0
        _, bounds = edges.envelopes(np.cumsum(starts))
        boxes = np.asarray(shapely.linestrings(bounds.reshape(-1, 2, 2)), object)
        vertices = Points(edges.x1[starts], edges.y1[starts])
        return _Runs(
            LocalIndex.from_geometries(Shaped(boxes), self.condition), edges.row[starts], metric.places(vertices)
        )


class Vertices(NamedTuple):
    """A vertex of each geometry that is not empty, and the geometry's row, ascending."""

    points: Points
    owner: Ints


def first_vertices(geometries: Geometries) -> Vertices:
    """Return the first vertex of each geometry that is not empty."""
    if isinstance(geometries, Points):
        return Vertices(geometries, np.arange(len(geometries)))
    coordinates, owner = shapely.get_coordinates(geometries.shapes, return_index=True)
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    return Vertices(Points(*np.ascontiguousarray(coordinates[first].T)), owner[first])


class _Runs(NamedTuple):
    """Runs of consecutive edges of polygons, each a single edge in all but the largest tables.

    Attributes
    ----------
    boxes : LocalIndex
        The diagonals of their envelopes.
    row : ndarray, shape (e,)
        Their polygons.
    places : ndarray, shape (d, e)
        The place of a vertex of each.
    """

    boxes: LocalIndex
    row: Ints
    places: Floats
