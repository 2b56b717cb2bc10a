"""Windows of days, weeks, months, quarters or years in a time zone, without gaps, and with different lengths."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np

from tailrace.ground.duration import format_duration
from tailrace.windows.windows import Ints, Time

Unit = Literal["day", "week", "month", "quarter", "year"]

DAY_MS = 86_400_000
_CYCLE_DAYS = 146_097  # 400 years, after which weekdays and months repeat
_MONTHS: dict[Unit, int] = {"month": 1, "quarter": 3, "year": 12}
"""The number of months in each unit of months."""

LENGTHS_MS: dict[Unit, int] = {
    "day": DAY_MS,
    "week": 7 * DAY_MS,
    **{unit: months * _CYCLE_DAYS * DAY_MS // 4800 for unit, months in _MONTHS.items()},
}
"""The mean length of a window of each unit."""

_LONG_DAYS: dict[Unit, int] = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
_SUMMER_MS = 3_600_000  # a window may be longer by this when clocks go back
_EPOCH = date(1970, 1, 1)
_NO_CLOCKS, _BY_RULE = (date(year, 1, 1).toordinal() - _EPOCH.toordinal() for year in (1400, 2500))
"""Days from 1970. Between the two, days are computed from the zone's history and 400 years of its last rule; beyond,
they
repeat.
"""

_MARGIN = np.arange(-2, 3)  # days by which a local date differs from the date in UTC, and one more for its neighbour
_NEAR = 400  # days


@dataclass(frozen=True)
class Calendar:
    """Days, weeks (from Monday), months, quarters or years of a time zone, from local midnight, moved by an offset.

    A window begins at the first instant at which clocks show its first date or a later one: at midnight, unless clocks
    skip it. So a day may have 23 or 25 hours, and a date that a zone skipped has no window. Each window is one pane.
    The protocol `Windows` describes the methods.

    Attributes
    ----------
    zone : str
        A name of the IANA time zone database.
    offset_ms : int
        In whole seconds of local time, less than the unit.
    """

    unit: Unit
    zone: str
    offset_ms: int = 0

    @property
    def size_ms(self) -> int:
        return LENGTHS_MS[self.unit]

    @property
    def slide_ms(self) -> int:
        return self.size_ms

    @property
    def pane_ms(self) -> int:
        return _LONG_DAYS[self.unit] * DAY_MS + _SUMMER_MS

    @property
    def pane_step_ms(self) -> int:
        return 1000  # clocks differ from UTC by whole seconds

    @property
    def end_step_ms(self) -> int:
        return self.pane_step_ms

    @property
    def description(self) -> str:
        moved = f", moved by {format_duration(self.offset_ms)}" if self.offset_ms else ""
        return f"the {self.unit}s of {self.zone}{moved}"

    def pane(self, event_ms: Ints) -> Ints:
        return self.end_until(event_ms)

    def pane_end(self, pane: Ints) -> Ints:
        return self.end_after(pane)

    @property
    def scale_step(self) -> int:
        return 1

    def to_scale(self, event_ms: Ints) -> Ints:
        numbers, starts = self._table(event_ms)
        return _choose(numbers, starts, event_ms, -1)

    def from_scale(self, pane: Ints) -> Ints:
        return self.end_of(pane - 1)

    def first_end(self, pane: Ints) -> Ints:
        return self.end_after(pane)

    def last_end(self, pane: Ints) -> Ints:
        return self.end_after(pane)

    def start(self, end: Time) -> Time:
        return self.end_until(end - 1)

    def end_until(self, time: Time) -> Time:
        if isinstance(time, np.ndarray):
            _, starts = self._table(time)
            return _choose(starts, starts, time, -1)
        return self._start(self._number_at(time))

    def end_after(self, time: Time) -> Time:
        if isinstance(time, np.ndarray):
            _, starts = self._table(time)
            return _choose(starts, starts, time, 0)
        return self._start(self._number_at(time) + 1)

    def number(self, end: Time) -> Time:
        return self.to_scale(end - 1) if isinstance(end, np.ndarray) else self._number_at(end - 1)

    def end_of(self, number: Time) -> Time:
        if isinstance(number, np.ndarray):
            numbers, index = np.unique(number + 1, return_inverse=True)
            return self._starts(numbers)[index]
        return self._start(number + 1)

    def block(self, time: Ints) -> Ints:
        return self.to_scale(time)

    def within(self, low: int, high: int) -> tuple[int, int]:
        return self.end_after(low - 1), self.end_until(high) - 1

    def ends(self, pane: Ints, after: Ints | int | None, until: Ints | int | None) -> tuple[Ints, Ints]:
        end = self.end_after(pane)
        is_wanted = np.ones(len(end), bool) if after is None else end > after
        row = np.flatnonzero(is_wanted if until is None else is_wanted & (end <= until))
        return row, end[row]

    def _table(self, times: Ints) -> tuple[Ints, Ints]:
        """Return the numbers and starts of the windows at and around some times, ascending.

        The cost depends on the number of distinct days, not on the time between them.
        """
        if not len(times):
            return times, times
        days = (times - self.offset_ms) // DAY_MS
        low, high = int(days.min()), int(days.max())
        few = np.arange(low, high + 1) if high - low < _NEAR else np.unique(days)
        days = np.add.outer(few, _MARGIN).ravel()
        numbers = self._numbers_of(days)
        numbers = np.unique(np.concatenate([numbers, numbers + 1]))
        return numbers, self._starts(numbers)

    def _number_at(self, time: int) -> int:
        """Return the number of the window that contains a time."""
        number = int(self._numbers_of(np.array([(time - self.offset_ms) // DAY_MS]))[0])
        while self._start(number) > time:
            number -= 1
        while self._start(number + 1) <= time:
            number += 1
        return number

    def _numbers_of(self, days: Ints) -> Ints:
        """Return the numbers of the units that contain days; days are counted from 1970."""
        if self.unit in _MONTHS:
            return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) // _MONTHS[self.unit]
        return days if self.unit == "day" else (days + 3) // 7

    def _starts(self, numbers: Ints) -> Ints:
        return np.fromiter(map(self._start, numbers.tolist()), np.int64, len(numbers))

    def _start(self, number: int) -> int:
        return _start_ms(self.unit, self.zone, self.offset_ms, number)


def _choose(values: Ints, starts: Ints, times: Ints, beside: int) -> Ints:
    """Return for each time the value `beside` positions from the first start after it."""
    if not len(times):
        return times
    first, last = np.searchsorted(starts, [times.min(), times.max()], "right").tolist()
    if first == last:
        return np.full(len(times), values[first + beside])
    return values[np.searchsorted(starts, times, "right") + beside]


@lru_cache(maxsize=1 << 17)
def _start_ms(unit: Unit, zone: str, offset_ms: int, number: int) -> int:
    """Return the start of a window: the first instant at which the clocks of the zone show its first date, or later.

    Before 1400 and after 2500 the start follows from the window a multiple of 400 years later or earlier.
    """
    cycle = _CYCLE_DAYS * DAY_MS // LENGTHS_MS[unit]
    low, high = _own_numbers(unit)
    cycles = min((number - low) // cycle, 0) or max(-((high - 1 - number) // cycle), 0)
    day = _first_day(unit, number - cycles * cycle)
    wall = datetime(1970, 1, 1) + timedelta(days=day, milliseconds=offset_ms)
    return _first_instant_s(wall, ZoneInfo(zone)) * 1000 + cycles * _CYCLE_DAYS * DAY_MS


@cache
def _own_numbers(unit: Unit) -> tuple[int, int]:
    """Return the range [first, end) of windows that are computed directly, without the 400-year shift."""
    low, high = Calendar(unit, "UTC")._numbers_of(np.array([_NO_CLOCKS, _BY_RULE])).tolist()
    return low, high


def _first_day(unit: Unit, number: int) -> int:
    """Return the first day of a unit, counted from 1970."""
    if unit in _MONTHS:
        years, month = divmod(number * _MONTHS[unit], 12)
        return date(1970 + years, month + 1, 1).toordinal() - _EPOCH.toordinal()
    return number if unit == "day" else 7 * number - 3


def _first_instant_s(wall: datetime, zone: ZoneInfo) -> int:
    """Return the first epoch second at which a zone's clocks show a local time or, if they skip it, a later one."""
    local = int(wall.replace(tzinfo=UTC).timestamp())
    first, second = (local - _utc_offset_s(wall.replace(fold=fold, tzinfo=zone)) for fold in (0, 1))
    if first <= second:  # the local time occurs once or twice
        return first
    low, high = second, first  # clocks skip it: they go forward within (low, high]
    while high - low > 1:
        middle = (low + high) // 2
        shown = middle + _utc_offset_s(datetime.fromtimestamp(middle, zone))
        low, high = (low, middle) if shown >= local else (middle, high)
    return high


def _utc_offset_s(moment: datetime) -> int:
    offset = moment.utcoffset()
    assert offset is not None
    return offset // timedelta(seconds=1)
