from __future__ import annotations

from datetime import timedelta

import pytest

from tailrace.ground.duration import (
    NoDurationError,
    format_duration,
    format_durations,
    format_time,
    ms,
    parse_duration,
    parse_time_ms,
    rounded_duration,
)


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("500 ms", 500),
        ("5 s", 5_000),
        ("2 min", 120_000),
        ("1 h", 3_600_000),
        ("1 d", 86_400_000),
        ("5 seconds", 5_000),
        ("1 Minute", 60_000),
        ("0.5 s", 500),
        ("  7ms ", 7),
        ("-15 min", -900_000),
        ("0 ms", 0),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text: str, expected_ms: int) -> None:
    assert ms(parse_duration(text)) == expected_ms


def test_a_timedelta_is_returned_unchanged() -> None:
    assert parse_duration(timedelta(seconds=3)) == timedelta(seconds=3)


@pytest.mark.parametrize("text", ["500", 500, "", "s", "5 fortnights", "1 h 30 min", "0.5 ms", "40000 d", None, []])
def test_an_invalid_duration_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"no duration|whole number of milliseconds|a hundred years"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("5 mn", "5 min"),
        ("2 hrs", "2 h"),
        ("10 m", "10 min"),
        ("100 msec", "100 ms"),
        ("1.5 dais", "1.5 d"),
        ("5 fortnights", None),
        ("five s", None),
    ],
)
def test_a_misspelt_unit_has_the_nearest_one_as_its_remedy(text: str, near: str | None) -> None:
    with pytest.raises(NoDurationError) as error:
        parse_duration(text)
    assert error.value.near == near


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("10", "10 ms, 10 s or 10 min"),
        (10, "10 ms, 10 s or 10 min"),
        (" -5 ", "-5 ms, -5 s or -5 min"),
        ("0.5", "0.5 s, 0.5 min or 0.5 h"),
        ("five", None),
        ("10 m", None),
        (None, None),
    ],
)
def test_a_number_without_a_unit_has_the_choice_of_units_as_its_remedy(text: object, choice: str | None) -> None:
    with pytest.raises(NoDurationError) as error:
        parse_duration(text)
    assert error.value.choice == choice


@pytest.mark.parametrize(
    ("value_ms", "text"),
    [(0, "0 ms"), (500, "500 ms"), (1500, "1500 ms"), (60_000, "1 min"), (90_000, "90 s"), (86_400_000, "1 d")],
)
def test_the_largest_unit_that_divides_is_written(value_ms: int, text: str) -> None:
    assert format_duration(value_ms) == text
    assert ms(parse_duration(text)) == value_ms


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01", 1000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00.123456Z", 123),
        ("1969-12-31T23:59:59.999Z", -1),
        (" 2000-01-01 ", 946_684_800_000),
    ],
)
def test_a_time_without_an_offset_is_utc(text: str, expected_ms: int) -> None:
    assert parse_time_ms(text) == expected_ms


def test_an_invalid_time_is_refused() -> None:
    with pytest.raises(ValueError, match="yesterday"):
        parse_time_ms("yesterday")


@pytest.mark.parametrize("time_ms", [0, -1, 123, 946_684_800_000])
def test_a_written_time_reads_back(time_ms: int) -> None:
    assert parse_time_ms(format_time(time_ms)) == time_ms


@pytest.mark.parametrize(
    ("values_ms", "texts"),
    [([800, 4_000], ["800 ms", "4000 ms"]), ([0, 2_000, 60_000], ["0 s", "2 s", "60 s"]), ([0], ["0 d"]), ([], [])],
)
def test_a_column_of_durations_has_one_unit(values_ms: list[int], texts: list[str]) -> None:
    assert format_durations(values_ms) == texts


@pytest.mark.parametrize(
    ("value_ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1 s"),
        (8990, "8.99 s"),
        (16_379, "16.4 s"),
        (-16_379, "-16.4 s"),
        (60_000, "1 min"),
        (60_999, "1 min"),
        (3_725_000, "1 h 2 min"),
        (5018 * 86_400_000 + 72_000_000, "5018 d 20 h"),
    ],
)
def test_a_duration_for_reading_has_as_many_digits_as_count(value_ms, text):
    assert rounded_duration(value_ms) == text
