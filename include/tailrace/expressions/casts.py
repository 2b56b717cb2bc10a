"""Casts between types as in Spark's ANSI mode.

A value that the target type can't hold is a fault of the record, or null.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from tailrace.expressions.literals import TypeFault, common_type, constant, literal_decimal, null
from tailrace.expressions.plan import Plan, Term
from tailrace.expressions.text_casts import from_text, plain
from tailrace.expressions.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    MOST_DIGITS,
    NULL,
    TEXT,
    TIMESTAMP,
    decimal,
    duckdb_name,
    is_decimal,
    is_integer,
    is_number,
    is_real,
    spark_name,
)

_BITS = {dtype: 8 << n for n, dtype in enumerate(INTEGERS)}
_EXACT_DIGITS = 15
_LARGEST_FLOAT = 2.0**128 - 2.0**104
_BEYOND_FLOATS = 2.0**128 - 2.0**103


def cast(plan: Plan, term: Term, target: pa.DataType, is_try: bool = False) -> Term:
    """Return a term in another type.

    If the type can't hold the value, the record has a fault; with `is_try`, the result is null instead.

    Raises
    ------
    TypeFault
        Where the cast does not exist, or can't be made exactly as in Spark.
    """
    if term.dtype == target:
        return term
    if term.dtype == NULL:
        return replace(null(target), faults=term.faults)
    converted = _converted(plan, term, target)
    if converted is None:
        fault = f"{spark_name(term.dtype)} can't be cast to {spark_name(target)}"
        raise TypeFault(fault, _remedy(term.dtype, target))
    return replace(converted, faults=term.faults) if is_try else converted


def widened(plan: Plan, terms: Sequence[Term], shrinks: bool = False) -> list[Term]:
    """Return terms in their common type.

    With `shrinks`, an integer literal beside decimals gets only the digits that it needs.
    """
    if shrinks and any(is_decimal(term.dtype) for term in terms) and not any(is_real(term.dtype) for term in terms):
        terms = [cast(plan, t, literal_decimal(t)) if t.is_literal and is_integer(t.dtype) else t for t in terms]
    dtype = common_type(terms)
    return [cast(plan, term, dtype) for term in terms]


def to_double(plan: Plan, term: Term) -> Term:
    return cast(plan, term, DOUBLE)


def _remedy(source: pa.DataType, target: pa.DataType) -> str:
    if is_real(source) and target == TEXT:
        return "a cast to a decimal before it: Java's way to write doubles is not known here"
    if is_number(source) and target == TIMESTAMP:
        return "timestamp_seconds, timestamp_millis or timestamp_micros"
    return "a cast to string, number, boolean, date or timestamp that Spark SQL has"


def _converted(plan: Plan, term: Term, target: pa.DataType) -> Term | None:  # noqa: PLR0911  a type, a return
    source = term.dtype
    if target == TEXT:
        return _to_text(plan, term)
    if source == TEXT:
        return from_text(plan, term, target)
    if target in (DATE, TIMESTAMP) and source in (DATE, TIMESTAMP):
        return plan.step(f"CAST({term.sql} AS {duckdb_name(target)})", target, term)
    if source == TIMESTAMP:
        micros = f"epoch_us({term.sql})"
        if is_integer(target):
            floored = f"({micros} - ({micros} % 1000000 + 1000000) % 1000000) // 1000000"
            return cast(plan, plan.step(floored, BIGINT, term), target)
        if is_decimal(target):
            exact = f"CAST({micros} AS DECIMAL(38,0)) * CAST('0.000001' AS DECIMAL(6,6))"
            return cast(plan, plan.step(exact, decimal(20, 6), term), target)
        seconds = plan.step(f"{micros} / CAST(1000000 AS DOUBLE)", DOUBLE, term)
        return cast(plan, seconds, target) if is_real(target) else None
    if source == BOOLEAN and is_number(target):
        one = f"CASE WHEN {term.sql} THEN 1 WHEN NOT {term.sql} THEN 0 END"
        return cast(plan, plan.step(one, INT, term), target) if is_decimal(target) else plan.step(one, target, term)
    if is_number(source) and target == BOOLEAN:
        return plan.step(f"{term.sql} <> 0", BOOLEAN, term)
    return _number(plan, term, target) if is_number(source) and is_number(target) else None


def _number(plan: Plan, term: Term, target: pa.DataType) -> Term | None:  # noqa: PLR0911
    """Convert a number to another numeric type."""
    source, name = term.dtype, spark_name(target)
    if target == FLOAT:
        return _to_float(plan, term)
    if target == DOUBLE:
        return _decimal_to_double(plan, term) if is_decimal(source) else plan.step(term.sql, DOUBLE, term)
    if is_real(source):
        return _real_to_integer(plan, term, target) if is_integer(target) else _real_to_decimal(plan, term, target)
    if is_decimal(source) and is_integer(target):
        whole = plan.step(f"trunc({term.sql})", decimal(max(source.precision - source.scale, 1), 0), term)
        return plan.fallible(whole.sql, target, f"{name} overflow", whole)
    if is_integer(source) and is_integer(target) and INTEGERS.index(source) <= INTEGERS.index(target):
        return constant(term.value, target, f"'{term.value}'") if _is_known(term) else plan.step(term.sql, target, term)
    if is_decimal(target) and _holds_all(target, literal_decimal(term)):
        if _is_known(term):
            return constant(term.value, target, f"'{term.value}'")
        return plan.step(term.sql, target, term)
    return plan.fallible(term.sql, target, f"{name} overflow", term)


def _is_known(term: Term) -> bool:
    return term.is_literal and term.value is not None


def _holds_all(target: pa.DataType, source: pa.DataType) -> bool:
    whole = (target.precision - target.scale) - (source.precision - source.scale)
    return bool(target.scale >= source.scale and whole >= 0)


def _to_float(plan: Plan, term: Term) -> Term:
    """Return the nearest float, rounded once; infinite from halfway between the largest float and 2^128 on."""
    if is_integer(term.dtype):
        return plan.step(term.sql, FLOAT, term)
    if is_decimal(term.dtype):
        return plan.step(f"CAST(CAST({term.sql} AS VARCHAR) AS FLOAT)", FLOAT, term)
    value, size = plan.step(term.sql, DOUBLE, term), f"abs({term.sql})"
    sign = f"CASE WHEN {value.sql} < 0 THEN -1 ELSE 1 END"
    sql = f"CASE WHEN NOT isfinite({value.sql}) OR {size} <= {_LARGEST_FLOAT!r} THEN CAST({value.sql} AS FLOAT)"
    sql += f" WHEN {size} < {_BEYOND_FLOATS!r} THEN {sign} * CAST({_LARGEST_FLOAT!r} AS FLOAT)"
    sql += f" WHEN {value.sql} IS NOT NULL THEN {sign} * CAST('Infinity' AS FLOAT) END"
    return plan.step(sql, FLOAT, value)


def _decimal_to_double(plan: Plan, term: Term) -> Term:
    """Convert a decimal to a double; through text if dividing two doubles could round twice."""
    if term.dtype.precision <= _EXACT_DIGITS:  # both doubles are exact
        return plan.step(term.sql, DOUBLE, term)
    return plan.step(f"CAST(CAST({term.sql} AS VARCHAR) AS DOUBLE)", DOUBLE, term)


def _real_to_integer(plan: Plan, term: Term, target: pa.DataType) -> Term:
    """Truncate toward zero; the double 2^63 is Java's largest long, as in Spark."""
    value = plan.step(f"trunc(CAST({term.sql} AS DOUBLE))", DOUBLE, term)
    least, beyond = -(2.0 ** (_BITS[target] - 1)), 2.0 ** (_BITS[target] - 1)
    above = f"{value.sql} > {beyond!r}" if target == BIGINT else f"{value.sql} >= {beyond!r}"
    sql = f"CAST({value.sql} AS {duckdb_name(target)})"
    if target == BIGINT:
        sql = f"CASE WHEN {value.sql} = {beyond!r} THEN 9223372036854775807 ELSE {sql} END"
    return plan.checked(
        sql,
        target,
        f"isnan({value.sql}) OR {value.sql} < {least!r} OR {above}",
        f"{spark_name(target)} overflow",
        value,
    )


def _real_to_decimal(plan: Plan, term: Term, target: pa.DataType) -> Term:
    """Round the shortest digits of a double half up."""
    value = plan.step(term.sql, DOUBLE, term)
    finite = plain(
        plan, plan.step(f"CASE WHEN isfinite({value.sql}) THEN CAST({value.sql} AS VARCHAR) END", TEXT, value)
    )
    return plan.fallible(finite.sql, target, f"{spark_name(target)} overflow", finite)


def _to_text(plan: Plan, term: Term) -> Term | None:
    source = term.dtype
    if is_decimal(source) and source.precision == source.scale:  # DuckDB writes .5 where Spark writes 0.5
        if source.precision == MOST_DIGITS:
            return None
        term = plan.step(term.sql, decimal(source.precision + 1, source.scale), term)
    simple = is_integer(source) or is_decimal(source) or source in (BOOLEAN, DATE, TIMESTAMP)
    return plan.step(term.sql, TEXT, term) if simple else None
