"""The ellipsoid WGS84: places in space, bounds of geodesics by their chords, and envelopes widened by a distance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pyproj import Geod

from tailrace.ground.arrow.columns import Floats, Ints

GEOD = Geod(ellps="WGS84")
EQUATORIAL, POLAR = GEOD.a, GEOD.b
"""The semi-axes in metres."""

LEAST_RADIUS, GREATEST_RADIUS = POLAR**2 / EQUATORIAL, EQUATORIAL**2 / POLAR
"""The least and the greatest radius of curvature, in metres: of the meridian at the equator, and at the poles."""

_ROUNDING = 1e-6  # metres: a thousand times the error of places in doubles, a hundred times pyproj's error
_SLACK = 1e-8  # degrees (a millimetre): far more than the rounding of angles
_DATELINE = 180.0
_POLE = np.pi / 2 - 1e-6  # a place within 6 m of a pole counts as reaching it, as angles round badly there


class Boxes(NamedTuple):
    """Envelopes to search, with their rows; a row has none, one or two of them.

    The rows' first envelopes come first, ascending by row, then the second ones.

    Attributes
    ----------
    bounds : ndarray, shape (m, 4)
        minx, miny, maxx, maxy.
    row : ndarray of int64, shape (m,)
    """

    bounds: Floats
    row: Ints


def places_of(lon: Floats, lat: Floats) -> Floats:
    """Return the places in space of points in degrees, in metres from the centre; shape (3, n)."""
    along, up = np.radians(lon), np.radians(lat)
    sine = np.sin(up)
    normal = EQUATORIAL / np.sqrt(1 - GEOD.es * sine**2)
    axial = normal * np.cos(up)
    return np.stack([axial * np.cos(along), axial * np.sin(along), normal * (1 - GEOD.es) * sine])


def longest_chord(distance: Floats) -> Floats:
    """Return the longest chord of points whose geodesic has at most this length; in metres, of any shape.

    By Blaschke's theorem the ellipsoid rolls in a ball of the greatest radius of curvature R, so the geodesic is no
    shorter than the arc of that radius over the chord: distance ≥ 2 R asin(chord / 2 R).
    """
    half = np.minimum(distance / (2 * GREATEST_RADIUS), np.pi / 2)
    return np.asarray(2 * GREATEST_RADIUS * np.sin(half) * (1 + 1e-12) + _ROUNDING)


def longest_geodesic(chord: Floats) -> Floats:
    """Return the longest geodesic over chords of these lengths; in metres, of any shape.

    Shrunk to the unit sphere, lengths shrink by no more than the equatorial and no less than the polar axis: so
    distance ≤ 2 a asin(chord / 2 b). Over chords up to b that excludes half a turn, and then, by Schur's theorem, a
    geodesic is no longer than the arc of the least radius of curvature R: distance ≤ 2 R asin(chord / 2 R).
    """
    by_sphere = 2 * EQUATORIAL * np.arcsin(np.minimum(chord / (2 * POLAR), 1))
    by_arc = 2 * LEAST_RADIUS * np.arcsin(np.minimum(chord / (2 * LEAST_RADIUS), 1))
    return np.asarray(np.where(chord <= POLAR, by_arc, by_sphere) * (1 + 1e-12) + _ROUNDING)


def shortest_chord(distance: float) -> float:
    """Return the chord length up to which every geodesic is at most the distance; −1 if no length is certain."""
    if distance >= LEAST_RADIUS:
        return -1.0  # `longest_geodesic` has another form there; such distant pairs are measured
    return float(2 * LEAST_RADIUS * np.sin(distance / (2 * LEAST_RADIUS)) * (1 - 1e-12) - _ROUNDING)


def widened(bounds: Floats, distance: float) -> Boxes:
    """Widen envelopes in degrees so that they contain all points within the distance of any of their points.

    Shrunk to the unit sphere (x / a, y / a, z / b), a geodesic becomes a curve of at most r = distance / b, longitudes
    stay, and latitudes become reduced ones, β. On the sphere a way of length r changes β by at most r, and the
    longitude by at most asin(sin r / cos β), unless it reaches a pole: then all longitudes are near.

    Parameters
    ----------
    bounds : ndarray, shape (n, 4)
        minx, miny, maxx, maxy in degrees; NaN for an empty geometry, which gets no box.

    Returns
    -------
    Boxes
        Within −180…180 and −90…90. A box that reaches the antimeridian is continued on the other side by a second box.
    """
    row = np.flatnonzero(~np.isnan(bounds[:, 0]))
    west, south, east, north = bounds[row].T
    turn = distance / POLAR
    low, high = (np.arctan(POLAR / EQUATORIAL * np.tan(np.radians(side))) for side in (south, north))
    farthest = np.maximum(-low, high)
    at_pole = farthest + turn >= _POLE
    beta = np.where(at_pole, 0.0, farthest)
    wide = np.cos(beta - turn) * np.cos(beta + turn)
    reach = np.degrees(np.arctan2(np.sin(turn), np.sqrt(np.maximum(wide, 0)))) + _SLACK
    south, north = np.maximum(_latitude(low - turn) - _SLACK, -90), np.minimum(_latitude(high + turn) + _SLACK, 90)
    west, east = west - reach, east + reach
    everywhere = at_pole | (east - west >= 2 * _DATELINE)
    west, east = np.where(everywhere, -_DATELINE, west), np.where(everywhere, _DATELINE, east)
    boxes = np.stack([np.maximum(west, -_DATELINE), south, np.minimum(east, _DATELINE), north], axis=1)
    to_west = np.flatnonzero(~everywhere & (west <= -_DATELINE))
    to_east = np.flatnonzero(~everywhere & (east >= _DATELINE))
    in_east, in_west = boxes[to_west], boxes[to_east]
    in_east[:, 0], in_east[:, 2] = west[to_west] + 2 * _DATELINE, _DATELINE
    in_west[:, 0], in_west[:, 2] = -_DATELINE, east[to_east] - 2 * _DATELINE
    return Boxes(np.concatenate([boxes, in_east, in_west]), np.concatenate([row, row[to_west], row[to_east]]))


def _latitude(reduced: Floats) -> Floats:
    """Return the latitudes, in degrees, of reduced ones in radians; ±90 beyond a pole."""
    inside = np.clip(reduced, -np.pi / 2, np.pi / 2)
    return np.asarray(np.degrees(np.arctan2(EQUATORIAL * np.sin(inside), POLAR * np.cos(inside))))
