"""Casts of texts in the notations that Spark reads; any other text is a fault of its record."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from tailrace.expressions.plan import Plan, PythonFunction, Term
from tailrace.expressions.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    MOST_DIGITS,
    TEXT,
    TIMESTAMP,
    duckdb_name,
    is_decimal,
    is_integer,
    spark_name,
)

_BLANK = r"[\x00-\x20\x7F]*"
_EDGES = "'^[\\x00-\\x20\\x7F]+|[\\x00-\\x20\\x7F]+$'"
_INTEGER = rf"{_BLANK}[+-]?[0-9]+{_BLANK}"
_DECIMAL = rf"{_BLANK}[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{{1,4}})?{_BLANK}"
_DOUBLE = rf"{_BLANK}[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{{1,4}})?[dDfF]?{_BLANK}"
_SPECIAL = {"inf": "Infinity", "+inf": "Infinity", "infinity": "Infinity", "+infinity": "Infinity"}
_SPECIAL |= {"-inf": "-Infinity", "-infinity": "-Infinity", "nan": "NaN"}
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
_DAY = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_CLOCK = r"[0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}(\.[0-9]*)?)?"
_ZONE = r"(Z|UTC|GMT|[+-][0-9]{1,2}:[0-9]{2})"
_DATE = rf"{_BLANK}{_DAY}([ T].*)?{_BLANK}"
_TIMESTAMP = rf"{_BLANK}{_DAY}([ T]{_CLOCK} ?{_ZONE}?)?{_BLANK}"


def from_text(plan: Plan, term: Term, target: pa.DataType) -> Term | None:
    reason = f"a text that is no {spark_name(target)}"
    if is_integer(target):
        return _matched(plan, term, target, _INTEGER, reason)
    if is_decimal(target):
        digits = f"lower(regexp_replace({term.sql}, {_EDGES}, '', 'g'))"
        number = plan.step(f"CASE WHEN regexp_full_match({term.sql}, '{_DECIMAL}') THEN {digits} END", TEXT, term)
        number = plain(plan, number)
        return plan.fallible(number.sql, target, reason, term, uses=[number])
    if target == DOUBLE:
        return _text_to_double(plan, term, reason)
    if target == BOOLEAN:
        trimmed = plan.step(f"lower(regexp_replace({term.sql}, {_EDGES}, '', 'g'))", TEXT, term)
        true, false = (f"({', '.join(repr(word) for word in words)})" for words in (_TRUE, _FALSE))
        sql = f"CASE WHEN {trimmed.sql} IN {true} THEN TRUE WHEN {trimmed.sql} IN {false} THEN FALSE END"
        return plan.fallible(sql, BOOLEAN, reason, trimmed)
    if target == DATE:
        day = plan.step(f"regexp_extract({term.sql}, '{_DAY}')", TEXT, term)
        sql = f"CASE WHEN regexp_full_match({term.sql}, '{_DATE}') THEN CAST({day.sql} AS DATE) END"
        return plan.fallible(sql, DATE, reason, term, uses=[day])
    return _text_to_timestamp(plan, term, reason) if target == TIMESTAMP else None


def _matched(plan: Plan, term: Term, target: pa.DataType, pattern: str, reason: str) -> Term:
    trimmed = f"regexp_replace({term.sql}, {_EDGES}, '', 'g')"
    sql = f"CASE WHEN regexp_full_match({term.sql}, '{pattern}') THEN CAST({trimmed} AS {duckdb_name(target)}) END"
    return plan.fallible(sql, target, reason, term)


def _text_to_double(plan: Plan, term: Term, reason: str) -> Term:
    trimmed = plan.step(f"lower(regexp_replace({term.sql}, {_EDGES}, '', 'g'))", TEXT, term)
    special = " ".join(
        f"WHEN {trimmed.sql} = '{word}' THEN CAST('{value}' AS DOUBLE)" for word, value in _SPECIAL.items()
    )
    digits = f"CAST(rtrim({trimmed.sql}, 'df') AS DOUBLE)"
    sql = f"CASE WHEN regexp_full_match({term.sql}, '{_DOUBLE}') THEN {digits} {special} END"
    return plan.fallible(sql, DOUBLE, reason, term, trimmed)


def _text_to_timestamp(plan: Plan, term: Term, reason: str) -> Term:
    """Read a timestamp, in UTC if it has no zone; digits beyond microseconds are cut off."""
    zone = plan.step(f"regexp_extract({term.sql}, '{_ZONE}{_BLANK}$', 1)", TEXT, term)
    clock = f"regexp_extract({term.sql}, '{_DAY}([ T]{_CLOCK})?')"
    local = plan.step(
        f"regexp_replace(regexp_replace({clock}, '(\\.[0-9]{{6}})[0-9]+', '\\1'), '\\.$', '')", TEXT, term
    )
    hours = f"CAST(regexp_extract({zone.sql}, '[0-9]+') AS INTEGER)"
    minutes = f"CAST(regexp_extract({zone.sql}, '[0-9]+$') AS INTEGER)"
    is_day = f"{local.sql} NOT LIKE '%:%'"
    is_ahead = f"starts_with({zone.sql}, '+')"
    offset = f"CASE WHEN {zone.sql} IN ('', 'Z', 'UTC', 'GMT') OR {is_day} THEN 0"
    offset += f" WHEN {minutes} > 59 OR {hours} * 60 + {minutes} > 1080 THEN NULL"
    offset += f" ELSE ({hours} * 60 + {minutes}) * CASE WHEN {is_ahead} THEN -1 ELSE 1 END END"
    shift = plan.step(offset, INT, local, zone)
    time = f"CAST({local.sql} AS TIMESTAMP) + to_minutes({shift.sql})"
    sql = f"CASE WHEN regexp_full_match({term.sql}, '{_TIMESTAMP}') THEN {time} END"
    return plan.fallible(sql, TIMESTAMP, reason, term, local, uses=[shift])


def plain(plan: Plan, text: Term) -> Term:
    """Return the text of a number without an exponent, as DuckDB misreads some decimals with one."""
    plan.functions["plain_number"] = PythonFunction(_plain_numbers)
    return plan.step(
        f"CASE WHEN contains({text.sql}, 'e') THEN plain_number({text.sql}) ELSE {text.sql} END", TEXT, text
    )


def _plain_numbers(texts: pa.ChunkedArray) -> pa.Array:
    return pa.array([None if text is None else _plain_number(Decimal(text)) for text in texts.to_pylist()], pa.string())


def _plain_number(number: Decimal) -> str:
    """Return a number as plain digits: 0 where it needs more than 38 places, and 39 digits where it is too large."""
    if number.adjusted() > MOST_DIGITS:
        return "9" * (MOST_DIGITS + 1)
    return "0" if number.adjusted() < -MOST_DIGITS - 2 else f"{number:f}"
