"""The windows that hold an event time, found one by one."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from tailrace.query.window_section import KeyedWindow

_DAY, _WEEK = timedelta(days=1), timedelta(days=7)


def windows_of(event_time: int, window: KeyedWindow) -> list[tuple[int, int]]:
    """Return the windows [start, end) that hold an event time, in ms."""
    offset = window.offset or timedelta(0)
    if window.timezone is not None:
        return [_of_calendar(event_time, window.size, ZoneInfo(window.timezone), offset)]
    windows, offset_ms = [], offset // timedelta(milliseconds=1)
    start = (event_time - offset_ms) // window.slide_ms * window.slide_ms + offset_ms
    while start + window.size_ms > event_time:
        windows.append((start, start + window.size_ms))
        start -= window.slide_ms
    return windows


def _of_calendar(event_time: int, size: timedelta, zone: ZoneInfo, offset: timedelta) -> tuple[int, int]:
    """Return the day, the week from Monday or the month of a zone's clocks that holds an event time."""
    shown = datetime.fromtimestamp(event_time // 1000, zone).date()
    dates = [shown + timedelta(days=days) for days in range(-70, 71)]
    starts = [_instant(each, zone, offset) for each in dates if _begins(each, size)]
    start = max(each for each in starts if each <= event_time)
    return start, min(each for each in starts if each > start)


def _begins(day: date, size: timedelta) -> bool:
    if size == _DAY:
        return True
    return day.weekday() == 0 if size == _WEEK else day.day == 1


def _instant(day: date, zone: ZoneInfo, offset: timedelta) -> int:
    """Return the first instant at which clocks show the start of a date, moved by an offset, or a later time."""
    wall = datetime(day.year, day.month, day.day) + offset
    return int(wall.replace(tzinfo=zone).timestamp()) * 1000
