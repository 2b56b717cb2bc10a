"""The join of tracks and areas with districts in process: our search beside envelopes and GEOS, by condition."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import shapely

from bench.progress import Echo, Row
from bench.rounds import interleaved, median_ratio, medians
from bench.spatial.same_twice import same_twice, with_again
from bench.spatial.streams import DISTANCE_M
from bench.spatial.table import districts, taxi_points
from tailrace.spatial_join.geometry.geometries import Points, Shaped, Shapes, geometries_of
from tailrace.spatial_join.geometry.metrics import Geodesic, Planar
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.search.pair_search import LocalIndex
from tailrace.spatial_join.search.pairs import ordered
from tailrace.spatial_join.table.shape_search import ShapeSearch
from tailrace.spatial_join.table.table_lookup import TableSearch

COUNT = 10_000
"""Shapes of either type."""

TOPOLOGY, DISTANCE = ("within", "intersects", "crosses", "touches"), "dwithin"

METHODS = ("edges near", "GEOS")
"""Our search, and what lines and polygons went through before it: an R-tree of envelopes, then GEOS for each pair."""

_LEAST_S = 0.5
"""The least CPU time of a measurement."""

_CORNERS, _STEP, _RADIUS = 8, 5e-4, 2e-3
"""Corners of a track, and, in degrees, the length of its steps and the radius of an area."""


def tracks(points: Points) -> Shapes:
    """Return crooked lines of some 300 m from points."""
    random = np.random.default_rng(0)
    turn = random.uniform(0, 2 * np.pi, (len(points), 1))
    ahead = np.stack([np.cos(turn), np.sin(turn)], axis=2) * _STEP
    steps = ahead + random.normal(0, _STEP / 3, (len(points), _CORNERS, 2))
    paths = np.stack([points.x, points.y], axis=1)[:, None] + np.cumsum(steps, axis=1)
    return np.asarray(shapely.linestrings(paths), object)


def zones(points: Points) -> Shapes:
    """Return polygons of 16 corners around points."""
    return np.asarray(shapely.buffer(points.shapes, _RADIUS, quad_segs=4), object)


def by_condition(count: int, rounds: int, echo: Echo) -> tuple[list[Row], list[Row]]:
    """Find the districts of at most `COUNT` shapes by each condition and method, in turns; ours runs twice.

    Return the rows of all settings, and rows about ours twice.

    Raises
    ------
    RuntimeError
        When the methods do not find the same pairs.
    """
    points, table = taxi_points(min(count, COUNT)), districts().shapes
    conditions = [Condition(relation, None, Planar()) for relation in TOPOLOGY]
    conditions.append(Condition(DISTANCE, float(DISTANCE_M), Geodesic()))
    rows, twice = list[Row](), list[Row]()
    for name, make in {"lines": tracks, "polygons": zones, "points": None}.items():
        geometries = points if make is None else Shaped(make(points))
        for condition in conditions if make is not None else conditions[-1:]:
            setting = {"shapes": name, "relation": condition.relation}
            echo(f"{len(points):,} {name}, {condition.relation}")
            ours, by_geos = ShapeSearch(table, condition), LocalIndex.from_geometries(geometries_of(table), condition)
            searches: dict[str, TableSearch] = dict(zip(METHODS, (ours, by_geos), strict=True))
            pairs = _checked(searches, geometries)
            contestants = {how: partial(_run, search, geometries) for how, search in searches.items()}
            passes = interleaved(with_again(contestants, METHODS[0]), rounds, "shapes/s", echo)
            twice.append(setting | same_twice(passes, METHODS[0], "shapes/s"))
            for how, mine in passes.items():
                ratio = median_ratio(mine, passes[METHODS[1]], "shapes/s")
                rows.append(setting | {"method": how, "pairs": pairs} | medians(mine) | {"× GEOS": ratio})
    return rows, twice


def _run(search: TableSearch, geometries: Points | Shaped) -> Row:
    """Search until there is enough CPU time to be measured."""
    start, count = time.process_time(), 0
    while (spent_s := time.process_time() - start) < _LEAST_S:
        search.matches(geometries)
        count += len(geometries)
    return {"shapes/s": count / spent_s}


def _checked(searches: dict[str, TableSearch], geometries: Points | Shaped) -> int:
    """Return the number of pairs, which each search finds."""
    first, *others = (ordered(search.matches(geometries)) for search in searches.values())
    for other in others:
        if not (np.array_equal(first.left, other.left) and np.array_equal(first.right, other.right)):
            raise RuntimeError(f"{METHODS[1]} finds other pairs than {METHODS[0]}")
    return len(first.left)
