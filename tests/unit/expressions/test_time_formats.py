"""Times written and read by patterns, and clock times moved to zones: as Spark 4.2, `datetime` and DuckDB have them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.expression_values import FAILS, value_over, values_over
from kit.draws.spark_differences import golden_times
from kit.suite.examples import drawn
from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.expression import parse

ONE = pa.table({"one": [1], "s": ["nowhere"], "t": ["24"], "none": pa.array([None], pa.timestamp("us", "UTC"))})

MANY = {"min_size": 1, "max_size": 30}
times = st.lists(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)), **MANY)
moments = st.lists(st.datetimes(datetime(1972, 1, 1), datetime(2037, 1, 1)), **MANY)
zones = st.sampled_from(
    ["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "UTC", "Asia/Beirut"]
)


def over_times(moments: list[datetime], text: str) -> list[Any]:
    """The values of an expression over a column `t` of times in UTC; times without their zone."""
    column = pa.array([moment.replace(tzinfo=UTC) for moment in moments], pa.timestamp("us", "UTC"))
    values = values_over(pa.table({"t": column}), text)
    return [value.replace(tzinfo=None) if isinstance(value, datetime) else value for value in values]


@pytest.mark.parametrize("text", golden_times())
def test_a_value_is_spark_s(text):
    expected = golden_times()[text]
    value = value_over(ONE, f"cast({text} as string)")
    assert value is FAILS if expected == "fails" else value == expected


@drawn(20)
@given(times)
def test_a_time_is_written_as_datetime_writes_it(moments):
    written = over_times(moments, "date_format(t, 'yyyy-MM-dd HH:mm:ss.SSSSSS DDD hh a MMM MMMM EEE EEEE yy')")
    rests = [f"{moment.strftime('%j %I %p %b %B %a %A')} {moment.year % 100:02d}" for moment in moments]
    assert written == [
        f"{each.isoformat(' ', 'microseconds')} {rest}" for each, rest in zip(moments, rests, strict=True)
    ]


@pytest.mark.parametrize(
    "pattern",
    ["yyyyMMddHHmmss.SSSSSS", "d.M.y H:m:s.SSSSSS", "yyyy MMMM dd hh-mm-ss SSSSSS a", "yyyy-MMM-ddHHmmss.SSSSSSX"],
)
@drawn(10)
@given(times)
def test_what_is_written_is_read(pattern, moments):
    assert over_times(moments, f"to_timestamp(date_format(t, '{pattern}'), '{pattern}')") == moments
    dates = [moment.date() for moment in moments]
    assert over_times(moments, f"to_date(date_format(t, '{pattern}'), '{pattern}')") == dates


@drawn(20)
@given(
    st.lists(st.from_regex(r"[0-9]{3,5}-[0-9]{1,3}-[0-9]{1,3}|[0-9]{4}-[01][0-9]-[0-3][0-9]", fullmatch=True), **MANY)
)
def test_a_text_is_a_date_by_its_pattern_or_none(texts):
    def date_of(text: str) -> date | None:
        try:
            return datetime.strptime(text, "%Y-%m-%d").date() if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None
        except ValueError:
            return None

    table, expected = pa.table({"t": texts}), [date_of(text) for text in texts]
    assert values_over(table, "try_to_date(t, 'yyyy-MM-dd')") == expected
    assert values_over(table, "to_date(t, 'yyyy-MM-dd')") == [FAILS if each is None else each for each in expected]


@drawn(20)
@given(moments, zones)
def test_clock_times_of_zones_are_as_duckdb_has_them(moments, zone):
    shown = over_times(moments, f"from_utc_timestamp(t, '{zone}')")
    in_utc = pa.table({"t": pa.array(moments, pa.timestamp("us"))})
    with duckdb.connect() as opened:
        opened.register("in_utc", in_utc)
        rows = opened.execute("SELECT timezone(?, timezone('UTC', t)) FROM in_utc", [zone]).fetchall()
    assert shown == [row[0] for row in rows]
    back = over_times(shown, f"to_utc_timestamp(t, '{zone}')")
    assert all(one <= other for one, other in zip(back, moments, strict=True))  # of a time that comes twice the first
    assert over_times(back, f"from_utc_timestamp(t, '{zone}')") == shown


def test_a_time_that_clocks_skip_counts_by_the_offset_before():
    moments = [datetime(2024, 3, 31, hour, 30) for hour in range(24)]
    expected = [each - timedelta(hours=1 if each.hour <= 2 else 2) for each in moments]
    assert over_times(moments, "to_utc_timestamp(t, 'Europe/Berlin')") == expected


@pytest.mark.parametrize(
    ("text", "fault", "remedy"),
    [
        ("date_format(ts, 'YYYY-MM')", "YYYY in the pattern 'YYYY-MM' counts by weeks", "yyyy for the year"),
        ("date_format(ts, 'yyyy-MM-ddTHH')", "T in the pattern 'yyyy-MM-ddTHH' is not written here", "in quotes: 'T'"),
        ("date_format(ts, 'MMMMM')", "MMMMM in the pattern 'MMMMM' is not written here", "M MM MMM MMMM"),
        ('date_format(ts, "\'open")', "has ' in it", "'' for a quote"),
        ("date_format(ts, 'yyyy[-MM]')", "has [ in it", "a text in quotes"),
        ("to_date(s, 'EEE dd')", "EEE in the pattern 'EEE dd' is not read here", "y yy yyyy"),
        ("to_date(s, r'yyyy-ww')", "ww in the pattern 'yyyy-ww' counts by weeks", "weekofyear"),
        ("to_date(s, '')", "reads no part of a time", "'yyyy-MM-dd'"),
        ("to_date(s, 'yyyy yy')", "states the year twice", "once"),
        ("to_date(s, 'yyyyMd')", "has M right behind another number", "yyyyMMddHHmmss"),
        ("to_date(s, 'dMyyyy')", "has M right behind another number", "yyyyMMddHHmmss"),
        ("to_timestamp(s, 'ssSSS')", "has SSS right behind another number", "a text between them"),
        ("to_timestamp(s, 'HHXmm')", "has mm right behind another number", "a text between them"),
        ("to_timestamp(s, 'M1')", "has a digit behind a number of any length", "MM"),
        ("try_to_timestamp(s, 'HH a')", "has a without h", "hh:mm a, or HH:mm"),
        ("from_utc_timestamp(ts, 'Europe/Berlim')", "'Europe/Berlim' is no time zone here", "Europe/Berlin"),
        ("to_utc_timestamp(ts, 'EST')", "'EST' is no time zone here", "or an offset: +05:30"),
        ("to_utc_timestamp(ts, '+18:01')", "'+18:01' is no time zone here", "+05:30"),
    ],
)
def test_a_literal_that_means_nothing_is_refused_when_it_is_parsed(text, fault, remedy):
    with pytest.raises(ExpressionError) as refused:
        parse(text)
    assert fault in refused.value.fault
    assert remedy in refused.value.remedy


def test_a_record_fails_by_its_own_zone_alone():
    assert value_over(ONE, "from_utc_timestamp(timestamp '2024-02-29', s)") is FAILS
    assert value_over(ONE, "from_utc_timestamp(none, s)") is None
    assert value_over(ONE, "to_utc_timestamp(timestamp '2024-02-29', concat('UT', 'C'))").date() == date(2024, 2, 29)


def test_try_forgives_the_text_alone():
    assert value_over(ONE, "try_to_date(t, 'HH')") is None
    assert value_over(ONE, "try_to_date(cast(1 div (one - one) as string), 'yyyy')") is FAILS


def test_offsets_of_far_times_follow_the_last_rule():
    zone, moments = ZoneInfo("Europe/Berlin"), [datetime(9999, 12, 31), datetime(1, 1, 1, 12), datetime(5000, 7, 1)]
    expected = [moment + (zone.utcoffset(moment) or timedelta()) for moment in moments]
    assert over_times(moments, "from_utc_timestamp(t, 'Europe/Berlin')") == expected


def test_clock_times_beyond_the_calendar_are_none():
    assert over_times([datetime(9999, 12, 31, 23, 30)], "from_utc_timestamp(t, 'Europe/Berlin')") == [FAILS]
    assert over_times([datetime(1, 1, 1)], "to_utc_timestamp(t, 'Europe/Berlin')") == [FAILS]
