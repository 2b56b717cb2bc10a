"""Literals, and the common type of terms: as Spark's exact implicit casts in ANSI mode give it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tailrace.expressions.plan import Term
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
    as_decimal,
    decimal,
    duckdb_name,
    is_integer,
    is_number,
    is_real,
    spark_name,
    text_literal,
)

TEXTS_OF_CSV = "ids and keys of CSV files are texts"
"""The reason why a column of digits may be text."""


class TypeFault(Exception):
    """Raised if the types of terms don't go together; has the fault and the remedy."""

    def __init__(self, fault: str, remedy: str) -> None:
        self.fault, self.remedy = fault, remedy
        super().__init__(fault)


def constant(value: Any, dtype: pa.DataType, sql: str) -> Term:
    """Return a term that is the same for all records."""
    return Term(f"CAST({sql} AS {duckdb_name(dtype)})", dtype, is_literal=True, value=value)


def null(dtype: pa.DataType = NULL) -> Term:
    return constant(None, dtype, "NULL")


def text(value: str) -> Term:
    return constant(value, TEXT, text_literal(value))


def boolean(value: bool) -> Term:
    return constant(value, BOOLEAN, str(value).upper())


def integer(value: int, dtype: pa.DataType = INT) -> Term:
    return constant(value, dtype, str(value))


def number(written: str) -> Term:
    """Return a number as Spark reads it: int, bigint or decimal by its size, double with an exponent."""
    if "e" in written.lower():
        value = float(written)
        if value in (float("inf"), float("-inf")):
            raise TypeFault(f"{written} is beyond the doubles", "a number up to 1.8e308")
        return constant(value, DOUBLE, f"'{written}'")
    if written.lstrip("-").isdigit():
        value = int(written)
        for dtype, bits in ((INT, 31), (BIGINT, 63)):
            if -(1 << bits) <= value < 1 << bits:
                return constant(value, dtype, f"'{written}'")
    digits = Decimal(written)
    scale = -min(int(digits.as_tuple().exponent), 0)
    precision = max(len(digits.as_tuple().digits), scale)
    if precision > MOST_DIGITS:
        raise TypeFault(f"{written} has more than {MOST_DIGITS} digits", "fewer digits")
    return constant(digits, decimal(precision, scale), f"'{written}'")


def common_type(terms: Sequence[Term]) -> pa.DataType:
    """Return the type to which Spark widens several terms: the arguments of a call, or the sides of a comparison."""
    dtype = NULL
    for term in terms:
        dtype = _wider(dtype, term.dtype)
    return dtype


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:  # noqa: PLR0911  a family, a return
    if other in (one, NULL):
        return one
    if one == NULL:
        return other
    if is_integer(one) and is_integer(other):
        return max(one, other, key=INTEGERS.index)
    if is_number(one) and is_number(other):
        if is_real(one) or is_real(other):
            return FLOAT if one == other == FLOAT else DOUBLE
        return _wider_decimal(as_decimal(one), as_decimal(other))
    if {one, other} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    for dtype, beside in ((one, other), (other, one)):
        if dtype == TEXT and beside in (DATE, TIMESTAMP):
            return beside
    fault = f"{spark_name(one)} and {spark_name(other)} don't go together"
    why = f": {TEXTS_OF_CSV}" if TEXT in (one, other) and (is_number(one) or is_number(other)) else ""
    raise TypeFault(fault, f"a cast of one of them, as cast(… as {spark_name(other if one == TEXT else one)}){why}")


def _wider_decimal(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    scale = max(one.scale, other.scale)
    precision = max(one.precision - one.scale, other.precision - other.scale) + scale
    return exact_decimal(precision, scale)


def exact_decimal(precision: int, scale: int) -> pa.DataType:
    """Return the decimal type of a result; refuse more than 38 digits, which Spark would round."""
    if precision > MOST_DIGITS:
        fault = f"its result has {precision} digits, and a decimal {MOST_DIGITS}: Spark would round it"
        raise TypeFault(fault, "casts to decimals of fewer digits, or to double")
    return decimal(precision, scale)


def literal_decimal(term: Term) -> pa.DataType:
    """Return the decimal type of a number beside a decimal; an integer literal gets only the digits that it has."""
    if term.is_literal and is_integer(term.dtype) and term.value is not None:
        return decimal(max(len(str(abs(term.value))), 1), 0)
    return as_decimal(term.dtype)
