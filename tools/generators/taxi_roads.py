"""An outline of Beijing's roads (streets, ring roads, expressways to towns), and the fastest routes on them.

Drawn by hand after the real roads: a grid of streets inside the Fifth Ring, some of whose lines are the sides of the
four inner ring roads; the Sixth Ring; and expressways that leave the grid. Places are true to some hundred metres.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KM_A_DEGREE = np.array([85.4, 111.0])
"""Kilometres of a degree of longitude and of latitude in Beijing."""

_LONS: tuple[float, ...] = (
    *(116.213, 116.243, 116.273, 116.288, 116.303, 116.318, 116.333, 116.348, 116.361, 116.374, 116.391),
    *(116.410, 116.421, 116.434, 116.445, 116.457, 116.469, 116.484, 116.505, 116.525, 116.545),
)
_LATS: tuple[float, ...] = (
    *(39.780, 39.806, 39.832, 39.843, 39.855, 39.868, 39.883, 39.899, 39.907),
    *(39.924, 39.934, 39.948, 39.957, 39.967, 39.977, 39.987, 40.003, 40.020),
)
_RINGS = {
    (116.348, 116.434, 39.868, 39.948): 45,
    (116.303, 116.457, 39.855, 39.967): 50,
    (116.273, 116.484, 39.832, 39.987): 60,
    (116.213, 116.545, 39.780, 40.020): 70,
}
"""West, east, south, north; km/h without congestion."""

_CHANG_AN = 39.907
_PALACE = ((116.391, _CHANG_AN), (116.391, 39.924))  # no street leads through it
_INNER = (116.303, 116.457, 39.855, 39.967)
_INNER_SPEED, _OUTER_SPEED, _AVENUE_SPEED = 24, 30, 36

_SIXTH_RING = (
    *((116.10, 39.95), (116.15, 40.08), (116.24, 40.16), (116.42, 40.17), (116.56, 40.16), (116.67, 40.10)),
    *((116.71, 39.99), (116.71, 39.90), (116.67, 39.80), (116.56, 39.72), (116.38, 39.70), (116.22, 39.70)),
    *((116.12, 39.80), (116.10, 39.95)),
)
_EXPRESSWAYS = (
    ((116.457, 39.967), (116.484, 39.987), (116.545, 40.020), (116.595, 40.078)),  # the airport
    ((116.595, 40.078), (116.67, 40.10), (116.655, 40.13)),  # Shunyi
    ((116.67, 40.10), (116.85, 40.08), (117.11, 40.14)),  # Pinggu
    ((116.374, 39.967), (116.361, 40.003), (116.333, 40.020), (116.33, 40.07), (116.27, 40.13), (116.24, 40.16)),
    ((116.24, 40.16), (116.235, 40.22), (116.13, 40.245), (116.02, 40.35), (115.97, 40.455)),  # Changping, Yanqing
    ((116.391, 40.020), (116.41, 40.07), (116.42, 40.17)),  # Tiantongyuan
    ((116.484, 39.987), (116.525, 40.06), (116.56, 40.16), (116.635, 40.31), (116.84, 40.375)),  # Huairou, Miyun
    ((116.545, 39.907), (116.61, 39.908), (116.66, 39.905), (116.71, 39.90)),  # Tongzhou
    ((116.484, 39.832), (116.515, 39.795), (116.56, 39.72), (116.72, 39.62)),  # Yizhuang
    ((116.348, 39.832), (116.348, 39.780), (116.338, 39.73), (116.38, 39.70), (116.32, 39.55)),  # Daxing
    ((116.273, 39.832), (116.20, 39.81), (116.12, 39.80), (116.14, 39.735), (116.03, 39.61)),  # Liangxiang
    ((116.14, 39.735), (115.99, 39.70)),  # Fangshan
    ((116.213, _CHANG_AN), (116.18, 39.925), (116.10, 39.95)),  # Shijingshan, Mentougou
)
_EXPRESSWAY_SPEED = 80
_BEND_KM = 0.09  # standard deviation by which a crossing of streets lies off the grid
_ROUNDING = 0.05  # a ring's corner is cut by this share of its width and height
_SPAN = 1 << 14  # seconds, more than any route takes


@dataclass(frozen=True, eq=False)
class Roads:
    """Crossings, and the fastest route from each to each.

    Attributes
    ----------
    places : ndarray, shape (k, 2)
        Longitude and latitude of the crossings.
    seconds : ndarray, shape (k, k)
        Travel time of the fastest route without congestion.
    times : ndarray, shape (m,)
        The crossings on all routes, by pair of first and last crossing: 2^14 s times the pair, plus the travel time to
        the crossing; ascending.
    crossings : ndarray, shape (m,)
        Which they are.
    """

    places: Floats
    seconds: Floats
    times: Floats
    crossings: Ints

    def at(self, origin: Ints, destination: Ints, seconds: Floats) -> Floats:
        """Return the positions on routes after some travel time, or at their ends; shape (n, 2), degrees."""
        base = (origin * len(self.places) + destination) * float(_SPAN)
        time = base + np.minimum(seconds, self.seconds[origin, destination])
        before = np.searchsorted(self.times, time, side="right") - 1
        after = np.minimum(before + 1, len(self.times) - 1)
        step = self.times[after] - self.times[before]
        share = np.divide(time - self.times[before], step, out=np.zeros(len(time)), where=step > 0)
        start = self.places[self.crossings[before]]
        return np.asarray(start + share[:, None] * (self.places[self.crossings[after]] - start))


@lru_cache(maxsize=1)
def beijing() -> Roads:
    """Return the roads of Beijing, always the same."""
    edges = _edges()
    points = sorted({point for edge in edges for point in edge})
    index = {point: row for row, point in enumerate(points)}
    ends = np.array([[index[a], index[b]] for a, b in edges])
    places = np.array(points)
    is_street = np.isin(places[:, 0], _LONS) & np.isin(places[:, 1], _LATS)
    bends = np.random.default_rng(0).normal(0, _BEND_KM, places.shape) / KM_A_DEGREE
    places[is_street] += bends[is_street]
    for west, east, south, north in _RINGS:
        cut = _ROUNDING * np.array([east - west, north - south])
        for lon, lat, inwards in (
            (west, south, (1, 1)),
            (west, north, (1, -1)),
            (east, south, (-1, 1)),
            (east, north, -1),
        ):
            places[index[lon, lat]] += cut * inwards
    km = np.hypot(*((places[ends[:, 0]] - places[ends[:, 1]]) * KM_A_DEGREE).T)
    weights = coo_array((km / np.array(list(edges.values())) * 3600, ends.T), (len(places),) * 2).tocsr()
    seconds, previous = dijkstra(weights, directed=False, return_predecessors=True)
    return Roads(places, seconds, *_routes(seconds, previous))


def _routes(seconds: Floats, previous: Ints) -> tuple[Floats, Ints]:
    """Follow all routes from their ends to their starts, one crossing of each at a time."""
    k = len(seconds)
    origin, here = (ends.ravel() for ends in np.indices((k, k)))
    base = np.arange(k * k) * float(_SPAN)
    times, crossings = [], []
    while len(origin):
        times.append(base + seconds[origin, here])
        crossings.append(here)
        goes_on = here != origin
        origin, base = origin[goes_on], base[goes_on]
        here = previous[origin, here[goes_on]]
    order = np.argsort(np.concatenate(times), kind="stable")
    return np.concatenate(times)[order], np.concatenate(crossings)[order].astype(np.int64)


Point = tuple[float, float]


def _edges() -> dict[tuple[Point, Point], float]:
    """Return the stretches of road between two crossings, with the speed on each in km/h."""
    streets = [((a, lat), (b, lat)) for a, b in pairwise(_LONS) for lat in _LATS]
    streets += [((lon, a), (lon, b)) for a, b in pairwise(_LATS) for lon in _LONS]
    edges: dict[tuple[Point, Point], float] = {street: _speed(*street) for street in streets if street != _PALACE}
    for road in (_SIXTH_RING, *_EXPRESSWAYS):
        edges |= dict.fromkeys(pairwise(road), _EXPRESSWAY_SPEED)
    return edges


def _speed(a: Point, b: Point) -> float:
    """Return the speed on a street of the grid, which may be the side of a ring road."""
    for (west, east, south, north), speed in _RINGS.items():
        on_side = (a[0] == b[0] and a[0] in (west, east)) or (a[1] == b[1] and a[1] in (south, north))
        if on_side and all(west <= lon <= east and south <= lat <= north for lon, lat in (a, b)):
            return speed
    if a[1] == b[1] == _CHANG_AN:
        return _AVENUE_SPEED
    west, east, south, north = _INNER
    is_inner = all(west <= lon <= east and south <= lat <= north for lon, lat in (a, b))
    return _INNER_SPEED if is_inner else _OUTER_SPEED
