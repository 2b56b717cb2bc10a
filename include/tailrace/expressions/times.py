"""Functions of dates and timestamps; the session's time zone is UTC."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tailrace.expressions.literals import TypeFault
from tailrace.expressions.plan import Plan, Term
from tailrace.expressions.registry import FUNCTIONS, constant_of, function, simple, take
from tailrace.expressions.time_texts import FIRST_TIME, LAST_TIME
from tailrace.expressions.types import BIGINT, DATE, INT, TEXT, TIMESTAMP, decimal, is_integer, spark_name

BEYOND = "a time beyond the years 1 to 9999"
"""The reason to reject a record whose time would exceed the range of dates and timestamps."""
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
FIRST_MICROS, LAST_MICROS = _FIRST_DAY * 86_400_000_000, (_LAST_DAY + 1) * 86_400_000_000 - 1


def within_years(plan: Plan, term: Term) -> Term:
    """Return a term that fails for times beyond the years of dates and timestamps; other terms are unchanged."""
    if term.dtype not in (DATE, TIMESTAMP) or term.is_literal:
        return term
    first, last = ("DATE '0001-01-01'", "DATE '9999-12-31'") if term.dtype == DATE else (FIRST_TIME, LAST_TIME)
    outside = f"{term.sql} NOT BETWEEN {first} AND {last}"
    return plan.checked(term.sql, term.dtype, outside, BEYOND, term)


def _part(signature: str, meaning: str, sql: str, dtype: pa.DataType, *aliases: str) -> None:
    simple(signature, meaning, sql, [dtype], INT, *aliases)


_part("year(date)", "the year", "year({0})", DATE)
_part("quarter(date)", "the quarter, 1 to 4", "quarter({0})", DATE)
_part("month(date)", "the month, 1 to 12", "month({0})", DATE)
_part("day(date)", "the day of the month", "day({0})", DATE, "dayofmonth")
_part("dayofyear(date)", "the day of the year", "dayofyear({0})", DATE)
_part("dayofweek(date)", "the day of the week, 1 is Sunday", "dayofweek({0}) + 1", DATE)
_part("weekday(date)", "the day of the week, 0 is Monday", "isodow({0}) - 1", DATE)
_part("weekofyear(date)", "the week of the year, by ISO 8601", "week({0})", DATE)
_part("hour(timestamp)", "the hour, in UTC", "hour({0})", TIMESTAMP)
_part("minute(timestamp)", "the minute", "minute({0})", TIMESTAMP)
_part("second(timestamp)", "the second, without its fraction", "second({0})", TIMESTAMP)

SECONDS = "second"
_OF_ISO_WEEKS = {"dow_iso": "isodow", "dayofweek_iso": "isodow", "yearofweek": "isoyear"}
"""The parts of times by ISO 8601's weeks, which begin on Mondays, and DuckDB's functions for them."""
_SHOWN_PARTS = ("year", "quarter", "month", "week", "day", "dow", "doy", "hour", "minute", "second")
PARTS = {
    **dict.fromkeys(("year", "y", "years", "yr", "yrs"), "year"),
    **dict.fromkeys(("quarter", "qtr"), "quarter"),
    **dict.fromkeys(("month", "mon", "mons", "months"), "month"),
    **dict.fromkeys(("week", "w", "weeks"), "weekofyear"),
    **dict.fromkeys(("day", "d", "days"), "day"),
    **dict.fromkeys(("dayofweek", "dow"), "dayofweek"),
    "doy": "dayofyear",
    **dict.fromkeys(("hour", "h", "hours", "hr", "hrs"), "hour"),
    **dict.fromkeys(("minute", "m", "min", "mins", "minutes"), "minute"),
    **dict.fromkeys(("second", "s", "sec", "seconds", "secs"), SECONDS),
}
"""The parts of a time for `extract`, and the function of each; a second includes its fraction."""


def part_of(plan: Plan, name: str, time: Term) -> Term:
    """Return a part of a time by its name.

    Raises
    ------
    TypeFault
    """
    if name.lower() in _OF_ISO_WEEKS:
        date = take(plan, time, DATE)
        return plan.step(f"{_OF_ISO_WEEKS[name.lower()]}({date.sql})", INT, date)
    part = PARTS.get(name.lower())
    if part is None:
        raise TypeFault(f"extract has no {name.lower()} here", ", ".join(_SHOWN_PARTS))
    if part != SECONDS:
        return FUNCTIONS[part].compile(plan, [time])
    taken = take(plan, time, TIMESTAMP)
    sql = f"CAST(microsecond({taken.sql}) AS DECIMAL(38,0)) * CAST('0.000001' AS DECIMAL(6,6))"
    return plan.step(sql, decimal(8, 6), taken)


@function("date_part(part, time)", "the part of a time that a literal names: extract(part from time)", "datepart")
def _date_part(plan: Plan, terms: Sequence[Term]) -> Term:
    return part_of(plan, str(constant_of(terms[0], TEXT, "the part")), terms[1])


simple(
    "datediff(end, start)",
    "the days from the second date to the first",
    "date_diff('day', {1}, {0})",
    [DATE, DATE],
    INT,
    "date_diff",
)
simple("last_day(date)", "the last day of its month", "last_day({0})", [DATE], DATE)
simple("unix_date(date)", "the days since 1970-01-01", "date_diff('day', DATE '1970-01-01', {0})", [DATE], INT)


def _added(name: str, sign: str) -> None:
    @function(
        f"{name}(date, days)",
        f"the date so many days {'later' if sign == '+' else 'earlier'}",
        *(["dateadd"] if sign == "+" else []),
    )
    def compile_(plan: Plan, terms: Sequence[Term]) -> Term:
        date, days = take(plan, terms[0], DATE), take(plan, terms[1], INT)
        day = plan.step(
            f"date_diff('day', DATE '1970-01-01', {date.sql}) {sign} CAST({days.sql} AS BIGINT)", BIGINT, date, days
        )
        outside = f"{day.sql} < {_FIRST_DAY} OR {day.sql} > {_LAST_DAY}"
        return plan.checked(f"DATE '1970-01-01' + CAST({day.sql} AS INTEGER)", DATE, outside, BEYOND, day)


_added("date_add", "+")
_added("date_sub", "-")


@function("add_months(date, months)", "the date so many months later, at most the last day of its month")
def _add_months(plan: Plan, terms: Sequence[Term]) -> Term:
    date, months = take(plan, terms[0], DATE), take(plan, terms[1], INT)
    number = plan.step(
        f"year({date.sql}) * 12 + month({date.sql}) + CAST({months.sql} AS BIGINT)", BIGINT, date, months
    )
    outside = f"{number.sql} < 13 OR {number.sql} > 119999 + 1"
    return plan.checked(
        f"CAST({date.sql} + to_months({months.sql}) AS DATE)", DATE, outside, BEYOND, date, months, number
    )


_UNITS = {
    "year": "year",
    "yyyy": "year",
    "yy": "year",
    "quarter": "quarter",
    "month": "month",
    "mon": "month",
    "mm": "month",
    "week": "week",
}
_FINE = {
    "day": "day",
    "dd": "day",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
    "millisecond": "milliseconds",
    "microsecond": "microseconds",
}


def _truncated(plan: Plan, unit: Term, time: Term, units: dict[str, str], dtype: pa.DataType) -> Term:
    name = str(constant_of(unit, TEXT, "the unit")).lower()
    if name not in units:
        raise TypeFault(f"{name!r} is no unit", ", ".join(units))
    value = take(plan, time, dtype)
    return plan.step(f"date_trunc('{units[name]}', {value.sql})", dtype, value)


@function(
    "date_trunc(unit, timestamp)",
    "the timestamp at the start of its year, quarter, month, week, day, hour, minute or second",
)
def _date_trunc(plan: Plan, terms: Sequence[Term]) -> Term:
    return _truncated(plan, terms[0], terms[1], _UNITS | _FINE, TIMESTAMP)


@function("trunc(date, unit)", "the date at the start of its year, quarter, month or week")
def _trunc(plan: Plan, terms: Sequence[Term]) -> Term:
    return _truncated(plan, terms[1], terms[0], _UNITS, DATE)


@function("make_date(year, month, day)", "the date of these numbers")
def _make_date(plan: Plan, terms: Sequence[Term]) -> Term:
    taken = [take(plan, term, INT) for term in terms]
    year, month, day = (term.sql for term in taken)
    bounds = plan.step(f"CASE WHEN {year} BETWEEN 1 AND 9999 THEN {year} END", INT, *taken)
    value = plan.fallible(
        f"make_date({bounds.sql}, {month}, {day})", DATE, "numbers that are no date", *taken, uses=[bounds]
    )
    return value


for _unit, _micros in (("seconds", 1_000_000), ("millis", 1000), ("micros", 1)):
    _floored = f"(epoch_us({{0}}) - (epoch_us({{0}}) % {_micros} + {_micros}) % {_micros}) // {_micros}"
    simple(f"unix_{_unit}(timestamp)", f"the {_unit} since 1970, in UTC", _floored, [TIMESTAMP], BIGINT)


def _from_unix(name: str, unit: str, micros: int) -> None:
    @function(f"{name}(integer)", f"the timestamp so many {unit} after 1970, in UTC")
    def compile_(plan: Plan, terms: Sequence[Term]) -> Term:
        if not is_integer(terms[0].dtype):
            fault = f"an argument is {spark_name(terms[0].dtype)}, and has to be an integer"
            raise TypeFault(fault, "cast(… as bigint)")
        value = take(plan, terms[0], BIGINT)
        outside = f"{value.sql} < {FIRST_MICROS // micros} OR {value.sql} > {LAST_MICROS // micros}"
        return plan.checked(f"make_timestamp({value.sql} * {micros})", TIMESTAMP, outside, BEYOND, value)


_from_unix("timestamp_seconds", "seconds", 1_000_000)
_from_unix("timestamp_millis", "milliseconds", 1000)
_from_unix("timestamp_micros", "microseconds", 1)
