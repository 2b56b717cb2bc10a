"""Windows of a calendar against a search of the instant at which a time zone's clocks show their first date."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.windows import calendar
from tailrace.windows.calendar import Calendar, Unit

SOME = drawn(60)
ODD = [
    "America/Sao_Paulo",  # its clocks went forward at midnight
    "America/St_Johns",  # and here back at a minute past midnight
    "America/Havana",
    "Asia/Beirut",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",  # by half an hour
    "Africa/Casablanca",
    "America/Scoresbysund",
    "Pacific/Apia",  # left out a day
    "Pacific/Kwajalein",
    "Europe/Berlin",
    "UTC",
]
ALL = sorted(
    available_timezones() - {"Africa/Monrovia", "localtime"}
)  # Monrovia's clocks were off by seconds until 1972

zones = st.one_of(st.sampled_from(ODD), st.sampled_from(ALL))
days = st.dates(date(1971, 1, 1), date(2099, 12, 1))
units = st.sampled_from(["day", "week", "month", "quarter", "year"])
offsets_min = st.sampled_from([0, 0, 0, 360, -360, 30, 1439])


def first_date(unit: Unit, day: date) -> date:
    if unit in ("quarter", "year"):
        return day.replace(month=(day.month - 1) // 3 * 3 + 1 if unit == "quarter" else 1, day=1)
    return day - timedelta(days={"day": 0, "week": day.weekday(), "month": day.day - 1}[unit])


def next_date(unit: Unit, first: date) -> date:
    longest = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
    return first_date(unit, first + timedelta(days=longest[unit]))


def start_of(first: date, zone: str, offset_min: int) -> int:
    """Return the first minute at which clocks show the date or later, looking at each minute."""
    shown = datetime(first.year, first.month, first.day) + timedelta(minutes=offset_min)
    moment = shown.replace(tzinfo=UTC) - timedelta(days=2)
    while moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None) < shown:
        moment += timedelta(minutes=1)
    return int(moment.timestamp()) * 1000


@SOME
@given(units, zones, offsets_min, days, st.data())
def test_a_window_goes_from_the_first_instant_of_its_date_to_the_next_one(
    unit: Unit, zone: str, offset_min: int, day: date, data
) -> None:
    first = first_date(unit, day)
    start, end = (start_of(each, zone, offset_min) for each in (first, next_date(unit, first)))
    windows = Calendar(unit, zone, offset_min * 60_000)
    if start == end:  # a date that never was
        return
    times = np.array([start, end - 1, *data.draw(st.lists(st.integers(start, end - 1), max_size=4))])
    assert set(windows.pane(times).tolist()) == {start}
    for ends in (windows.pane_end, windows.last_end, windows.end_after):
        assert set(ends(times).tolist()) == {end}
    assert windows.first_end(np.array([start])).tolist() == [end]
    assert (windows.start(end), windows.end_until(end), windows.end_until(end - 1)) == (start, end, start)
    assert windows.end_of(windows.number(end)) == end
    assert windows.end_of(windows.number(end) - 1) == start
    assert windows.number(start) < windows.number(end)
    for method in ("end_until", "end_after", "start", "number"):  # of an array, and of each alone
        both = getattr(windows, method)(times).tolist(), [getattr(windows, method)(time) for time in times.tolist()]
        assert both[0] == both[1]
    assert windows.end_of(windows.number(np.array([end]))).tolist() == [end]
    assert windows.from_scale(windows.to_scale(times)).tolist() == [start] * len(times)


def utc(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("unit", "zone", "inside", "start", "end", "hours"),
    [
        ("day", "Europe/Berlin", "2024-03-31T12:00", "2024-03-30T23:00", "2024-03-31T22:00", 23),
        ("day", "Europe/Berlin", "2024-10-27T12:00", "2024-10-26T22:00", "2024-10-27T23:00", 25),
        ("day", "America/Sao_Paulo", "2018-11-04T12:00", "2018-11-04T03:00", "2018-11-05T02:00", 23),
        ("day", "Asia/Beirut", "2022-03-27T12:00", "2022-03-26T22:00", "2022-03-27T21:00", 23),
        ("day", "Pacific/Apia", "2011-12-29T12:00", "2011-12-29T10:00", "2011-12-30T10:00", 24),
        ("day", "Pacific/Apia", "2011-12-30T12:00", "2011-12-30T10:00", "2011-12-31T10:00", 24),
        ("day", "America/Toronto", "1919-03-31T12:00", "1919-03-31T04:30", "1919-04-01T04:00", 23.5),  # 23:30, 00:30
        ("week", "Europe/Berlin", "2024-10-27T12:00", "2024-10-20T22:00", "2024-10-27T23:00", 169),
        ("month", "Europe/Berlin", "2024-02-29T12:00", "2024-01-31T23:00", "2024-02-29T23:00", 696),
        ("quarter", "Europe/Berlin", "2024-02-29T12:00", "2023-12-31T23:00", "2024-03-31T22:00", 2183),
        ("quarter", "Asia/Kathmandu", "2023-11-29T12:00", "2023-09-30T18:15", "2023-12-31T18:15", 2208),
        ("quarter", "UTC", "1969-12-31T12:00", "1969-10-01T00:00", "1970-01-01T00:00", 2208),
        ("year", "Pacific/Apia", "2011-12-30T12:00", "2011-01-01T10:00", "2011-12-31T10:00", 8736),
        ("year", "America/New_York", "2024-12-31T12:00", "2024-01-01T05:00", "2025-01-01T05:00", 8784),
        ("year", "UTC", "1900-07-01T12:00", "1900-01-01T00:00", "1901-01-01T00:00", 8760),
        ("year", "Europe/Berlin", "8824-10-27T12:00", "8823-12-31T23:00", "8824-12-31T23:00", 8784),
        ("day", "Europe/Berlin", "2824-03-31T12:00", "2824-03-30T23:00", "2824-03-31T22:00", 23),  # 800 years later
        ("day", "Europe/Berlin", "8824-10-27T12:00", "8824-10-26T22:00", "8824-10-27T23:00", 25),
    ],
)
def test_windows_by_hand(unit: Unit, zone: str, inside: str, start: str, end: str, hours: float) -> None:
    windows = Calendar(unit, zone)
    (found,) = windows.pane(np.array([utc(inside)])).tolist()
    assert (found, windows.end_after(utc(inside))) == (utc(start), utc(end))
    assert utc(end) - utc(start) == hours * 3_600_000
    for each in (np.array([utc(end)]), utc(end)):
        assert windows.end_of(windows.number(each)) == each
        assert windows.end_of(windows.number(each) - 1) == utc(start)


def test_an_offset_begins_the_day_at_another_hour_of_its_clocks() -> None:
    windows = Calendar("day", "Europe/Berlin", 6 * 3_600_000)
    assert windows.end_after(utc("2024-03-30T12:00")) == utc("2024-03-31T04:00")  # 06:00 in summer
    assert windows.end_until(utc("2024-03-30T12:00")) == utc("2024-03-30T05:00")
    assert Calendar("week", "UTC", -86_400_000).end_until(utc("2024-10-23")) == utc("2024-10-20")  # a Sunday


@SOME
@given(st.sampled_from(ODD), days, st.lists(st.integers(-20, 20), min_size=1, max_size=8), st.data())
def test_windows_side_by_side_are_enumerated(zone: str, day: date, places: list[int], data) -> None:
    windows = Calendar("day", zone)
    bounds = sorted({start_of(day + timedelta(days=i), zone, 0) for i in range(-3, 6)})
    pane = np.array([bounds[place % (len(bounds) - 1)] for place in places])
    last = [bounds[bounds.index(start) + 1] for start in pane.tolist()]
    assert windows.ends(pane, None, None)[1].tolist() == last
    after, until = sorted(data.draw(st.tuples(st.sampled_from(bounds), st.sampled_from(bounds))))
    row, end = windows.ends(pane, after, np.full(len(pane), until))
    assert [*zip(row.tolist(), end.tolist(), strict=True)] == [
        (i, each) for i, each in enumerate(last) if after < each <= until
    ]
    first, newest = windows.within(after - 1, until)
    assert (first, newest) == (after, until - 1)


def test_tuples_decades_apart_cost_no_more_than_their_days() -> None:
    calendar._start_ms.cache_clear()
    windows = Calendar("day", "Europe/Paris")
    windows.pane(np.array([utc("1999-12-31"), utc("2026-11-26")]))
    windows.pane(np.array([-(1 << 60), 1 << 60]))
    assert calendar._start_ms.cache_info().misses <= 4 * 6


def test_no_times_are_in_no_windows() -> None:
    windows, none = Calendar("month", "UTC"), np.zeros(0, np.int64)
    for method in ("pane", "to_scale", "from_scale", "first_end", "last_end", "number", "end_of", "start"):
        assert not len(getattr(windows, method)(none))


def test_lengths_are_scales() -> None:
    assert [Calendar(unit, "UTC").size_ms for unit in ("day", "week")] == [86_400_000, 604_800_000]
    assert Calendar("month", "UTC").size_ms == 2_629_746_000  # a 4800th of 400 years
    assert [Calendar(unit, "UTC").size_ms for unit in ("quarter", "year")] == [7_889_238_000, 31_556_952_000]


@pytest.mark.parametrize("unit", ["day", "week", "month", "quarter", "year"])
def test_no_pane_is_longer_than_the_long_one(unit: Unit) -> None:
    windows = Calendar(unit, "Europe/Berlin")
    starts = windows.end_of(np.arange(windows.number(utc("1990-01-01")), windows.number(utc("2030-01-01"))))
    assert windows.pane_ms - 3_600_000 <= np.diff(starts).max() <= windows.pane_ms
