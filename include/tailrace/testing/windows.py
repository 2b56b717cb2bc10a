"""The windows that hold an event time, found one by one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from tailrace.query.window_section import KeyedWindow

_BEGINS: dict[int, Callable[[date], bool]] = {
    1: lambda day: True,
    7: lambda day: day.weekday() == 0,
    30: lambda day: day.day == 1,
    91: lambda day: day.day == 1 and day.month % 3 == 1,
    365: lambda day: day.day == 1 and day.month == 1,
}
"""Whether a date is the first of a window, by the whole days of the window's mean length."""


def windows_of(event_time: int, window: KeyedWindow) -> list[tuple[int, int]]:
    """Return the windows [start, end) that hold an event time, in ms."""
    offset = window.offset or timedelta(0)
    if window.timezone is not None:
        return [_of_calendar(event_time, window, ZoneInfo(window.timezone), offset)]
    windows, offset_ms = [], offset // timedelta(milliseconds=1)
    start = (event_time - offset_ms) // window.slide_ms * window.slide_ms + offset_ms
    while start + window.size_ms > event_time:
        windows.append((start, start + window.size_ms))
        start -= window.slide_ms
    return windows


def _of_calendar(event_time: int, window: KeyedWindow, zone: ZoneInfo, offset: timedelta) -> tuple[int, int]:
    """Return the day, the week from Monday, the month, quarter or year of a zone's clocks that holds an event time."""
    shown = datetime.fromtimestamp(event_time // 1000, zone).date()
    reach = 2 * window.size.days + 10
    dates = [shown + timedelta(days=days) for days in range(-reach, reach + 1)]
    starts = [_instant(each, zone, offset) for each in dates if _BEGINS[window.size.days](each)]
    start = max(each for each in starts if each <= event_time)
    return start, min(each for each in starts if each > start)


def _instant(day: date, zone: ZoneInfo, offset: timedelta) -> int:
    """Return the first instant at which clocks show the start of a date, moved by an offset, or a later time."""
    wall = datetime(day.year, day.month, day.day) + offset
    return int(wall.replace(tzinfo=zone).timestamp()) * 1000
