"""Converts local times of a time zone to instants, computed once for each stretch of time with one offset from UTC."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Ints

_OFFSETS_MS = -2_208_988_800_000, 7_258_118_400_000
"""The years 1900 to 2200, within which offsets from UTC are looked up."""

_EPOCH = datetime(1970, 1, 1)
_DAY_S = 86_400
_QUARTER_MS = 900_000  # clocks change at quarters of an hour
_CACHED_DAYS = 10_000


class _Offsets(NamedTuple):
    """The offsets from UTC (s) of a local time before and after the next change of clocks.

    They differ for a time that occurs twice, and for a time that clocks skip, whose offset is smaller before the
    change.
    """

    before: int
    after: int


class _Stretch(NamedTuple):
    """Local times from `start` (s) on have these offsets."""

    start: int
    offsets: _Offsets


def localised(times_ms: Ints, timezone: str) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the epoch milliseconds of local times in a time zone, and a mask of times that clocks skipped.

    A local time that occurs twice, when clocks go back, is the first one.
    """
    local_s = np.clip(times_ms, *_OFFSETS_MS) // 1000  # times beyond have the offset at the ends
    days = np.unique(local_s // _DAY_S).tolist()
    stretches = [stretch for day in days for stretch in _stretches(timezone, day)]
    if not stretches:
        return times_ms, np.zeros(0, bool)
    start, offsets = (np.array(column) for column in zip(*stretches, strict=True))
    before, after = offsets[np.searchsorted(start, local_s, side="right") - 1].T
    gap = before < after
    return np.where(gap, times_ms, times_ms - before * 1000), gap


def are_shown_again(times_ms: Ints, timezone: str) -> NDArray[np.bool_]:
    """Return a mask of the instants (epoch ms) whose local time clocks of a zone show again, after they went back."""
    zone = ZoneInfo(timezone)
    quarters, index = np.unique(times_ms // _QUARTER_MS, return_inverse=True)
    first = [datetime.fromtimestamp(quarter * _QUARTER_MS // 1000, zone) for quarter in quarters.tolist()]
    is_first = [not time.fold and time.utcoffset() != time.replace(fold=1).utcoffset() for time in first]
    return np.array(is_first, bool)[index]


@lru_cache(maxsize=_CACHED_DAYS)
def _stretches(timezone: str, day: int) -> list[_Stretch]:
    """Return the stretches of a local day, on which clocks change at most once."""
    zone, start, end = ZoneInfo(timezone), day * _DAY_S, (day + 1) * _DAY_S - 1
    first, last = (_Stretch(second, _offsets(zone, second)) for second in (start, end))
    return [first, *_changes(zone, first, last)]


def _changes(zone: ZoneInfo, low: _Stretch, high: _Stretch) -> list[_Stretch]:
    """Find by bisection the seconds in (low, high] at which the offset changes."""
    if low.offsets == high.offsets:
        return []
    if high.start - low.start == 1:
        return [high]
    second = (low.start + high.start) // 2
    middle = _Stretch(second, _offsets(zone, second))
    return [*_changes(zone, low, middle), *_changes(zone, middle, high)]


def _offsets(zone: ZoneInfo, local_s: int) -> _Offsets:
    time = (_EPOCH + timedelta(seconds=local_s)).replace(tzinfo=zone)
    before, after = time.utcoffset(), time.replace(fold=1).utcoffset()
    assert before is not None
    assert after is not None
    return _Offsets(before // timedelta(seconds=1), after // timedelta(seconds=1))
