"""Metrics: distances, widened envelopes and azimuths, in the plane and on the ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import shapely

from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.spatial_join.geometry import ellipsoid
from tailrace.spatial_join.geometry.chords import Chords, squares
from tailrace.spatial_join.geometry.ellipsoid import GEOD, Boxes
from tailrace.spatial_join.geometry.geometries import Geometries, Mask, Points
from tailrace.spatial_join.geometry.shape_distance import shape_distances

_SQUARED = 1e-140, 1e140
"""Bounds of lengths whose squares are normal doubles."""

_CIRCLE = 360.0


class Metric(Protocol):
    """Distances of geometries; an empty geometry has none."""

    def distance(self, left: Geometries, right: Geometries) -> Floats:
        """Return the distance of the i-th left and the i-th right geometry, 0 where they intersect; shape (n,)."""

    def within(self, left: Geometries, right: Geometries, limit: float) -> Mask:
        """Test whether the i-th left and the i-th right geometry are within the limit; shape (n,)."""

    def widened(self, bounds: Floats, limit: float) -> Boxes:
        """Widen envelopes, shape (n, 4), so that they meet the envelope of each geometry within the limit."""

    def azimuth(self, left: Geometries, right: Geometries) -> Floats:
        """Return the direction from left to right, of points or centroids; shape (n,).

        It is in degrees clockwise from north, 0…360. It is 0 where both coincide.
        """

    def places(self, points: Points) -> Floats:
        """Return coordinates of points in a space where straight lengths bound the distances; shape (d, n)."""

    def chords(self, limit: float) -> Chords:
        """Return the straight lengths between places that decide the limit."""


@dataclass(frozen=True)
class Planar:
    """Euclidean distances, in the coordinates' unit."""

    def distance(self, left: Geometries, right: Geometries) -> Floats:
        with np.errstate(over="ignore"):  # an overflow means infinitely far
            if isinstance(left, Points) and isinstance(right, Points):
                return np.hypot(left.x - right.x, left.y - right.y)
            apart = np.asarray(shapely.distance(left.shapes, right.shapes))
        points = _pairs_of_points(left, right)
        apart[points] = self.distance(_centres(left.take(points)), _centres(right.take(points)))
        return apart

    def within(self, left: Geometries, right: Geometries, limit: float) -> Mask:
        if isinstance(left, Points) and isinstance(right, Points):
            return np.asarray(self.distance(left, right) <= limit)
        with np.errstate(over="ignore"):
            near = np.asarray(shapely.dwithin(left.shapes, right.shapes, limit))
        points = _pairs_of_points(left, right)
        near[points] = self.distance(_centres(left.take(points)), _centres(right.take(points))) <= limit
        return near

    def widened(self, bounds: Floats, limit: float) -> Boxes:
        row = np.flatnonzero(~np.isnan(bounds[:, 0]))
        bounds = bounds[row]
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            reach = limit + 16 * np.finfo(np.float64).eps * (np.abs(bounds) + limit)
            wide = np.concatenate([bounds[:, :2] - reach[:, :2], bounds[:, 2:] + reach[:, 2:]], axis=1)
        return Boxes(np.clip(wide, -largest, largest), row)

    def azimuth(self, left: Geometries, right: Geometries) -> Floats:
        start, end = _centres(left), _centres(right)
        with np.errstate(over="ignore"):
            return _turned(np.degrees(np.arctan2(end.x - start.x, end.y - start.y)))

    def places(self, points: Points) -> Floats:
        return np.stack([points.x, points.y])

    def chords(self, limit: float) -> Chords:
        if not _SQUARED[0] < limit < _SQUARED[1]:
            return Chords(-1.0, np.inf)
        return Chords(limit * (1 - 1e-12), limit * (1 + 1e-12))


@dataclass(frozen=True)
class Geodesic:
    """Geodesics on the ellipsoid WGS84, in metres, of geometries in degrees (x is the longitude, y the latitude).

    Edges are straight in the coordinates, and geometries intersect in the coordinates' plane, but distances cross the
    antimeridian and the poles. Distances of points are pyproj's. Up to 10,000 km, distances of other geometries exceed
    the least one by at most 1e-6 of it, or 1 mm (`shape_distance`).
    """

    def distance(self, left: Geometries, right: Geometries) -> Floats:
        if isinstance(left, Points) and isinstance(right, Points):
            return np.asarray(GEOD.inv(left.x, left.y, right.x, right.y)[2])
        return shape_distances(left, right)

    def within(self, left: Geometries, right: Geometries, limit: float) -> Mask:
        if not (isinstance(left, Points) and isinstance(right, Points)):
            return np.asarray(shape_distances(left, right, limit) <= limit)
        places = self.places(left), self.places(right)
        near, unsure = self.chords(limit).decide(squares(*places, slice(None), slice(None)))
        near[unsure] = self.distance(left.take(unsure), right.take(unsure)) <= limit
        return near

    def widened(self, bounds: Floats, limit: float) -> Boxes:
        return ellipsoid.widened(bounds, limit)

    def azimuth(self, left: Geometries, right: Geometries) -> Floats:
        start, end = _centres(left), _centres(right)
        forward, _, distance = GEOD.inv(start.x, start.y, end.x, end.y)
        return _turned(np.where(distance == 0, 0.0, forward))

    def places(self, points: Points) -> Floats:
        return ellipsoid.places_of(points.x, points.y)

    def chords(self, limit: float) -> Chords:
        return Chords(ellipsoid.shortest_chord(limit), float(ellipsoid.longest_chord(np.array(limit))))


def _pairs_of_points(left: Geometries, right: Geometries) -> Ints:
    """Return the pairs of two points, which are always measured as points, even beside other geometries.

    So rounding does not depend on other rows.
    """
    alike = [shapely.get_type_id(side.shapes) == shapely.GeometryType.POINT for side in (left, right)]
    empty = [shapely.is_empty(side.shapes) for side in (left, right)]
    return np.flatnonzero(alike[0] & alike[1] & ~empty[0] & ~empty[1])


def _centres(geometries: Geometries) -> Points:
    """Return the points themselves, or the centroids in the coordinates' plane."""
    if isinstance(geometries, Points):
        return geometries
    x, y, *_ = shapely.bounds(shapely.centroid(geometries.shapes)).T  # NaN for an empty geometry, where get_x raises
    return Points(x, y)


def _turned(degrees: Floats) -> Floats:
    """Normalise directions to 0 ≤ degrees < 360."""
    turned = np.mod(degrees, _CIRCLE)
    return np.asarray(np.where(turned == _CIRCLE, 0.0, turned))  # the remainder of a tiny negative angle
