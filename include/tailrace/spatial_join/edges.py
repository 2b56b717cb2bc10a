"""Edges of geometries in columns, and trees of boxes in space over runs of edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import shapely

from tailrace.ground.columns import Floats, Ints
from tailrace.spatial_join.ellipsoid import EQUATORIAL, GREATEST_RADIUS, places_of
from tailrace.spatial_join.geometries import Geometries, Points, Shapes

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
        """Return the boxes of the level below, over the same edges, of some geometries' boxes, with the parent's index.

        Returns
        -------
        place : ndarray of int64
            The place of the box in `box`.
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
        return np.where(share == 1, end, start + share * (end - start))  # rounding at 1 leads beyond a pole

    def sagitta(self, edge: Ints, low: Floats, high: Floats) -> Floats:
        """Return how far, in metres, pieces of edges may deviate in space from straight lines of even speed.

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
