"""Distances and pairs by their definitions, one pair at a time: unprepared predicates, and geodesics of pyproj."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import shapely
from hypothesis import strategies as st
from pyproj import Geod

GEOD = Geod(ellps="WGS84")
_STEPS = 24


def relation_holds(relation: str, one: shapely.Geometry, two: shapely.Geometry) -> bool:
    """The relation by shapely, unprepared; none of an empty geometry."""
    return bool(not one.is_empty and not two.is_empty and getattr(shapely, relation)(one, two))


def geodesic(one: shapely.Geometry, two: shapely.Geometry) -> float:
    """The least geodesic of points of two geometries, by grids over the edges that close in on their best points."""
    if one.is_empty or two.is_empty:
        return math.nan
    if one.intersects(two):
        return 0.0
    both = [(edge, other) for edge in _edges(one) for other in _edges(two)]
    coarse = [_edge_distance(*edges, rounds=1) for edges in both]
    steps = [sum(2e5 * np.abs(end - start).sum() for start, end in edges) / _STEPS for edges in both]
    near = [edges for edges, best, step in zip(both, coarse, steps, strict=True) if best - step <= min(coarse)]
    return min(_edge_distance(*order) for edges in near for order in (edges, edges[::-1]))


def planar(one: shapely.Geometry, two: shapely.Geometry) -> float:
    return one.distance(two) if not one.is_empty and not two.is_empty else math.nan


def pairs(left, right, relation, distance, measure, times=None) -> set[tuple[int, int]]:
    """Every pair that fulfils a condition (paper 003, eq. 3, with ≤), and the interval of its event times."""
    found = set()
    for i, one in enumerate(left):
        for j, two in enumerate(right):
            if times is not None and not times[2] <= times[1][j] - times[0][i] <= times[3]:
                continue
            if relation != "dwithin" and not relation_holds(relation, one, two):
                continue
            if distance is None or measure(one, two) <= distance:
                found.add((i, j))
    return found


def _edges(shape: shapely.Geometry) -> list[tuple[np.ndarray, np.ndarray]]:
    if hasattr(shape, "geoms"):
        return [edge for part in shape.geoms for edge in _edges(part)]
    if shape.is_empty:
        return []
    if shape.geom_type == "Polygon":
        return [edge for ring in (shape.exterior, *shape.interiors) for edge in _edges(ring)]
    corners = np.array(shape.coords)[:, :2]
    return [(corners[0], corners[0])] if len(corners) == 1 else list(pairwise(corners))


def _edge_distance(edge, other, rounds: int = 16) -> float:
    """The least geodesic over the points of an edge of the least one over the points of the other."""

    def to_other(s: np.ndarray) -> np.ndarray:
        x, y = (part[:, None] for part in _at(edge, s))
        return _closing_in(lambda t: GEOD.inv(*np.broadcast_arrays(x, y, *_at(other, t)))[2], len(s), rounds).min(
            axis=1
        )

    return float(_closing_in(lambda s: to_other(s[0])[None], 1, rounds).min())


def _closing_in(measure, rows: int, rounds: int) -> np.ndarray:
    """The values of a measure of shares, in rows: on a grid, then on finer ones about the least value of each row."""
    low, high = np.zeros((rows, 1)), np.ones((rows, 1))
    grid, found = np.linspace(0, 1, _STEPS + 1), []
    for _ in range(rounds):
        shares = low + grid * (high - low)
        found.append(measure(shares))
        step = (high - low) / (len(grid) - 1)
        centre = np.take_along_axis(shares, found[-1].argmin(axis=1)[:, None], axis=1)
        low, high = np.maximum(centre - step, 0), np.minimum(centre + step, 1)
        grid = np.linspace(0, 1, 9)
    return np.concatenate(found, axis=1)


def _at(edge, share: np.ndarray) -> tuple[np.ndarray, ...]:
    start, end = edge
    return tuple(
        np.clip(start[axis] + share * (end[axis] - start[axis]), *sorted([start[axis], end[axis]])) for axis in (0, 1)
    )


LONGITUDES = st.one_of(
    st.sampled_from([-180.0, 180.0, 179.9999, -179.9999, 0.0, 116.4, 116.41]),
    st.floats(-180, 180),
    st.integers(116_390, 116_410).map(lambda number: number / 1000),
)
LATITUDES = st.one_of(
    st.sampled_from([-90.0, 90.0, 89.9999, -89.9999, 0.0, 39.9, 39.91]),
    st.floats(-90, 90),
    st.integers(39_890, 39_910).map(lambda number: number / 1000),
)
POSITIONS = st.tuples(LONGITUDES, LATITUDES)


@st.composite
def degrees_geometries(draw: st.DrawFn) -> shapely.Geometry:
    """A point, line, triangle or collection in degrees, small or as wide as the world; may be empty."""
    kind = draw(st.sampled_from(["point", "line", "triangle", "small", "collection", "empty"]))
    if kind == "empty":
        return shapely.Polygon()
    if kind == "point":
        return shapely.Point(draw(POSITIONS))
    if kind == "line":
        return shapely.LineString([draw(POSITIONS), draw(POSITIONS)])
    if kind == "triangle":
        return shapely.MultiPoint([draw(POSITIONS) for _ in range(3)]).convex_hull
    x, y = draw(POSITIONS)
    size = draw(st.sampled_from([1e-5, 1e-3, 0.1, 5.0]))
    box = shapely.box(*np.clip([x - size, y - size / 2, x + size, y + size], [-180, -90] * 2, [180, 90] * 2))
    box = box if box.is_valid else shapely.Point(x, y)
    return box if kind == "small" else shapely.GeometryCollection([box, shapely.Point(draw(POSITIONS))])
