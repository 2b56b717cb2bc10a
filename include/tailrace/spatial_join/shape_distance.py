"""Geodesic distances of lines, polygons and collections: the least distance between points of their edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely

from tailrace.ground.columns import Floats, Ints
from tailrace.spatial_join.edges import Edges, Level
from tailrace.spatial_join.ellipsoid import GEOD, POLAR, longest_chord, longest_geodesic, places_of
from tailrace.spatial_join.geometries import Geometries, Points, Shaped
from tailrace.spatial_join.pieces import Piece, halve, nearest_shares

_RELATIVE, _FAR_RELATIVE, _ABSOLUTE = 2.5e-7, 2.5e-6, 1e-4
"""Pieces are cut until they are straight to within these parts of the chord, or `_ABSOLUTE` metres.

Then the point found on a piece is farther than the nearest one by at most twice that. Beyond a quarter of the
ellipsoid, chords hardly grow with distances and exclude little, so pieces stay longer there.
"""

_FAR = 2**0.5 * POLAR

_BLOCK = 1 << 14  # pairs searched at once


def shape_distances(left: Geometries, right: Geometries, limit: float = np.inf) -> Floats:
    """Return the geodesic distance in metres of the i-th left and right geometry, 0 where they intersect; shape (n,).

    Where two geometries do not intersect, a shortest geodesic leads from an edge of one to an edge of the other. Runs
    of edges are compared by boxes in space and halved down to single edges, which are halved until they are straight in
    space. Pairs excluded by a chord found before are left out. Chords bound geodesics from both sides within 1 % of
    their own excess, so all pieces that may be nearest are measured.

    Parameters
    ----------
    left, right : Geometries, length n
        In degrees, −180…180 and −90…90.
    limit : float
        Distances over it may be returned as infinite, which is faster.

    Returns
    -------
    ndarray, shape (n,)
        Too long by at most 1e-6 of it, or 1 mm, and 1e-4 beyond 10,000 km; never too short. NaN for an empty geometry.
    """
    distance = np.full(len(left), np.inf)
    shapes = left.shapes, right.shapes
    distance[shapely.is_empty(shapes[0]) | shapely.is_empty(shapes[1])] = np.nan
    distance[shapely.intersects(*shapes)] = 0.0
    apart = np.flatnonzero(distance == np.inf)
    (one, first), (two, second) = (_edges_of(side.take(apart)) for side in (left, right))
    reach = float(longest_chord(np.array(limit)))
    for begin in range(0, len(apart), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        size = len(first[block])
        search = _Search((one, two), (first[block], second[block]), np.full(size, reach))
        distance[apart[block]] = search.distances()
    return distance


def _edges_of(geometries: Geometries) -> tuple[Edges, Ints]:
    """Return the edges of distinct geometries, and the index of each row's geometry among them.

    Candidates repeat geometries.
    """
    if isinstance(geometries, Points):
        return Edges.from_geometries(geometries), np.arange(len(geometries))
    identity = np.fromiter(map(id, geometries.shapes), np.int64, len(geometries))
    _, index, of_row = np.unique(identity, return_index=True, return_inverse=True)
    return Edges.from_geometries(Shaped(geometries.shapes[index])), of_row


@dataclass(frozen=True, eq=False)
class _Search:
    """The search of n pairs at once.

    Attributes
    ----------
    edges : Edges of the geometries of either side
    geometry : the geometries of each pair, of either side; ndarray of int64, shape (n,)
    reach : ndarray, shape (n,)
        The longest possible chord of the nearest points, which falls as points are compared.
    """

    edges: tuple[Edges, Edges]
    geometry: tuple[Ints, Ints]
    reach: Floats

    def distances(self) -> Floats:
        """Return the distance of each pair, infinite where it is over the limit."""
        distance = np.full(len(self.reach), np.inf)
        pair, edge_one, edge_two = self._edge_pairs()
        one, two = Piece.whole(edge_one), Piece.whole(edge_two)
        while len(pair):
            ends = *self._ends(0, one), *self._ends(1, two)
            share_one, share_two, straight = nearest_shares(*ends)
            points = self.edges[0].at(*one.point(share_one)), self.edges[1].at(*two.point(share_two))
            chord = np.sqrt(((places_of(*points[0]) - places_of(*points[1])) ** 2).sum(axis=0))
            self._lower(pair, chord)
            stray = [self.edges[0].sagitta(*one), self.edges[1].sagitta(*two)]
            near = straight - stray[0] - stray[1] <= self.reach[pair]
            nearest = np.minimum(chord, self.reach[pair])
            bent = stray[0] + stray[1] > _ABSOLUTE + np.where(nearest > _FAR, _FAR_RELATIVE, _RELATIVE) * nearest
            done, open_ = np.flatnonzero(near & ~bent), np.flatnonzero(near & bent)
            lengths = GEOD.inv(*points[0][:, done], *points[1][:, done])[2]
            np.minimum.at(distance, pair[done], lengths)
            pair, one, two, *stray = pair[open_], one.take(open_), two.take(open_), *(part[open_] for part in stray)
            pair, one, two = halve(pair, one, two, stray[0] >= stray[1])
        return distance

    def _ends(self, side: int, piece: Piece) -> tuple[Floats, Floats]:
        """Return the places in space of the ends of pieces, shapes (3, k)."""
        edges = self.edges[side]
        return places_of(*edges.at(piece.edge, piece.low)), places_of(*edges.at(piece.edge, piece.high))

    def _edge_pairs(self) -> tuple[Ints, Ints, Ints]:
        """Return the pairs of edges whose boxes are near enough: the pair of geometries, and the edge of either."""
        pair = np.arange(len(self.reach))
        height = [len(edges.levels) - 1 for edges in self.edges]
        box = [edges.levels[-1].first[geometry] for edges, geometry in zip(self.edges, self.geometry, strict=True)]
        while True:
            near = self._near(pair, (self.edges[0].levels[height[0]], self.edges[1].levels[height[1]]), box)
            pair, box = pair[near], [boxes[near] for boxes in box]
            if not any(height):
                return pair, box[0], box[1]
            side = int(height[1] > height[0])  # descend in the higher tree
            level, below = self.edges[side].levels[height[side]], self.edges[side].levels[height[side] - 1]
            index, child = level.children(below, self.geometry[side][pair], box[side])
            height[side] -= 1
            pair, box = pair[index], [boxes[index] for boxes in box]
            box[side] = child

    def _near(self, pair: Ints, levels: tuple[Level, Level], box: list[Ints]) -> Ints:
        """Return the pairs of boxes that are near enough, after one point of each has lowered the reach."""
        one, two = (edges.places[:, level.edge[at]] for edges, level, at in zip(self.edges, levels, box, strict=True))
        self._lower(pair, np.sqrt(((one - two) ** 2).sum(axis=0)))
        above = levels[0].low[:, box[0]] - levels[1].high[:, box[1]]
        below = levels[1].low[:, box[1]] - levels[0].high[:, box[0]]
        gap = np.maximum(np.maximum(above, below), 0)
        return np.flatnonzero((gap**2).sum(axis=0) <= self.reach[pair] ** 2)

    def _lower(self, pair: Ints, chord: Floats) -> None:
        """Lower the reach of pairs of which two points have such a chord."""
        np.minimum.at(self.reach, pair, longest_chord(longest_geodesic(chord)))
