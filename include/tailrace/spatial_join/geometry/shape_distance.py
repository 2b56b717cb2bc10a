"""Geodesic distances of lines, polygons and collections: the least distance between points of their edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import shapely

from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.spatial_join.geometry.ellipsoid import (
    EQUATORIAL,
    GEOD,
    GREATEST_RADIUS,
    POLAR,
    longest_chord,
    longest_geodesic,
    places_of,
)
from tailrace.spatial_join.geometry.geometries import Geometries, Mask, Points, Shaped, Shapes

_COLLECTION = shapely.GeometryType.MULTIPOINT  # types from here on consist of parts


class Level(NamedTuple):
    """Boxes over runs of 2^k edges, of all geometries.

    Attributes
    ----------
    low, high : ndarray, shape (3, m)
        In metres from the centre; the curves of the run lie within.
    first : ndarray of int64, shape (n + 1,)
        The first box of each geometry.
    edge : ndarray of int64, shape (m,)
        The first edge of each run.
    """

    low: Floats
    high: Floats
    first: Ints
    edge: Ints

    def children(self, below: Level, geometry: Ints, box: Ints) -> tuple[Ints, Ints]:
        """Return the boxes of the level below that cover the edges of given boxes, with the index of each one's parent.

        Returns
        -------
        place : ndarray of int64
            The index of the parent in `box`.
        child : ndarray of int64
        """
        left = below.first[geometry] + 2 * (box - self.first[geometry])
        both = np.flatnonzero(left + 1 < below.first[geometry + 1])
        return np.concatenate([np.arange(len(box)), both]), np.concatenate([left, left[both] + 1])


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of n geometries on the ellipsoid, straight in degrees; a point is an edge of length 0.

    Attributes
    ----------
    start, end : ndarray, shape (2, m)
        Longitude and latitude in degrees.
    first : ndarray of int64, shape (n + 1,)
        The first edge of each geometry; an empty geometry has none.
    """

    start: Floats
    end: Floats
    first: Ints

    @staticmethod
    def from_geometries(geometries: Geometries) -> Edges:
        """Split geometries into the edges of their rings and lines, and their points."""
        if isinstance(geometries, Points):
            ends = np.stack([geometries.x, geometries.y])
            return Edges(ends, ends, np.arange(len(geometries) + 1))
        parts, owner = _simple_parts(geometries.shapes)
        coordinates, part = shapely.get_coordinates(parts, return_index=True)
        is_point = (shapely.get_type_id(parts) == shapely.GeometryType.POINT)[part]
        goes_on = np.append(part[1:] == part[:-1], False)[: len(part)]
        start = np.flatnonzero(goes_on | is_point)
        end = start + goes_on[start]
        order = np.argsort(owner[part[start]], kind="stable")
        start, end = start[order], end[order]
        first = np.searchsorted(owner[part[start]], np.arange(len(geometries) + 1))
        return Edges(np.ascontiguousarray(coordinates[start].T), np.ascontiguousarray(coordinates[end].T), first)

    def at(self, edge: Ints, share: Floats) -> Floats:
        """Return the points at shares 0…1 of edges: longitude and latitude in degrees, shape (2, k)."""
        start, end = self.start[:, edge], self.end[:, edge]
        return np.where(share == 1, end, start + share * (end - start))  # rounding at 1 may lead beyond a pole

    def sagitta(self, edge: Ints, low: Floats, high: Floats) -> Floats:
        """Return how far, in metres, pieces of edges may deviate in space from straight lines at constant speed.

        `low` and `high` are the shares of an edge at which its piece begins and ends.

        The deviation is at most max |P''| / 8, where P'' consists of the curvatures along the meridian and the
        parallel, and the change of the parallel's radius with the latitude.
        """
        along, up = np.radians(np.abs(self.end[:, edge] - self.start[:, edge])) * (high - low)
        side = np.radians(np.abs(np.stack([self.at(edge, low)[1], self.at(edge, high)[1]])))
        nearest = np.maximum(side.max(axis=0) - up, 0)  # no latitude of the piece is nearer to the equator
        parallel = EQUATORIAL * np.minimum(np.cos(nearest) * 1.01, 1)
        return np.asarray((1.01 * GREATEST_RADIUS * up * (up + 2 * along) + parallel * along**2) / 8)

    @cached_property
    def places(self) -> Floats:
        """The places in space at which edges start, shape (3, m)."""
        return places_of(*self.start)

    @cached_property
    def levels(self) -> list[Level]:
        """Boxes over single edges, over runs of two, of four, and so on, until every geometry has one box."""
        edge = np.arange(self.start.shape[1])
        ends = np.stack([self.places, places_of(*self.end)])
        bulge = self.sagitta(edge, np.zeros(len(edge)), np.ones(len(edge)))
        levels = [Level(ends.min(axis=0) - bulge, ends.max(axis=0) + bulge, self.first, edge)]
        while len(edge) and (counts := np.diff(levels[-1].first)).max() > 1:
            below = levels[-1]
            first = np.concatenate([[0], np.cumsum((counts + 1) // 2)])
            box = np.arange(first[-1])
            owner = np.repeat(np.arange(len(counts)), np.diff(first))
            starts = below.first[owner] + 2 * (box - first[owner])
            low, high = np.minimum.reduceat(below.low, starts, axis=1), np.maximum.reduceat(below.high, starts, axis=1)
            levels.append(Level(low, high, first, below.edge[starts]))
        return levels


def _simple_parts(shapes: Shapes) -> tuple[Shapes, Ints]:
    """Return the points, lines and rings that geometries consist of, and each one's geometry."""
    parts, owner = shapes, np.arange(len(shapes))
    while (shapely.get_type_id(parts) >= _COLLECTION).any():  # collections may be nested
        parts, of_part = shapely.get_parts(parts, return_index=True)
        owner = owner[of_part]
    is_polygon = shapely.get_type_id(parts) == shapely.GeometryType.POLYGON
    rings, of_ring = shapely.get_rings(parts[is_polygon], return_index=True)
    return np.concatenate([parts[~is_polygon], rings]), np.concatenate([owner[~is_polygon], owner[is_polygon][of_ring]])


_RELATIVE, _FAR_RELATIVE, _ABSOLUTE = 2.5e-7, 2.5e-6, 1e-4
"""Pieces are halved until they deviate from a straight line by at most this part of the chord, or `_ABSOLUTE` metres.

Then the distance found exceeds the least one by at most twice that. Beyond a quarter of the ellipsoid, chords hardly
grow with distances and exclude little, so pieces may deviate more there.
"""

_FAR = 2**0.5 * POLAR

BLOCK = 1 << 14  # pairs searched at once


def shape_distances(left: Geometries, right: Geometries, limit: float = np.inf) -> Floats:
    """Return the geodesic distance in metres of the i-th left and right geometry, 0 where they intersect; shape (n,).

    Where two geometries do not intersect, a shortest geodesic leads from an edge of one to an edge of the other. Runs
    of edges are compared by boxes in space and halved down to single edges, which are halved until they are straight in
    space. Pairs excluded by a chord found before are left out. Chords bound geodesics from both sides, and all pieces
    that may be nearest are measured.

    Parameters
    ----------
    left, right : Geometries, length n
        In degrees, −180…180 and −90…90.
    limit : float
        Greater distances may be returned as infinite, which is faster.

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
    for begin in range(0, len(apart), BLOCK):
        block = slice(begin, begin + BLOCK)
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
        """Lower the reach by one point of each box; return the pairs of boxes that are still near enough."""
        one, two = (edges.places[:, level.edge[at]] for edges, level, at in zip(self.edges, levels, box, strict=True))
        self._lower(pair, np.sqrt(((one - two) ** 2).sum(axis=0)))
        above = levels[0].low[:, box[0]] - levels[1].high[:, box[1]]
        below = levels[1].low[:, box[1]] - levels[0].high[:, box[0]]
        gap = np.maximum(np.maximum(above, below), 0)
        return np.flatnonzero((gap**2).sum(axis=0) <= self.reach[pair] ** 2)

    def _lower(self, pair: Ints, chord: Floats) -> None:
        """Lower the reach of pairs to the chords of two of their points."""
        np.minimum.at(self.reach, pair, longest_chord(longest_geodesic(chord)))


_PARALLEL = 1e-12  # squared sine of the angle below which lines count as parallel, and are nearest at an end


class Piece(NamedTuple):
    """A column of pieces of edges, each by the shares 0…1 of its edge at which it begins and ends; shapes (k,)."""

    edge: Ints
    low: Floats
    high: Floats

    def take(self, rows: Ints | Mask) -> Piece:
        """Select rows by index or mask."""
        return Piece(self.edge[rows], self.low[rows], self.high[rows])

    def point(self, share: Floats) -> tuple[Ints, Floats]:
        """Return the edge, and the share of it, of points at shares 0…1 of the pieces."""
        return self.edge, self.low + share * (self.high - self.low)

    def halves(self, rows: Mask) -> Piece:
        """Return all pieces twice, with masked ones replaced by their two halves."""
        middle = (self.low + self.high) / 2
        low, high = np.where(rows, middle, self.low), np.where(rows, middle, self.high)
        return Piece(np.tile(self.edge, 2), np.concatenate([self.low, low]), np.concatenate([high, self.high]))

    @staticmethod
    def whole(edge: Ints) -> Piece:
        return Piece(edge, np.zeros(len(edge)), np.ones(len(edge)))


def halve(pair: Ints, one: Piece, two: Piece, first: Mask) -> tuple[Ints, Piece, Piece]:
    """Halve one piece of each pair: `one` where the mask is set, else `two`."""
    return np.tile(pair, 2), one.halves(first), two.halves(~first)


def nearest_shares(a: Floats, b: Floats, c: Floats, d: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the nearest points of straight lines in space from a to b and from c to d, of shape (3, k).

    They are on the common perpendicular, or else one is an end of a line: the nearest of the five cases.

    Returns
    -------
    one, two : ndarray, shape (k,)
        The shares 0…1 of the lines at which the points lie.
    distance : ndarray, shape (k,)
    """
    along, across, between = b - a, d - c, a - c
    aa, cc, ac = _dot(along, along), _dot(across, across), _dot(along, across)
    ab, cb = _dot(along, between), _dot(across, between)
    slant = aa * cc - ac * ac
    inner = np.clip(_share(ac * cb - ab * cc, np.where(slant > _PARALLEL * aa * cc, slant, 0)), 0, 1)
    zero, one = np.zeros(len(aa)), np.ones(len(aa))
    shares = np.stack([inner, zero, one, np.clip(_share(-ab, aa), 0, 1), np.clip(_share(ac - ab, aa), 0, 1)])
    others = np.stack([*np.clip(_share(ac * shares[:3] + cb, cc), 0, 1), zero, one])
    squares = np.zeros_like(shares)
    for start, first, second in zip(between, along, across, strict=True):
        squares += (start + shares * first - others * second) ** 2
    best, column = squares.argmin(axis=0), np.arange(len(aa))
    return shares[best, column], others[best, column], np.sqrt(squares[best, column])


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("ik,ik->k", a, b))


def _share(length: Floats, whole: Floats) -> Floats:
    """Return a part's share of a whole; 0 if the whole is 0."""
    return np.asarray(
        np.divide(length, whole, out=np.zeros(np.broadcast_shapes(length.shape, whole.shape)), where=whole > 0)
    )
