"""Movement of a fleet of taxis on the roads of Beijing, and the times at which they report their positions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from generators.taxi_demand import destinations, trip_ends
from generators.taxi_roads import KM_A_DEGREE, beijing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GAPS_S, GAP_SHARES = (5, 30, 60, 180, 300, 600), (0.06, 0.13, 0.28, 0.20, 0.26, 0.07)
"""Seconds between two fixes of a taxi, and their frequencies; on average 177, as in T-Drive."""

MEAN_GAP_S = 177

_DAY_S, _HOUR_S = 86_400, 3600
_GAP_SPREAD_S = 2  # a gap is longer or shorter by at most this time
_WARM_UP_S = 3600.0  # at the start, taxis have been on their way for up to so long

_SLOWEST, _FASTEST = 2.3, 0.9  # times of a trip as multiples of that without congestion, beside the hour's
_PEAKS = ((8.0, 1.5, 0.5), (18.0, 1.8, 0.6))  # hour, hours, and what is added at the peak
_SIDE_S = 240.0  # spent on side streets at each end of a trip
_SIDE_KM, _FARTHEST_KM = 0.36, 0.8  # how far ends lie from a crossing: standard deviation, at most, by direction
_NOISE_KM = 0.008  # a moving taxi's fix is off by at most this distance, by direction

_SHORT_STAND_S, _LONG_STAND_S, _LONG_SHARE = 180.0, 2400.0, 0.45
_SHIFTS = ((7.5, 1.5, 0.62), (16.0, 2.5, 0.38))  # hour at which taxis start, its standard deviation, share of them


class Reports(NamedTuple):
    """n fixes: seconds since the start, the taxi's row, and where it is in degrees; shapes (n,), (n,), (n, 2)."""

    seconds: Ints
    taxi: Ints
    place: Floats


class Fleet:
    """Taxis that drive, stand, and report; columns over the taxis.

    A taxi makes trips from crossing to crossing, by the fastest route but at its own pace, and stands after each. It
    starts and ends in a side street: there its place blends from or into one beside the route. So its speed is at most
    the route's ∕ _FASTEST, plus the speed on side streets. It is on duty every day from an hour of its own; off duty it
    reports nothing, and stands when its trip is over.

    Parameters
    ----------
    count : int
        Number of taxis.
    hours : float
        Hours on duty a day, 1 to 24.
    local_s : int
        Local time at the start, in seconds of the day.
    rng : numpy.random.Generator
    """

    def __init__(self, count: int, hours: float, local_s: int, rng: np.random.Generator) -> None:
        self.count = count
        self._rng, self._local_s, self._duty_s = rng, local_s, hours * _HOUR_S
        self._shift_s = _shift_starts(count, rng)
        odds = trip_ends()
        self._origin = rng.choice(len(odds), count, p=odds / odds.sum())
        self._destination = self._origin.copy()
        self._side_end = _side_places(count, rng)
        self._side_start = self._side_end.copy()
        self._departure = np.full(count, -2 * _WARM_UP_S)
        self._pace = np.ones(count)
        self._arrival = self._departure + _SIDE_S
        self._next_departure = -_WARM_UP_S * rng.random(count)
        self._next_fix = np.floor(_gaps(count, rng) * rng.random(count)).astype(np.int64)
        self._rest(np.arange(count))

    def advance(self, until_s: int) -> Reports:
        """Advance the time, and return the fixes before `until_s`, in no particular order."""
        parts = [Reports(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 2)))]
        while len(taxis := np.flatnonzero(self._next_fix < until_s)):
            now = self._next_fix[taxis]
            self._depart(taxis, now)
            parts.append(Reports(now, taxis, self._places(taxis, now)))
            self._next_fix[taxis] += _gaps(len(taxis), self._rng)
            self._rest(taxis)
        return Reports._make(np.concatenate(columns) for columns in zip(*parts, strict=True))

    def _rest(self, taxis: Ints) -> None:
        """Postpone the next fix of taxis that will be off duty until they are on duty again."""
        phase = (self._local_s + self._next_fix[taxis] - self._shift_s[taxis]) % _DAY_S
        is_off = phase >= self._duty_s
        taxis = taxis[is_off]
        back = self._next_fix[taxis] + np.ceil(_DAY_S - phase[is_off]).astype(np.int64)
        self._next_departure[taxis] = np.maximum(self._next_departure[taxis], back)
        self._next_fix[taxis] = back + self._rng.integers(0, MEAN_GAP_S, len(taxis))

    def _depart(self, taxis: Ints, now: Ints) -> None:
        """Start the trips that are due, one after the other."""
        roads, rng = beijing(), self._rng
        is_due = self._next_departure[taxis] <= now
        while is_due.any():
            taxis, now = taxis[is_due], now[is_due]
            departure = self._next_departure[taxis]
            origin = self._destination[taxis]
            destination = destinations(origin, rng)
            hours = (self._local_s + departure) % _DAY_S / _HOUR_S
            pace = rng.uniform(_FASTEST, _SLOWEST, len(taxis)) * _congestion(hours)
            seconds = np.maximum(roads.seconds[origin, destination], 2 * _SIDE_S) * pace
            is_long = rng.random(len(taxis)) < _LONG_SHARE
            stand = rng.exponential(np.where(is_long, _LONG_STAND_S, _SHORT_STAND_S))
            self._origin[taxis], self._destination[taxis] = origin, destination
            self._side_start[taxis] = self._side_end[taxis]
            self._side_end[taxis] = _side_places(len(taxis), rng)
            self._departure[taxis], self._pace[taxis] = departure, pace
            self._arrival[taxis] = departure + seconds
            self._next_departure[taxis] = departure + seconds + stand
            is_due = self._next_departure[taxis] <= now

    def _places(self, taxis: Ints, now: Ints) -> Floats:
        """Return the reported positions, in degrees, slightly off while taxis move; shape (n, 2)."""
        arrival = self._arrival[taxis]
        passed = (np.minimum(now, arrival) - self._departure[taxis]) / self._pace[taxis]
        left = (arrival - np.minimum(now, arrival)) / self._pace[taxis]
        location = beijing().at(self._origin[taxis], self._destination[taxis], passed)
        location += np.maximum(1 - passed / _SIDE_S, 0)[:, None] * self._side_start[taxis]
        location += np.maximum(1 - left / _SIDE_S, 0)[:, None] * self._side_end[taxis]
        noise = self._rng.uniform(-_NOISE_KM, _NOISE_KM, location.shape) / KM_A_DEGREE
        return np.where((now < arrival)[:, None], location + noise, location)


def _gaps(count: int, rng: np.random.Generator) -> Ints:
    """Draw gaps between fixes, in whole seconds."""
    nominal = rng.choice(np.array(GAPS_S), count, p=GAP_SHARES)
    return np.asarray(nominal + rng.integers(-_GAP_SPREAD_S, _GAP_SPREAD_S + 1, count))


def _shift_starts(count: int, rng: np.random.Generator) -> Floats:
    """Draw the local times at which taxis come on duty, in seconds of the day."""
    hour, spread, shares = (np.array(column) for column in zip(*_SHIFTS, strict=True))
    shift = rng.choice(len(shares), count, p=shares)
    return np.asarray(rng.normal(hour[shift], spread[shift]) % 24 * _HOUR_S)


def _side_places(count: int, rng: np.random.Generator) -> Floats:
    """Draw places in side streets, in degrees from the crossing; shape (n, 2)."""
    return np.asarray(np.clip(rng.normal(0, _SIDE_KM, (count, 2)), -_FARTHEST_KM, _FARTHEST_KM) / KM_A_DEGREE)


def _congestion(hours: Floats) -> Floats:
    """Return the factor by which trips that start at these local hours take longer."""
    return np.asarray(1 + sum(more * np.exp(-(((hours - peak) / width) ** 2)) for peak, width, more in _PEAKS))
