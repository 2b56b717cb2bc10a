"""Times written and read by patterns, and clock times moved to zones: as Spark 4.2, `datetime` and DuckDB have them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import drawn
from expression_values import FAILS, value_over
from spark_differences import golden_times
from tailrace.expressions import time_formats
from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.expression import parse

DOCS = Path(__file__).parents[3] / "docs/time-patterns.md"
ONE = pa.table({"one": [1], "s": ["nowhere"], "t": ["24"], "none": pa.array([None], pa.timestamp("us", "UTC"))})

times = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))
moments = st.datetimes(datetime(1972, 1, 1), datetime(2037, 1, 1))
zones = st.sampled_from(
    ["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "UTC", "Asia/Beirut"]
)


def over_time(moment: datetime, text: str):
    return value_over(pa.table({"t": pa.array([moment.replace(tzinfo=UTC)], pa.timestamp("us", "UTC"))}), text)


@pytest.mark.parametrize("text", golden_times())
def test_a_value_is_spark_s(text):
    expected = golden_times()[text]
    value = value_over(ONE, f"cast({text} as string)")
    assert value is FAILS if expected == "fails" else value == expected


@drawn(60)
@given(times)
def test_a_time_is_written_as_datetime_writes_it(moment):
    written = over_time(moment, "date_format(t, 'yyyy-MM-dd HH:mm:ss.SSSSSS DDD hh a MMM MMMM EEE EEEE yy')")
    rest = moment.strftime("%j %I %p %b %B %a %A")
    assert written == f"{moment.isoformat(' ', 'microseconds')} {rest} {moment.year % 100:02d}"


@drawn(60)
@given(times)
def test_what_is_written_is_read(moment):
    for pattern in (
        "yyyyMMddHHmmss.SSSSSS",
        "d.M.y H:m:s.SSSSSS",
        "yyyy MMMM dd hh-mm-ss SSSSSS a",
        "yyyy-MM-ddHHmmss.SSSSSSX",
    ):
        assert over_time(moment, f"to_timestamp(date_format(t, '{pattern}'), '{pattern}')") == moment.replace(
            tzinfo=UTC
        )
    assert over_time(moment, "to_date(date_format(t, 'dd MMM yyyy'), 'dd MMM yyyy')") == moment.date()


@drawn(60)
@given(st.from_regex(r"[0-9]{1,5}-[0-9]{1,3}-[0-9]{1,3}( [0-9]{1,2}:[0-9]{2})?", fullmatch=True))
def test_a_text_is_a_date_by_its_pattern_or_none(text):
    try:
        is_whole = re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None
        expected = datetime.strptime(text, "%Y-%m-%d").date() if is_whole else None
    except ValueError:
        expected = None
    table = pa.table({"t": [text]})
    assert value_over(table, "try_to_date(t, 'yyyy-MM-dd')") == expected
    assert value_over(table, "to_date(t, 'yyyy-MM-dd')") == (FAILS if expected is None else expected)


@drawn(60)
@given(moments, zones)
def test_clock_times_of_zones_are_those_of_duckdb(moment, zone):
    shown = over_time(moment, f"from_utc_timestamp(t, '{zone}')").replace(tzinfo=None)
    with duckdb.connect() as opened:
        (row,) = opened.execute("SELECT timezone(?, timezone('UTC', ?::TIMESTAMP))", [zone, moment]).fetchall()
    assert shown == row[0]
    back = over_time(shown, f"to_utc_timestamp(t, '{zone}')").replace(tzinfo=None)
    assert back == moment or over_time(back, f"from_utc_timestamp(t, '{zone}')").replace(tzinfo=None) == shown
    assert back <= moment  # of a time that clocks show twice, the first


@pytest.mark.parametrize("hour", range(24))
def test_a_time_that_clocks_skip_counts_by_the_offset_before(hour):
    moment = datetime(2024, 3, 31, hour, 30)
    ahead = 1 if hour <= 2 else 2
    assert over_time(moment, "to_utc_timestamp(t, 'Europe/Berlin')") == (moment - timedelta(hours=ahead)).replace(
        tzinfo=UTC
    )


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


def test_offsets_of_far_times_are_those_of_the_last_rule():
    zone = ZoneInfo("Europe/Berlin")
    for moment in (datetime(9999, 12, 31), datetime(1, 1, 1, 12)):
        expected = moment + (zone.utcoffset(moment) or timedelta())
        assert over_time(moment, "from_utc_timestamp(t, 'Europe/Berlin')").replace(tzinfo=None) == expected


def test_the_page_lists_each_letter():
    rows = [line.split("|")[2:4] for line in DOCS.read_text().splitlines() if line.startswith("| ")]
    written, read = ({each for row in rows for each in re.findall(r"`([A-Za-z]+)`", row[n])} for n in (0, 1))
    fractions = {"S" * digits for digits in range(1, 10)}
    assert (written - {"T", "AM", "PM"}) | fractions == set(time_formats._WRITTEN)
    assert read | fractions == set(time_formats._READ)
