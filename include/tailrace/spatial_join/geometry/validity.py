"""Checks geometries, and repairs invalid ones if that takes little memory and time."""

from __future__ import annotations

import numpy as np
import shapely

from tailrace.spatial_join.geometry.geometries import AREAS, LATITUDE, LONGITUDE, Mask, Shapes
from tailrace.spatial_join.geometry.parsing import Parsed

INFINITE, FAR, INVALID = "has a coordinate that is NaN or infinite", "is not in degrees", "is not valid: "

MOST_CROSSINGS = 1_000
"""The most edge crossings of a geometry that is made valid; memory and time grow by their square."""

_CANDIDATES, _EACH = 1 << 20, 16
"""The most pairs of edges that are examined for crossings: this, plus `_EACH` for each edge."""

_GROWTH = 8

_VALID = "Valid Geometry"


class _TooTangled(Exception):
    def __init__(self) -> None:
        super().__init__(f"its edges cross more than {MOST_CROSSINGS:,} times, too often to make it valid")


def check(parsed: Parsed, degrees: bool, makes_valid: bool) -> Parsed:
    """Check geometries for finite coordinates, their range and validity.

    A geometry that GEOS fails to test or repair is faulty, too.

    Parameters
    ----------
    degrees : bool
        Whether coordinates are longitude and latitude.
    makes_valid : bool
        Whether invalid geometries are made valid; areas stay areas.
    """
    shapes, faults = parsed.shapes.copy(), dict(parsed.faults)
    coordinates, row = shapely.get_coordinates(shapes, return_index=True)
    if degrees:
        is_far = (np.abs(coordinates) > [LONGITUDE, LATITUDE]).any(axis=1)
        faults |= dict.fromkeys(row[is_far].tolist(), FAR)
    faults |= dict.fromkeys(row[~np.isfinite(coordinates).all(axis=1)].tolist(), INFINITE)
    for at in np.flatnonzero(~_are_valid(shapes)).tolist():
        if at not in faults:
            shapes[at], fault = _valid(shapes[at], makes_valid)
            faults |= {at: fault} if fault else {}
    return Parsed(shapes, faults)


def _are_valid(shapes: Shapes) -> Mask:
    """Test which geometries are valid; if GEOS fails for one of them, none counts as valid."""
    try:
        return np.asarray(shapely.is_valid(shapes))
    except shapely.GEOSException:
        return np.zeros(len(shapes), bool)


def _valid(shape: shapely.Geometry, makes_valid: bool) -> tuple[shapely.Geometry, str | None]:
    """Return a geometry, made valid if requested, and its fault."""
    try:
        why = shapely.is_valid_reason(shape)
        if why == _VALID:
            return shape, None
        return (_mended(shape), None) if makes_valid else (shape, INVALID + why)
    except (shapely.GEOSException, _TooTangled) as error:
        return shape, INVALID + (str(error) or "GEOS fails to test it")


def _mended(shape: shapely.Geometry) -> shapely.Geometry:
    """Make an invalid geometry valid; drop lines left over from an area's spikes, unless nothing else remains."""
    if _is_tangled(shape):
        raise _TooTangled
    if shapely.get_type_id(shape) in AREAS:
        area = shapely.make_valid(shape, method="structure", keep_collapsed=False)
        if not area.is_empty:
            return area
    return shapely.make_valid(shape)


def _is_tangled(shape: shapely.Geometry) -> bool:
    """Test whether non-consecutive edges of a geometry meet too often.

    An R-tree of the edges finds the pairs whose boxes meet, for a growing number of edges, as long as the pairs are
    few.
    """
    count = shapely.get_num_coordinates(shape)
    if count * (count - 1) // 2 <= MOST_CROSSINGS:
        return False
    edges = edges_of(shape)
    tree = shapely.STRtree(edges)
    begin, size, meeting, candidates = 0, max(_CANDIDATES // max(len(edges), 1), 1), 0, 0
    while begin < len(edges):
        one, other = tree.query(edges[begin : begin + size])
        candidates += len(one)
        is_new = other > one + begin
        meeting += int(shapely.intersects(edges[one[is_new] + begin], edges[other[is_new]]).sum())
        if meeting > len(edges) + MOST_CROSSINGS or candidates > _CANDIDATES + _EACH * len(edges):
            return True
        begin += size
        size = max(1, min(size * _GROWTH, size * _CANDIDATES // max(len(one), 1)))
    return False


def edges_of(shape: shapely.Geometry) -> Shapes:
    """Return the edges of all lines and rings, as lines of two points."""
    parts = np.array([shape], object)
    while (shapely.get_type_id(parts) > shapely.GeometryType.POLYGON).any():
        parts = shapely.get_parts(parts)
    kinds = shapely.get_type_id(parts)
    rings = shapely.get_rings(parts[kinds == shapely.GeometryType.POLYGON])
    is_line = np.isin(kinds, (shapely.GeometryType.LINESTRING, shapely.GeometryType.LINEARRING))
    points, line = shapely.get_coordinates(np.concatenate([rings, parts[is_line]]), return_index=True)
    start = np.flatnonzero(line[1:] == line[:-1])
    return np.asarray(shapely.linestrings(np.stack([points[start], points[start + 1]], axis=1)), object)
