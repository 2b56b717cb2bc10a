"""Numeric functions."""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.expressions.casts import cast, to_double
from tailrace.expressions.literals import TypeFault, exact_decimal
from tailrace.expressions.operators import arithmetic
from tailrace.expressions.plan import Plan, Term
from tailrace.expressions.registry import constant_of, function, number_of, simple
from tailrace.expressions.text_casts import plain
from tailrace.expressions.types import (
    BIGINT,
    DOUBLE,
    INT,
    MOST_DIGITS,
    TEXT,
    decimal,
    duckdb_name,
    is_decimal,
    is_integer,
    spark_name,
)

_MOST_PLACES = 20
_LIMIT = "9223372036854775807"


@function("abs(number)", "the number without its sign")
def _abs(plan: Plan, terms: Sequence[Term]) -> Term:
    term = number_of(plan, terms[0])
    if is_integer(term.dtype):
        return plan.fallible(f"abs({term.sql})", term.dtype, f"{spark_name(term.dtype)} overflow", term)
    return plan.step(f"abs({term.sql})", term.dtype, term)


@function("sign(number)", "-1, 0 or 1, as a double", "signum")
def _sign(plan: Plan, terms: Sequence[Term]) -> Term:
    value = to_double(plan, number_of(plan, terms[0]))
    sql = f"CASE WHEN isnan({value.sql}) OR {value.sql} = 0 THEN {value.sql} WHEN {value.sql} > 0 THEN 1 ELSE -1 END"
    return plan.step(f"CASE WHEN {value.sql} IS NOT NULL THEN {sql} END", DOUBLE, value)


def _rounded_to_integer(name: str, signature: str, meaning: str, *aliases: str) -> None:
    @function(signature, meaning, *aliases)
    def compile_(plan: Plan, terms: Sequence[Term]) -> Term:
        term = number_of(plan, terms[0])
        if is_integer(term.dtype):
            return cast(plan, term, BIGINT)
        if is_decimal(term.dtype):
            dtype = decimal(min(term.dtype.precision - term.dtype.scale + 1, MOST_DIGITS), 0)
            return plan.step(f"{name}({term.sql})", dtype, term)
        value = plan.step(f"{name}(CAST({term.sql} AS DOUBLE))", DOUBLE, term)
        sql = f"CASE WHEN isnan({value.sql}) THEN 0 WHEN {value.sql} >= 9223372036854775808.0::DOUBLE THEN {_LIMIT}"
        sql += f" WHEN {value.sql} <= -9223372036854775808.0::DOUBLE THEN -{_LIMIT} - 1"
        return plan.step(f"{sql} ELSE CAST({value.sql} AS BIGINT) END", BIGINT, value)


_rounded_to_integer("floor", "floor(number)", "the largest integer that is no larger")
_rounded_to_integer("ceil", "ceil(number)", "the smallest integer that is no smaller", "ceiling")


@function("round(number[, digits])", "the number rounded half away from zero, to a literal number of decimal places")
def _round(plan: Plan, terms: Sequence[Term]) -> Term:
    term = number_of(plan, terms[0])
    digits = constant_of(terms[1], INT, "the number of decimal places") if len(terms) > 1 else 0
    assert isinstance(digits, int)
    if digits < 0:
        return _rounded_to_tens(plan, term, -digits)
    if digits > MOST_DIGITS:
        raise TypeFault(f"{digits} decimal places", f"at most {MOST_DIGITS}")
    if is_integer(term.dtype):
        return term
    if is_decimal(term.dtype):
        if digits >= term.dtype.scale:
            whole = term.dtype.precision - term.dtype.scale + 1
            return cast(plan, term, exact_decimal(whole + term.dtype.scale, term.dtype.scale))
        return cast(plan, term, exact_decimal(term.dtype.precision - term.dtype.scale + 1 + digits, digits))
    if term.dtype != DOUBLE:
        raise TypeFault("round of a float", "cast(… as double), or as a decimal")
    if digits > _MOST_PLACES:
        raise TypeFault(f"{digits} decimal places of a double", f"0 to {_MOST_PLACES}")
    # Spark rounds the shortest digits that represent the double.
    text = plain(plan, plan.step(f"CASE WHEN isfinite({term.sql}) THEN CAST({term.sql} AS VARCHAR) END", TEXT, term))
    rounded = f"CAST(CAST(CAST({text.sql} AS DECIMAL(38,{digits})) AS VARCHAR) AS DOUBLE)"
    has_fraction = f"isfinite({term.sql}) AND abs({term.sql}) < 4503599627370496.0::DOUBLE"
    sql = f"CASE WHEN {has_fraction} THEN {rounded} ELSE {term.sql} END + CAST(0 AS DOUBLE)"  # -0.0 becomes 0.0
    return plan.step(sql, DOUBLE, term, text)


def _rounded_to_tens(plan: Plan, term: Term, places: int) -> Term:
    """Round an integer or a decimal half away from zero to a power of ten; a double's digits would not be exact."""
    if not (is_integer(term.dtype) or is_decimal(term.dtype)):
        raise TypeFault(f"round of a {spark_name(term.dtype)} to tens", "cast(… as decimal(38, 0)), or as bigint")
    dtype = term.dtype
    if is_decimal(dtype):
        dtype = decimal(min(max(dtype.precision - dtype.scale, places) + 1, MOST_DIGITS), 0)
    if places >= MOST_DIGITS:
        return plan.step(f"CASE WHEN {term.sql} IS NOT NULL THEN 0 END", dtype, term)
    unit, size = 10**places, f"CAST(trunc(abs(CAST({term.sql} AS {_exact(term)}))) AS HUGEINT)"
    tens = f"({size} + CAST('{unit // 2}' AS HUGEINT)) // CAST('{unit}' AS HUGEINT) * CAST('{unit}' AS HUGEINT)"
    sql = f"CASE WHEN {term.sql} < 0 THEN -1 ELSE 1 END * ({tens})"
    return plan.fallible(sql, dtype, f"{spark_name(dtype)} overflow", term)


def _exact(term: Term) -> str:
    """Return DuckDB's type in which the size of a number is computed."""
    return "HUGEINT" if is_integer(term.dtype) else duckdb_name(term.dtype)


@function(
    "pmod(number, number)", "the remainder, with the divisor's sign where the divisor is positive", stops_at_null=False
)
def _pmod(plan: Plan, terms: Sequence[Term]) -> Term:
    if any(not is_integer(term.dtype) for term in terms):
        raise TypeFault("an argument is no integer", "integers, or % for the remainder with the dividend's sign")
    rest = arithmetic(plan, "%", terms)
    other = cast(plan, terms[1], rest.dtype)
    name = duckdb_name(rest.dtype)
    sum_ = f"CAST({rest.sql} AS HUGEINT) + {other.sql}"
    sql = f"CASE WHEN {rest.sql} < 0 THEN CAST(({sum_}) % {other.sql} AS {name}) ELSE {rest.sql} END"
    return plan.step(sql, rest.dtype, rest, other)


simple(
    "sqrt(number)",
    "the square root; NaN of a negative number",
    "CASE WHEN {0} < 0 THEN CAST('NaN' AS DOUBLE) ELSE sqrt({0}) END",
    [DOUBLE],
    DOUBLE,
)
simple("exp(number)", "e to that power", "exp({0})", [DOUBLE], DOUBLE)
for _name, _meaning in (
    ("ln", "the natural logarithm"),
    ("log10", "the logarithm to base 10"),
    ("log2", "the logarithm to base 2"),
):
    simple(
        f"{_name}(number)",
        f"{_meaning}; null of a number that is not positive",
        f"CASE WHEN {{0}} > 0 THEN {_name}({{0}}) END",
        [DOUBLE],
        DOUBLE,
    )
simple(
    "pow(number, number)", "the first to the power of the second", "pow({0}, {1})", [DOUBLE, DOUBLE], DOUBLE, "power"
)
