"""Spark SQL's operators: arithmetic with its result types, comparisons, and short-circuit logic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from tailrace.expressions import decimals
from tailrace.expressions.casts import cast, to_double, widened
from tailrace.expressions.decimals import ZERO
from tailrace.expressions.literals import TypeFault, null
from tailrace.expressions.plan import Fault, Plan, Term, faults_of, until_null
from tailrace.expressions.registry import FUNCTIONS, function, number_of, take
from tailrace.expressions.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    NULL,
    TEXT,
    TIMESTAMP,
    is_decimal,
    is_integer,
    is_number,
    is_real,
    spark_name,
)

_NULL_SAFE = {"<=>": "IS NOT DISTINCT FROM", "is distinct from": "IS DISTINCT FROM"}


def arithmetic(plan: Plan, sign: str, terms: Sequence[Term], is_try: bool = False) -> Term:
    """Return the sum, difference, product, quotient or remainder of two numbers.

    With `is_try`, a failing operation gives null, and no fault.
    """
    if sign in "+-" and not is_try and (shifted := _shifted_date(plan, sign, terms)) is not None:
        return shifted
    one, other = _evaluated(sign, _numbers(plan, sign, terms))
    value = (
        decimals.arithmetic(plan, sign, one, other) if _are_decimals(one, other) else _binary(plan, sign, one, other)
    )
    return replace(value, faults=faults_of((one, other))) if is_try else value


def _shifted_date(plan: Plan, sign: str, terms: Sequence[Term]) -> Term | None:
    """Return a date some days later or earlier, or null for a time plus null; None for other operands."""
    one, other = terms if terms[0].dtype in (DATE, TIMESTAMP) or sign == "-" else terms[::-1]
    if one.dtype in (DATE, TIMESTAMP) and other.dtype == NULL and sign == "+":
        return null(TIMESTAMP)  # Spark treats the null as an interval
    if one.dtype != DATE or not is_integer(other.dtype):
        return None
    return FUNCTIONS["date_add" if sign == "+" else "date_sub"].call(plan, [one, other])


def _evaluated(sign: str, terms: Sequence[Term]) -> list[Term]:
    """Return the operands in the order of evaluation; Spark evaluates the divisor of a quotient or remainder first."""
    return until_null(terms[::-1])[::-1] if sign in "/%" else until_null(terms)


def _numbers(plan: Plan, sign: str, terms: Sequence[Term]) -> list[Term]:
    """Return the operands; an untyped null gets the type of the other one."""
    types = [term.dtype for term in terms if term.dtype != NULL]
    terms = [cast(plan, term, types[0]) if types and term.dtype == NULL else term for term in terms]
    for term in terms:
        if term.dtype in (DATE, TIMESTAMP):
            raise TypeFault(
                f"{spark_name(term.dtype)} has no {sign} here", "a date and an int of days, datediff, or unix_millis"
            )
    return [number_of(plan, term) for term in terms]


def _are_decimals(one: Term, other: Term) -> bool:
    has_decimal = is_decimal(one.dtype) or is_decimal(other.dtype)
    return has_decimal and not is_real(one.dtype) and not is_real(other.dtype)


def _binary(plan: Plan, sign: str, one: Term, other: Term) -> Term:
    """Compute with integers or doubles; a quotient is always a double."""
    one, other = [to_double(plan, term) for term in (one, other)] if sign == "/" else widened(plan, (one, other))
    dtype = one.dtype
    sql = f"{one.sql} {sign} {other.sql}"
    if sign == "%" and is_integer(dtype):  # the least integer divided by -1 overflows
        sql = f"CASE WHEN {other.sql} = -1 THEN {one.sql} - {one.sql} ELSE {sql} END"
    if sign in "/%":
        if other.is_literal and other.value:
            return plan.step(sql, dtype, one, other)
        return plan.checked(sql, dtype, f"{other.sql} = 0 AND {one.sql} IS NOT NULL", ZERO, one, other)
    if is_integer(dtype):
        return plan.fallible(sql, dtype, f"{spark_name(dtype)} overflow", one, other)
    return plan.step(sql, dtype, one, other)


def negative(plan: Plan, term: Term) -> Term:
    term = number_of(plan, term)
    if is_integer(term.dtype):
        return plan.fallible(f"-{term.sql}", term.dtype, f"{spark_name(term.dtype)} overflow", term)
    return plan.step(f"-{term.sql}", term.dtype, term)


def integer_quotient(plan: Plan, terms: Sequence[Term]) -> Term:
    """Return the quotient of two integers without its fraction, as a bigint."""
    one, other = _evaluated("/", [take(plan, term, BIGINT) for term in terms])
    value = plan.checked(
        f"TRY({one.sql} // {other.sql})", BIGINT, f"{other.sql} = 0 AND {one.sql} IS NOT NULL", ZERO, one, other
    )
    overflow = f"({one.sql} = -9223372036854775808 AND {other.sql} = -1)"
    return replace(value, faults=(*value.faults, Fault(overflow, "bigint overflow")))


def comparison(plan: Plan, sign: str, terms: Sequence[Term]) -> Term:
    """Compare two terms; NaN equals NaN and exceeds all other doubles.

    `<=>` and `is distinct from` give a boolean for nulls, too.
    """
    one, other = widened(plan, terms, shrinks=True)
    _require_order(one.dtype, only_equal=sign in ("=", "<>", *_NULL_SAFE))
    operator = _NULL_SAFE.get(sign, sign)
    if sign not in _NULL_SAFE:
        one, other = until_null([one, other])
    return plan.step(f"{one.sql} {operator} {other.sql}", BOOLEAN, one, other)


def _require_order(dtype: pa.DataType, only_equal: bool) -> None:
    if not (is_number(dtype) or dtype in (TEXT, DATE, TIMESTAMP, BOOLEAN, NULL)):
        what = "equality" if only_equal else "order"
        raise TypeFault(f"{spark_name(dtype)} has no {what} here", "its fields or elements, compared one by one")


def is_null(plan: Plan, term: Term, is_not: bool = False) -> Term:
    return plan.step(f"{term.sql} IS {'NOT ' if is_not else ''}NULL", BOOLEAN, term)


def is_value(plan: Plan, term: Term, value: bool, is_not: bool) -> Term:
    """Return whether a boolean equals the given one (true, false or null); never null."""
    term = take(plan, term, BOOLEAN)
    return plan.step(f"{term.sql} IS {'NOT ' if is_not else ''}{str(value).upper()}", BOOLEAN, term)


def negation(plan: Plan, term: Term) -> Term:
    term = take(plan, term, BOOLEAN)
    return plan.step(f"NOT {term.sql}", BOOLEAN, term)


def junction(plan: Plan, operator: str, terms: Sequence[Term]) -> Term:
    """Return the conjunction or disjunction of two booleans; the second can't fail if the first decides."""
    one, other = (take(plan, term, BOOLEAN) for term in terms)
    value = plan.step(f"({one.sql} {operator} {other.sql})", BOOLEAN, one, other)
    undecided = f"{one.sql} IS DISTINCT FROM {'FALSE' if operator == 'AND' else 'TRUE'}"
    return replace(value, faults=(*one.faults, *(fault.guarded(undecided) for fault in other.faults)))


def member(plan: Plan, terms: Sequence[Term]) -> Term:
    """Return whether the first term equals one of the others, which are evaluated up to the first that it equals."""
    one, *others = widened(plan, terms, shrinks=True)
    _require_order(one.dtype, only_equal=True)
    value = plan.step(f"{one.sql} IN ({', '.join(term.sql for term in others)})", BOOLEAN, one, *others)
    if not any(other.faults for other in others):
        return value
    equal = " ".join(f"WHEN {one.sql} = {other.sql} THEN {number}" for number, other in enumerate(others))
    last = plan.step(f"CASE WHEN {one.sql} IS NULL THEN -1 {equal} ELSE {len(others)} END", INT, one, *others)
    faults = [*one.faults]
    for number, other in enumerate(others):
        faults += [fault.guarded(f"{last.sql} >= {number}") for fault in other.faults]
    return replace(value, faults=tuple(faults))


def joined_texts(plan: Plan, terms: Sequence[Term]) -> Term:
    taken = until_null([take(plan, term, TEXT) for term in terms])
    return plan.step(" || ".join(term.sql for term in taken), TEXT, *taken)


def attempts(sign: str) -> None:
    name = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide", "%": "try_mod"}[sign]
    meaning = {"+": "sum", "-": "difference", "*": "product", "/": "quotient", "%": "remainder"}[sign]

    @function(f"{name}(number, number)", f"the {meaning}; null where it can't be computed", stops_at_null=False)
    def compile_(plan: Plan, terms: Sequence[Term]) -> Term:
        return arithmetic(plan, sign, terms, is_try=True)


for _sign in "+-*/%":
    attempts(_sign)

function("mod(number, number)", "the remainder, with the dividend's sign", stops_at_null=False)(
    lambda plan, terms: arithmetic(plan, "%", terms)
)
function("negative(number)", "the number with the other sign")(lambda plan, terms: negative(plan, terms[0]))
function("isnull(any)", "whether it is null", stops_at_null=False)(lambda plan, terms: is_null(plan, terms[0]))
function("isnotnull(any)", "whether it is not null", stops_at_null=False)(
    lambda plan, terms: is_null(plan, terms[0], is_not=True)
)
function("equal_null(any, any)", "whether both are equal, or both null", stops_at_null=False)(
    lambda plan, terms: comparison(plan, "<=>", terms)
)
function("concat(text, …)", "the texts, one after the other; null where one is")(joined_texts)
