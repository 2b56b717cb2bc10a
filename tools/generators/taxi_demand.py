"""The ends of taxi trips in Beijing: downtown, stations, the airport and other busy spots, and the towns about."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from generators.taxi_roads import KM_A_DEGREE, beijing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CENTRE, _CITY_KM = (116.395, 39.925), 8.5
_SPOT_KM = 0.8
_SPOTS = {
    "the World Trade Centre": (116.457, 39.907, 5.0),
    "Zhongguancun": (116.318, 39.977, 4.0),
    "Xidan": (116.374, 39.907, 3.0),
    "Wangfujing": (116.410, 39.907, 3.0),
    "the West Station": (116.318, 39.899, 4.0),
    "the main station": (116.421, 39.899, 3.0),
    "Sanlitun": (116.457, 39.934, 4.0),
    "Wangjing": (116.484, 39.987, 2.5),
    "Guloudajie": (116.391, 39.948, 1.5),
    "Asian Games Village": (116.410, 39.987, 2.0),
    "the South Station": (116.374, 39.868, 1.5),
    "the airport": (116.595, 40.078, 12.0),
    "Tongzhou": (116.660, 39.905, 1.2),
    "Huilongguan": (116.330, 40.070, 1.2),
    "Tiantongyuan": (116.410, 40.070, 1.2),
    "Yizhuang": (116.515, 39.795, 1.0),
    "Daxing": (116.338, 39.730, 0.8),
    "Shunyi": (116.655, 40.130, 0.8),
    "Changping": (116.235, 40.220, 0.6),
    "Liangxiang": (116.140, 39.735, 0.6),
    "Shijingshan": (116.180, 39.925, 1.2),
    "Mentougou": (116.100, 39.950, 0.4),
    "Huairou": (116.635, 40.310, 0.9),
    "Miyun": (116.840, 40.375, 0.8),
    "Pinggu": (117.110, 40.140, 0.9),
    "Yanqing": (115.970, 40.455, 0.7),
    "Fangshan": (115.990, 39.700, 0.7),
}
"""Longitude, latitude, and the number of trips that end there beside ordinary ones; 1 at a crossing downtown."""

_REACH_S = 700.0  # the odds of a destination fall by e with this travel time
_ANYWHERE = 0.015  # the part of them that remains at any distance
_SAME_PLACE = 0.3  # the odds of a trip about the place where it starts, of what they would be by that


def destinations(origin: Ints, rng: np.random.Generator) -> Ints:
    """Draw the crossings where trips from `origin` end."""
    cumulative = _cumulative_odds()
    k = len(beijing().places)
    row = np.searchsorted(cumulative, origin + rng.random(len(origin)), side="right")
    return np.asarray(np.minimum(row - origin * k, k - 1))


@lru_cache(maxsize=1)
def _cumulative_odds() -> Floats:
    """Return the cumulative odds of destinations, for crossing i between i and i + 1; shape (k · k,)."""
    seconds = beijing().seconds
    odds = trip_ends() * (np.exp(-seconds / _REACH_S) + _ANYWHERE)
    np.fill_diagonal(odds, _SAME_PLACE * np.diag(odds))
    cumulative = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    return np.asarray((cumulative + np.arange(len(odds))[:, None]).ravel())


@lru_cache(maxsize=1)
def trip_ends() -> Floats:
    """Return the odds that a trip ends at each crossing, by distance from the centre and busy spots; shape (k,)."""
    places = beijing().places * KM_A_DEGREE
    from_centre = np.hypot(*(places - np.array(_CENTRE) * KM_A_DEGREE).T)
    odds = np.exp(-((from_centre / _CITY_KM) ** 2)) * (from_centre < 2.5 * _CITY_KM)
    for lon, lat, trips in _SPOTS.values():
        distance = np.hypot(*(places - np.array([lon, lat]) * KM_A_DEGREE).T)
        near = np.exp(-((distance / _SPOT_KM) ** 2))
        odds += trips * near / max(near.sum(), 1e-9)
    return np.asarray(odds)
