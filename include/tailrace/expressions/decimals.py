"""Arithmetic with decimals, with Spark's result types: exact, and rounded half up where a type has fewer places.

The units of a decimal are its digits as an integer: 125 for 1.25. They have at most 38 digits, which DuckDB's HUGEINT
holds.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from tailrace.expressions.casts import cast
from tailrace.expressions.literals import TypeFault, literal_decimal
from tailrace.expressions.plan import Plan, Term
from tailrace.expressions.types import MOST_DIGITS, decimal, spark_name

ZERO = "division by zero"

_LEAST_SCALE = 6
_HALF = 19
_LIMB = f"CAST('1{'0' * _HALF}' AS HUGEINT)"
"""10^19. Units consist of two limbs to this base, and products of limbs are less than 10^38."""


def arithmetic(plan: Plan, sign: str, one: Term, other: Term) -> Term:
    """Return the sum, difference, product, quotient or remainder of two numbers, each a decimal or an integer.

    Raises
    ------
    TypeFault
        When a result of Spark's type can't be computed exactly.
    """
    one, other = (cast(plan, term, literal_decimal(term)) for term in (one, other))
    compute: dict[str, Callable[[Plan, Term, Term], Term]] = {"*": _product, "/": _quotient, "%": _remainder}
    return compute[sign](plan, one, other) if sign in compute else _sum(plan, sign, one, other)


def result_type(precision: int, scale: int) -> pa.DataType:
    """Return Spark's type for a result of `precision` digits; beyond 38 digits it drops decimal places, down to six."""
    if precision <= MOST_DIGITS:
        return decimal(precision, scale)
    return decimal(MOST_DIGITS, max(MOST_DIGITS - (precision - scale), min(scale, _LEAST_SCALE)))


def _digits(term: Term) -> tuple[int, int]:
    """Return the number of digits before the point, and after it."""
    return term.dtype.precision - term.dtype.scale, term.dtype.scale


def _sum(plan: Plan, sign: str, one: Term, other: Term) -> Term:
    whole, scale = (max(pair) for pair in zip(_digits(one), _digits(other), strict=True))
    dtype = result_type(whole + scale + 1, scale)
    if whole + scale < MOST_DIGITS:
        one, other = (plan.step(term.sql, dtype, term) for term in (one, other))
        return plan.step(f"{one.sql} {sign} {other.sql}", dtype, one, other)
    if whole + dtype.scale > MOST_DIGITS:
        raise _too_long(sign, dtype)
    more = scale - dtype.scale
    parts = [_split(plan, term, dtype.scale, scale) for term in (one, other)]
    wholes, rests = (
        f"({a} {sign} {b})" for a, b in zip(*([_huge(part) for part in pair] for pair in parts), strict=True)
    )
    used = [part for pair in parts for part in pair]
    if not more:
        return _from_units(plan, _bounded(plan, wholes, dtype, *used), dtype)
    unit = _power(more)
    carried, rest = f"({wholes} + {rests} // {unit})", f"({rests} % {unit})"
    borrowed = f"CASE WHEN {carried} > 0 AND {rest} < 0 THEN -1 WHEN {carried} < 0 AND {rest} > 0 THEN 1 ELSE 0 END"
    left = f"({rest} - ({borrowed}) * {unit})"
    rounded = f"CASE WHEN 2 * {left} >= {unit} THEN 1 WHEN 2 * {left} <= -{unit} THEN -1 ELSE 0 END"
    return _from_units(plan, _bounded(plan, f"{carried} + ({borrowed}) + ({rounded})", dtype, *used), dtype)


def _split(plan: Plan, term: Term, scale: int, full: int) -> tuple[Term, Term]:
    """Return the units of a decimal in a scale, truncated toward zero, and the remainder in units of the full scale."""
    units, own = _units(plan, term), term.dtype.scale
    if own <= scale:
        return _step(plan, f"{_huge(units)} * {_power(scale - own)}", units), _step(plan, f"{_huge(units)} * 0", units)
    whole = _step(plan, f"{_huge(units)} // {_power(own - scale)}", units)
    return whole, _step(plan, f"({_huge(units)} % {_power(own - scale)}) * {_power(full - own)}", units)


def _product(plan: Plan, one: Term, other: Term) -> Term:
    (p1, s1), (p2, s2) = ((term.dtype.precision, term.dtype.scale) for term in (one, other))
    dtype = result_type(p1 + p2 + 1, s1 + s2)
    if p1 + p2 < MOST_DIGITS:
        one, other = (plan.step(term.sql, decimal(MOST_DIGITS, s), term) for term, s in ((one, s1), (other, s2)))
        return plan.step(f"{one.sql} * {other.sql}", dtype, one, other)
    less = s1 + s2 - dtype.scale
    if less > 2 * _HALF:
        raise _too_long("*", dtype)
    units = [_units(plan, term) for term in (one, other)]
    (h1, l1), (h2, l2) = (
        [_step(plan, f"abs({_huge(unit)}) {part} {_LIMB}", unit) for part in ("//", "%")] for unit in units
    )
    low = _step(plan, f"{_huge(l1)} * {_huge(l2)}", l1, l2)
    # Each product of limbs is less than 10^38, and its limbs are added one by one.
    cross = [_step(plan, f"{_huge(a)} * {_huge(b)}", a, b) for a, b in ((h1, l2), (l1, h2))]
    high = _step(plan, f"{_huge(h1)} * {_huge(h2)}", h1, h2)
    second = _step(
        plan, f"{' + '.join(f'{_huge(each)} % {_LIMB}' for each in cross)} + {_huge(low)} // {_LIMB}", *cross, low
    )
    above = [*(f"{_huge(each)} // {_LIMB}" for each in cross), f"{_huge(second)} // {_LIMB}"]
    if less <= _HALF:
        # After the division, units are at most 10^38. So everything above two limbs is zero, or the result is too
        # large.
        top = f"({_huge(high)} + {' + '.join(above)}) * {_LIMB} + {_huge(second)} % {_LIMB}"
        rest, places = f"({_huge(low)} % {_LIMB})", less
    else:
        top = f"{_huge(high)} + {' + '.join(above)}"
        rest, places = f"({_huge(second)} % {_LIMB})", less - _HALF
    size = f"({top}) * {_power(_HALF - places)} + {rest} // {_power(places)}"
    if places:
        size += f" + CASE WHEN 2 * ({rest} % {_power(places)}) >= {_power(places)} THEN 1 ELSE 0 END"
    negative = f"({_huge(units[0])} < 0) <> ({_huge(units[1])} < 0)"
    parts = (high, *cross, second, low, *units)
    return _from_units(
        plan, _bounded(plan, f"CASE WHEN {negative} THEN -1 ELSE 1 END * ({size})", dtype, *parts), dtype
    )


def _remainder(plan: Plan, one: Term, other: Term) -> Term:
    scale = max(one.dtype.scale, other.dtype.scale)
    wholes = [_digits(term)[0] for term in (one, other)]
    dtype = decimal(min(wholes) + scale, scale)
    if max(wholes) + scale > MOST_DIGITS:
        raise _too_long("%", dtype)
    common = decimal(max(wholes) + scale, scale)
    one, other = (plan.step(term.sql, common, term) for term in (one, other))
    units = [_units(plan, term) for term in (one, other)]
    sql = f"{units[0].sql} % {units[1].sql}"
    by_zero = f"{other.sql} = 0 AND {one.sql} IS NOT NULL"
    return _from_units(plan, plan.checked(sql, decimal(38, 0), by_zero, ZERO, *units), dtype)


def _quotient(plan: Plan, one: Term, other: Term) -> Term:
    """Divide units; in two steps if a single dividend would be too long."""
    (p1, s1), (p2, s2) = ((term.dtype.precision, term.dtype.scale) for term in (one, other))
    scale = max(_LEAST_SCALE, s1 + p2 + 1)
    dtype = result_type(p1 - s1 + s2 + scale, scale)
    more = dtype.scale - s1 + s2
    if more < 0 or (p1 + more > MOST_DIGITS and p2 + more > MOST_DIGITS):
        raise _too_long("/", dtype)
    over, under = _units(plan, one), _units(plan, other)
    n, d, places = f"abs({_huge(over)})", f"abs({_huge(under)})", _power(more)
    whole, rest = (f"{n} * {places} // {d}", f"({n} * {places} % {d})")
    if p1 + more > MOST_DIGITS:
        whole, rest = f"({n} // {d}) * {places} + ({n} % {d}) * {places} // {d}", f"(({n} % {d}) * {places} % {d})"
    sign = f"CASE WHEN ({over.sql} < 0) <> ({under.sql} < 0) THEN -1 ELSE 1 END"
    sql = f"{sign} * ({whole} + CASE WHEN {rest} >= {d} - {rest} THEN 1 ELSE 0 END)"
    divisor = plan.checked(under.sql, decimal(38, 0), f"{under.sql} = 0 AND {over.sql} IS NOT NULL", ZERO, over, under)
    if p1 + more > MOST_DIGITS:
        return _from_units(plan, _bounded(plan, sql, dtype, over, divisor), dtype)
    return _from_units(
        plan, plan.step(f"CASE WHEN {divisor.sql} <> 0 THEN {sql} END", decimal(38, 0), over, divisor), dtype
    )


def _bounded(plan: Plan, sql: str, dtype: pa.DataType, *terms: Term) -> Term:
    """Add a step of units, which is null for records in which they exceed 38 digits."""
    return plan.fallible(sql, decimal(38, 0), f"{spark_name(dtype)} overflow", *terms)


def _too_long(sign: str, dtype: pa.DataType) -> TypeFault:
    fault = f"the result of {sign} is a {spark_name(dtype)} in Spark SQL, of digits that can't be computed exactly here"
    return TypeFault(
        fault, "casts of both sides to decimals of fewer digits, as cast(… as decimal(28,6)); or to double"
    )


def _step(plan: Plan, sql: str, *terms: Term) -> Term:
    return plan.step(sql, decimal(38, 0), *terms)


def _huge(term: Term) -> str:
    return f"CAST({term.sql} AS HUGEINT)"


def _power(exponent: int) -> str:
    return f"CAST('1{'0' * exponent}' AS HUGEINT)"


def _units(plan: Plan, term: Term) -> Term:
    """Return a decimal's digits as an integer: a decimal(38, 0)."""
    whole = f"CAST(CAST({term.sql} AS VARCHAR) AS DECIMAL(38,0))"
    if not term.dtype.scale:
        return plan.step(term.sql, decimal(38, 0), term)
    digits = f"replace(CAST({term.sql} AS VARCHAR), '.', '')"
    return plan.step(whole.replace(f"CAST({term.sql} AS VARCHAR)", digits), decimal(38, 0), term)


def _from_units(plan: Plan, units: Term, dtype: pa.DataType) -> Term:
    """Return the decimal with an integer's digits."""
    if not dtype.scale:
        return plan.step(units.sql, dtype, units)
    unit = f"CAST('0.{'1'.zfill(dtype.scale)}' AS DECIMAL({dtype.scale},{dtype.scale}))"
    return plan.step(f"{units.sql} * {unit}", dtype, units)
