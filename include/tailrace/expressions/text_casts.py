"""Casts of texts in the notations that Spark reads; any other text is a fault of its record."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from tailrace.expressions.plan import Plan, PythonFunction, Term
from tailrace.expressions.time_texts import time_from_text
from tailrace.expressions.types import (
    BOOLEAN,
    DATE,
    MOST_DIGITS,
    TEXT,
    TIMESTAMP,
    duckdb_name,
    is_decimal,
    is_integer,
    is_real,
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


def from_text(plan: Plan, term: Term, target: pa.DataType) -> Term | None:
    reason = f"a text that is no {spark_name(target)}"
    if is_integer(target):
        return _matched(plan, term, target, _INTEGER, reason)
    if is_decimal(target):
        digits = f"lower(regexp_replace({term.sql}, {_EDGES}, '', 'g'))"
        number = plan.step(f"CASE WHEN regexp_full_match({term.sql}, '{_DECIMAL}') THEN {digits} END", TEXT, term)
        number = plain(plan, number)
        return plan.fallible(number.sql, target, reason, term, uses=[number])
    if is_real(target):
        return _text_to_real(plan, term, target, reason)
    if target == BOOLEAN:
        trimmed = plan.step(f"lower(regexp_replace({term.sql}, {_EDGES}, '', 'g'))", TEXT, term)
        true, false = (f"({', '.join(repr(word) for word in words)})" for words in (_TRUE, _FALSE))
        sql = f"CASE WHEN {trimmed.sql} IN {true} THEN TRUE WHEN {trimmed.sql} IN {false} THEN FALSE END"
        return plan.fallible(sql, BOOLEAN, reason, trimmed)
    if target in (DATE, TIMESTAMP):
        return time_from_text(plan, term, target, reason)
    return None


def _matched(plan: Plan, term: Term, target: pa.DataType, pattern: str, reason: str) -> Term:
    trimmed = f"regexp_replace({term.sql}, {_EDGES}, '', 'g')"
    sql = f"CASE WHEN regexp_full_match({term.sql}, '{pattern}') THEN CAST({trimmed} AS {duckdb_name(target)}) END"
    return plan.fallible(sql, target, reason, term)


def _text_to_real(plan: Plan, term: Term, target: pa.DataType, reason: str) -> Term:
    name = duckdb_name(target)
    trimmed = plan.step(f"lower(regexp_replace({term.sql}, {_EDGES}, '', 'g'))", TEXT, term)
    special = " ".join(
        f"WHEN {trimmed.sql} = '{word}' THEN CAST('{value}' AS {name})" for word, value in _SPECIAL.items()
    )
    digits = f"CAST(rtrim({trimmed.sql}, 'df') AS {name})"
    sql = f"CASE WHEN regexp_full_match({term.sql}, '{_DOUBLE}') THEN {digits} {special} END"
    return plan.fallible(sql, target, reason, term, trimmed)


def plain(plan: Plan, text: Term) -> Term:
    """Return a number's text without an exponent, as DuckDB misreads some decimals that have one."""
    plan.functions["plain_number"] = PythonFunction(_plain_numbers)
    return plan.step(
        f"CASE WHEN contains({text.sql}, 'e') THEN plain_number({text.sql}) ELSE {text.sql} END", TEXT, text
    )


def _plain_numbers(texts: pa.ChunkedArray) -> pa.Array:
    return pa.array([None if text is None else _plain_number(Decimal(text)) for text in texts.to_pylist()], pa.string())


def _plain_number(number: Decimal) -> str:
    """Return a number as plain digits: 0 if it needs more than 38 places, 39 digits if it is too large."""
    if number.adjusted() > MOST_DIGITS:
        return "9" * (MOST_DIGITS + 1)
    return "0" if number.adjusted() < -MOST_DIGITS - 2 else f"{number:f}"
