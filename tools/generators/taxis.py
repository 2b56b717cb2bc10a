"""Stream of the fixes of taxis in Beijing, a model of T-Drive for streams of any length (paper 003, section 6.1).

T-Drive has 17,662,984 fixes of 10,357 taxis in a week; a taxi's are 177 s and 623 m apart on average. With that
gap all day there would be twice as many, so here taxis are on duty for 12 hours a day, which gives 17.7 million fixes,
635 m apart. The shares of faults are assumptions.

`taxi_roads.py` has the roads, `taxi_demand.py` where trips end, `taxi_fleet.py` how taxis move, and `taxi_faults.py`
wrong positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from generators.delays import DelayModel, NoDelay
from generators.fixes import Fixes, numbers
from generators.replay import START_MS
from generators.stretches import in_stretches
from generators.taxi_faults import with_outliers
from generators.taxi_fleet import Fleet

COUNT = 10_357
"""Taxis of T-Drive."""

WEEK_MS = 7 * 86_400_000
"""Length of T-Drive."""

_STEP_S = 600  # simulated at once; no option, since another step would make another stream
_DAY_MS, _AHEAD_MS = 86_400_000, 8 * 3_600_000  # local time of UTC
_DECIMALS = 5  # of degrees, as in T-Drive: a metre

# One seed gives independent random numbers for each, so that other faults or delays do not change the movement.
_MOVEMENT, _OUTLIERS, _DUPLICATES, _DELAYS = range(4)
_PARTS = 4

_MOST_TAXIS = (1 << 31) - 1  # the column of taxis is int32


def taxis(
    count: int = COUNT,
    seed: int = 0,
    *,
    shift: int = 0,
    start_ms: int = START_MS,
    duration_ms: int = WEEK_MS,
    stretch_ms: int = _STEP_S * 1000,
    delays: DelayModel | None = None,
    hours: float = 12.0,
    duplicates: float = 0.02,
    outliers: float = 0.005,
) -> Iterator[pa.RecordBatch]:
    """Generate the stream of a fleet's fixes in order of arrival, in batches by stretches of arrival time.

    Memory holds the fixes of a stretch, of 10 minutes, and those in transit, and the roads: 40 MB, and 120 during their
    construction.

    Parameters
    ----------
    count : int
        Number of taxis, at least 1.
    seed : int
        0 or more; the same seed and arguments give the same stream, however it is cut in stretches.
    shift : int
        Number of the fleet, 0 or more. Each has other taxis, with other numbers, on the same roads: two streams of the
        same area are shifts 0 and 1 of a seed.
    start_ms : int
        From when taxis report, epoch milliseconds. Event times are whole seconds after it.
    duration_ms : int
        For how long, 0 or more. A longer stream begins with the fixes of a shorter one.
    stretch_ms : int
        Arrival time that a batch covers, at least 1 ms; a stretch in which nothing arrives has no batch.
    delays : DelayModel, optional
        Draws the delay of each fix, and another one of its duplicate; absent: they arrive at their event times.
    hours : float
        Hours a day that a taxi is on duty, 1 to 24. Off duty it reports nothing.
    duplicates : float
        Share of fixes that are reported twice, 0 to 1. Columns are equal but for id and arrival time.
    outliers : float
        Share of fixes that are wrong, 0 to 1: far off, at 0° 0°, or with two digits of the longitude swapped.

    Returns
    -------
    iterator of pyarrow.RecordBatch
        The columns of `fixes.SCHEMA`. Ties in arrival are in order of event time, then of taxis. Taxis are numbered
        from 1 + shift · count.

    Raises
    ------
    ValueError
        When an argument is out of its range.
    """
    _in_range("count", count, 1, _MOST_TAXIS)
    _in_range("shift", shift, 0, _MOST_TAXIS // count - 1)
    _in_range("hours", hours, 1, 24)
    for name, value, least in (("seed", seed, 0), ("duration_ms", duration_ms, 0), ("stretch_ms", stretch_ms, 1)):
        _in_range(name, value, least, inf)
    for name, share in (("duplicates", duplicates), ("outliers", outliers)):
        _in_range(name, share, 0, 1)
    randoms = [np.random.default_rng([seed, shift, part]) for part in range(_PARTS)]
    fleet = Fleet(count, hours, (start_ms + _AHEAD_MS) % _DAY_MS // 1000, randoms[_MOVEMENT])
    faults = _Faults(outliers, randoms[_OUTLIERS], duplicates, randoms[_DUPLICATES])
    steps = _steps(fleet, faults, delays or NoDelay(), randoms[_DELAYS], start_ms, duration_ms)
    renumbered = ((end_ms, fixes._replace(taxi=1 + shift * count + fixes.taxi)) for end_ms, fixes in steps)
    return (fixes.as_batch() for fixes in in_stretches(renumbered, start_ms, stretch_ms))


class _Faults(NamedTuple):
    """Shares of wrong and of repeated fixes, and the random numbers that choose them."""

    outliers: float
    outlier_rng: np.random.Generator
    duplicates: float
    duplicate_rng: np.random.Generator


def _steps(
    fleet: Fleet, faults: _Faults, delays: DelayModel, rng: np.random.Generator, start_ms: int, duration_ms: int
) -> Iterator[tuple[int, Fixes]]:
    """Simulate step by step; yield the end of each step, and its fixes in order of event time, then of taxis."""
    reported = np.zeros(fleet.count, np.int64)
    for end_s in range(_STEP_S, -(-duration_ms // 1000) + _STEP_S, _STEP_S):
        seconds, taxi, location = fleet.advance(end_s)
        order = np.lexsort((taxi, seconds))
        location = with_outliers(location[order], faults.outliers, faults.outlier_rng).round(_DECIMALS)
        copies = 1 + (faults.duplicate_rng.random(len(order)) < faults.duplicates)
        rows = np.repeat(np.arange(len(order)), copies)
        event_ms, taxi, location = start_ms + 1000 * seconds[order][rows], taxi[order][rows], location[rows]
        number = reported[taxi] + numbers(taxi)
        reported += np.bincount(taxi, minlength=fleet.count)
        arrival_ms = event_ms + delays.sample(len(event_ms), rng)
        fixes = Fixes(event_ms, arrival_ms, taxi, number, location[:, 0], location[:, 1])
        end_ms = start_ms + min(1000 * end_s, duration_ms)
        yield end_ms, fixes.take(slice(int(np.searchsorted(event_ms, end_ms))))


def _in_range(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        right = f"at least {least}" if most == inf else f"{least} to {most}"
        raise ValueError(f"{name} is {value}; right is {right}")
