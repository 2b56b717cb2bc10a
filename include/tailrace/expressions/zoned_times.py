"""Functions that convert timestamps between UTC and the clock time of a time zone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

import pyarrow as pa

from tailrace.expressions.literals import TypeFault
from tailrace.expressions.plan import Plan, PythonFunction, Term
from tailrace.expressions.registry import FUNCTIONS, function, take
from tailrace.expressions.times import BEYOND, FIRST_MICROS, LAST_MICROS
from tailrace.expressions.types import BIGINT, TEXT, TIMESTAMP
from tailrace.ground.fields import near_zones

_SHIFT = re.compile(r"([+-])([0-9]{2}):([0-5][0-9])")
_MOST_SHIFT = timedelta(hours=18)
_EPOCH = datetime(1970, 1, 1)
_FIRST_S, _LAST_S = FIRST_MICROS // 1_000_000 + 2 * 86_400, LAST_MICROS // 1_000_000 - 2 * 86_400
"""The range in seconds within which Python knows the offset of every zone; no clock changes in the two days beyond."""

_OTHER_IN_SPARK = ("EST", "HST", "MST", "Factory", "localtime")
"""Names of the time zone database that Java reads as fixed offsets, or does not accept."""


_names = cache(available_timezones)


@lru_cache(maxsize=1024)
def _zone(name: str) -> tzinfo | None:
    """Return a time zone by its name, or an offset such as +05:30; None if there is none."""
    if name in _names():
        return None if name in _OTHER_IN_SPARK else ZoneInfo(name)
    match = _SHIFT.fullmatch(name)
    if match is None:
        return None
    shift = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return timezone(-shift if match[1] == "-" else shift) if shift <= _MOST_SHIFT else None


def _check_zone(name: str) -> None:
    if _zone(name) is None:
        near = [each for each in near_zones(name) if "/" in each and not each.startswith("Etc/")]
        remedy = f"{' or '.join(near) or 'Europe/Berlin'}: a name of the IANA time zone database; or an offset: +05:30"
        raise TypeFault(f"{name!r} is no time zone here", remedy)


def _offset_of_utc(moment: datetime, zone: tzinfo) -> timedelta | None:
    """Return the offset of a zone's clocks from UTC at a time in UTC."""
    return moment.replace(tzinfo=UTC).astimezone(zone).utcoffset()


def _offset_of_clock(moment: datetime, zone: tzinfo) -> timedelta | None:
    """Return the offset from UTC with which clocks show a local time: the first of two, or the one before a gap."""
    return moment.replace(tzinfo=zone).utcoffset()


def _offsets(
    offset_of: Callable[[datetime, tzinfo], timedelta | None],
) -> Callable[[pa.ChunkedArray, pa.ChunkedArray], pa.Array]:
    """Return the function from times (s) and zones to offsets (s); null for a text that is no zone, or a far time."""

    def offset_s(second: int, name: str) -> int | None:
        moment = _EPOCH + timedelta(seconds=min(max(second, _FIRST_S), _LAST_S))
        zone = _zone(name)
        offset = None if zone is None else offset_of(moment, zone)
        return None if offset is None else offset // timedelta(seconds=1)

    def compute(seconds: pa.ChunkedArray, zones: pa.ChunkedArray) -> pa.Array:
        pairs = [*zip(seconds.to_pylist(), zones.to_pylist(), strict=True)]
        known = {pair: None if None in pair else offset_s(*pair) for pair in set(pairs)}
        return pa.array([known[pair] for pair in pairs], pa.int64())

    return compute


def _moving(name: str, meaning: str, sign: str, offset_of: Callable[[datetime, tzinfo], timedelta | None]) -> None:
    @function(f"{name}(timestamp, zone)", meaning, literals={1: _check_zone})
    def compile_(plan: Plan, terms: Sequence[Term]) -> Term:
        time, zone = take(plan, terms[0], TIMESTAMP), take(plan, terms[1], TEXT)
        second = FUNCTIONS["unix_seconds"].compile(plan, [time])
        plan.functions[f"offset_{name}"] = PythonFunction(_offsets(offset_of), "BIGINT", ("BIGINT", "VARCHAR"))
        offset = f"offset_{name}({second.sql}, {zone.sql})"
        ahead = plan.fallible(offset, BIGINT, "a text that is no time zone", second, zone)
        micros = plan.step(f"epoch_us({time.sql}) {sign} {ahead.sql} * 1000000", BIGINT, time, ahead)
        outside = f"{micros.sql} < {FIRST_MICROS} OR {micros.sql} > {LAST_MICROS}"
        return plan.checked(f"make_timestamp({micros.sql})", TIMESTAMP, outside, BEYOND, micros)


_moving("from_utc_timestamp", "what clocks of a time zone show at a timestamp in UTC", "+", _offset_of_utc)
_moving("to_utc_timestamp", "the timestamp in UTC at which clocks of a time zone show it", "-", _offset_of_clock)
