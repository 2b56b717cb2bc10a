"""Sums, counts and averages: exact for integers and decimals."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.functions.accumulators import Count, ExactTotal, Total
from tailrace.functions.coverage import counted
from tailrace.functions.function import BoundFunction, Function, Values, to_doubles, to_integers
from tailrace.functions.promise_mean import mean, total
from tailrace.ground.arrow.number_types import EXACT
from tailrace.ground.arrow.value_column import decimals, is_exact
from tailrace.windows.panes import Arrays

MOST_DIGITS, _MORE_DIGITS = 38, 10
"""The digits of the longest decimal, and the additional digits of a sum."""

_WORD = (1 << 64) - 1


def bind_count(values: Values, parameters: Mapping[str, Any]) -> BoundFunction:
    """Bind `count`, the number of values that are not null."""
    count = Count(values.column)
    return BoundFunction(pa.int64(), (count,), partial(to_integers, count.name))


def bind_sum(values: Values, parameters: Mapping[str, Any]) -> BoundFunction:
    """Bind `sum`: exact for integers and decimals; with `wide`, in a type that holds every sum of integers."""
    count, dtype = Count(values.column), values.dtype
    if not is_exact(dtype):
        inexact = Total(values.column)
        return BoundFunction(pa.float64(), (count, inexact), partial(to_doubles, count.name, inexact.name), count=count)
    exact = ExactTotal(values.column, dtype)
    result = pa.decimal128(MOST_DIGITS, 0) if parameters.get("wide") else pa.int64()
    if pa.types.is_decimal(dtype):
        result = pa.decimal128(min(MOST_DIGITS, dtype.precision + _MORE_DIGITS), dtype.scale)
    return BoundFunction(result, (count, exact), partial(_exact, count.name, exact, result), count=count)


def bind_avg(values: Values, parameters: Mapping[str, Any]) -> BoundFunction:
    """Bind `avg`, the exact sum divided by the number of values; for decimals the nearest double."""
    count = Count(values.column)
    total = ExactTotal(values.column, values.dtype) if is_exact(values.dtype) else Total(values.column)
    scale = values.dtype.scale if pa.types.is_decimal(values.dtype) else 0
    may_overflow = count if isinstance(total, Total) else None
    return BoundFunction(pa.float64(), (count, total), partial(_mean, count.name, total, scale), count=may_overflow)


def _exact(count: str, total: ExactTotal, result: pa.DataType, columns: Arrays) -> pa.Array:
    """Return sums in their result type, with null for overflows."""
    low, high = total.words(columns)
    is_null = columns[count] == 0
    if pa.types.is_decimal(result):
        is_null = is_null | total.overflows(columns) | ~_has_digits(low, high, result.precision)
        return decimals(low, high, is_null, result)
    return pa.array(low, mask=is_null | (high != low >> 63) | total.overflows(columns))


def _has_digits(low: np.ndarray, high: np.ndarray, digits: int) -> np.ndarray:
    """Test whether integers of 128 bits have at most `digits` decimal digits."""
    bound = 10**digits
    top, rest = bound >> 64, np.uint64(bound & (2**64 - 1))
    negative = high < 0
    low_bits = low.view(np.uint64)
    magnitude_low = np.where(negative, ~low_bits + np.uint64(1), low_bits)
    magnitude_high = np.where(negative, ~high + (low_bits == 0), high)
    within: np.ndarray = (magnitude_high < top) | ((magnitude_high == top) & (magnitude_low < rest))
    return within & (magnitude_high >= 0)


def _mean(count: str, total: ExactTotal | Total, scale: int, columns: Arrays) -> pa.Array:
    number = columns[count]
    divisor = np.maximum(number, 1)
    totals = columns[total.name] if isinstance(total, Total) else total.doubles(columns)
    means = totals / (divisor * 10.0**scale)
    if isinstance(total, ExactTotal) and pa.types.is_decimal(total.dtype):
        low, high = total.words(columns)
        is_rounded = (np.abs(totals) > EXACT) | (divisor * 5.0**scale > EXACT)  # a double has no more digits
        for index in np.flatnonzero(is_rounded & ~total.overflows(columns)).tolist():
            exact = (int(high[index]) << 64) + (int(low[index]) & _WORD)
            means[index] = exact / (int(divisor[index]) * 10**scale)  # Python rounds a quotient of integers once
    return pa.array(means, mask=number == 0)


_SUM = "bigint of integers, decimal(p + 10, s) of decimal(p, s), else double"
_COUNT = "bigint: how many values; without a column, tuples"
_amended = partial(Function, amended_as="sum", threshold_of_part=total)

SUMS = (
    _amended(
        "sum",
        bind_sum,
        _SUM,
        options={"estimate": "estimate_sum(column)"},
        of_distinct="sum_distinct",
        threshold=total,
    ),
    _amended(
        "count",
        bind_count,
        _COUNT,
        "any",
        ("count(column)", "count_if(where)"),
        options={"estimate": "estimate_count(column)"},
        of_distinct="count_distinct",
        needs_column=False,
        threshold=counted,
    ),
    Function("avg", bind_avg, "double", sql=("avg(column)", "mean(column)"), threshold=mean),
)
