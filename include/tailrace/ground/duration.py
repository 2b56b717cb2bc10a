"""Parsing and formatting of durations and timestamps: text outside, integer milliseconds inside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from tailrace.ground.near_names import nearest

_UNITS_MS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_NAMES = {
    "ms": ("ms", "milli", "millis", "millisecond", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "min": ("min", "mins", "minute", "minutes"),
    "h": ("h", "hour", "hours"),
    "d": ("d", "day", "days"),
}
_UNIT_OF = {name: unit for unit, names in _NAMES.items() for name in names}
_OTHER_UNITS = {"m": "min", "msec": "ms", "msecs": "ms"}
"""Units of other systems whose letters are nearer to the wrong unit."""

_LONGEST_MS = 36_525 * 86_400_000
_PATTERN = re.compile(r"(-?\d+(?:\.\d+)?)\s*([a-z]+)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class NoDurationError(ValueError):
    """Raised for a text that is no duration.

    Attributes
    ----------
    near : str or None
        The same number with the unit of the nearest name; None if no unit is near.
    choice : str or None
        For a number without a unit, the durations that it may mean: "5 ms, 5 s or 5 min".
    """

    def __init__(self, text: Any, near: str | None) -> None:
        super().__init__(f"{text!r} is no duration; write a number and a unit: 500 ms, 5 s, 2 min, 1 h, 1 d")
        self.near, self.choice = near, _choice(str(text).strip())


def parse_duration(text: Any) -> timedelta:
    """Parse a duration such as `500 ms`, `5 s`, `2 min`, `1 h`, `1 d` or Spark's `5 seconds`.

    Raises
    ------
    ValueError
        When there is no number or no known unit, for a fraction of a millisecond, or beyond a hundred years.
    """
    if isinstance(text, timedelta):
        return text
    match = _PATTERN.fullmatch(text.strip().lower()) if isinstance(text, str) else None
    if match is None or match[2] not in _UNIT_OF:
        raise NoDurationError(text, None if match is None else _near(*match.groups()))
    value_ms = Decimal(match[1]) * _UNITS_MS[_UNIT_OF[match[2]]]
    if abs(value_ms) > _LONGEST_MS:
        raise ValueError(f"{text[:40]!r} is longer than a hundred years")
    if value_ms != int(value_ms):
        raise ValueError(f"{text!r} is not a whole number of milliseconds, the finest step of time here")
    return timedelta(milliseconds=int(value_ms))


def _near(number: str, unit: str) -> str | None:
    """Return the duration with the known unit nearest to an unknown one; None if no unit is near."""
    known = _OTHER_UNITS.get(unit) or _UNIT_OF.get(nearest(unit, _UNIT_OF) or "")
    return None if known is None else f"{number} {known}"


def _choice(number: str) -> str | None:
    """Return in words the durations that a number without a unit may mean; None for another text."""
    if not _NUMBER.fullmatch(number):
        return None
    units = ("s", "min", "h") if "." in number else ("ms", "s", "min")
    first, second, third = (f"{number} {unit}" for unit in units)
    return f"{first}, {second} or {third}"


def ms(duration: timedelta) -> int:
    """Convert a duration to integer milliseconds."""
    return duration // timedelta(milliseconds=1)


def format_duration(value_ms: int) -> str:
    """Format milliseconds in the largest unit that divides them; `parse_duration` reads the text back."""
    for unit, size in sorted(_UNITS_MS.items(), key=lambda item: -item[1]):
        if value_ms and value_ms % size == 0:
            return f"{value_ms // size} {unit}"
    return "0 ms"


def format_durations(values_ms: Sequence[int]) -> list[str]:
    """Format durations as a column in one unit, the largest that divides all of them.

    `parse_duration` reads them back.
    """
    units = sorted(_UNITS_MS.items(), key=lambda item: -item[1])
    unit, size = next((unit, size) for unit, size in units if all(value % size == 0 for value in values_ms))
    return [f"{value // size} {unit}" for value in values_ms]


def rounded_duration(value_ms: int) -> str:
    """Format a duration for people: three significant digits below a minute (16.4 s), else two units."""
    size, sign = abs(value_ms), "-" if value_ms < 0 else ""
    if size < _UNITS_MS["s"]:
        return f"{value_ms} ms"
    if size < _UNITS_MS["min"]:
        return f"{sign}{size / _UNITS_MS['s']:.3g} s"
    units = [("d", "h"), ("h", "min"), ("min", "s")]
    larger, smaller = next(pair for pair in units if size >= _UNITS_MS[pair[0]])
    major, rest = divmod(size, _UNITS_MS[larger])
    minor = rest // _UNITS_MS[smaller]
    return f"{sign}{major} {larger}{f' {minor} {smaller}' if minor else ''}"


def parse_time_ms(text: str) -> int:
    """Parse an ISO 8601 time to epoch milliseconds; a time without an offset is UTC.

    Raises
    ------
    ValueError
        When the text is not an ISO 8601 date or time.
    """
    moment = datetime.fromisoformat(text.strip())
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def format_time(time_ms: int) -> str:
    """Format epoch milliseconds as ISO 8601 in UTC with milliseconds, which `parse_time_ms` reads back."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time_ms)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _describe(duration: timedelta) -> str:
    return format_duration(ms(duration))


Duration = Annotated[timedelta, BeforeValidator(parse_duration), PlainSerializer(_describe, return_type=str)]
"""Pydantic field type of a duration: a `timedelta` in Python, text when serialized."""
