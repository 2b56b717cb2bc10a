"""Plain Python's answers to named aggregates, as Spark SQL has them: lists, exact fractions and no arrays."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from tailrace.functions.registry import FUNCTIONS


class Values(NamedTuple):
    """The values of a tuple, and what orders it among others."""

    order: tuple[int, int, str]
    money: Decimal | None
    large: Decimal | None
    count: int | None
    speed: float | None
    user: str | None
    day: date | None
    is_paid: bool | None


TYPES: dict[str, pa.DataType] = {
    "money": pa.decimal128(18, 2),
    "large": pa.decimal128(38, 4),
    "count": pa.int64(),
    "speed": pa.float64(),
    "user": pa.string(),
    "day": pa.date32(),
    "is_paid": pa.bool_(),
}


CONDITIONS: dict[str, Callable[[Values], bool]] = {
    "is_paid": lambda each: each.is_paid is True,
    "count > 0 and not is_paid": lambda each: each.count is not None and each.count > 0 and each.is_paid is False,
    "user <> 'a' or day is null": lambda each: each.day is None or (each.user is not None and each.user != "a"),
}
"""Expressions of Spark SQL, and when they hold: null is no."""


LISTS = tuple(name for name, each in FUNCTIONS.items() if "limit" in each.parameters)
JOINT = tuple(name for name, each in FUNCTIONS.items() if "other" in each.columns)

SPARK = {
    "sum": "try_sum({0})",
    "count": "count({0})",
    "avg": "cast(try_sum({0}) as double) / nullif(count({0}), 0)",  # Spark rounds the mean of decimals to a decimal
    "min": "min({0})",
    "max": "max({0})",
    "median": "percentile({0}, 0.5)",
    "quantile": "percentile({0}, 0.9)",
    "stddev": "stddev_samp({0})",
    "stddev_pop": "stddev_pop({0})",
    "var": "var_samp({0})",
    "var_pop": "var_pop({0})",
    "quantile_disc": "array_sort(collect_list({0}))[cast(ceil(count({0}) * 0.9BD) as int) - 1]",
    "collect_list": "transform(array_sort(collect_list(if({0} is null, null, struct(place, {0})))), each -> each.{0})",
    "collect_set": "array_sort(collect_set({0}))",
    "count_distinct": "count(distinct {0})",
    "first": "min_by({0}, place) filter (where {0} is not null)",
    "last": "max_by({0}, place) filter (where {0} is not null)",
    "any_value": "min_by({0}, place) filter (where {0} is not null)",
    "min_by": "min_by(place, struct({0}, place)) filter (where {0} is not null)",
    "max_by": "max_by({0}, place)",
    "sum_distinct": "try_sum(distinct {0})",
    "avg_distinct": "cast(try_sum(distinct {0}) as double) / nullif(count(distinct {0}), 0)",
    "corr": "corr({0}, place)",
    "covar_samp": "covar_samp({0}, place)",
    "covar_pop": "covar_pop({0}, place)",
    "bool_and": "bool_and({0})",
    "bool_or": "bool_or({0})",
}
"""Spark SQL's expressions of the same values, by `place`, which orders the tuples; a quantile's share is 0.9."""


def answer(
    function: str,
    column: str | None,
    q: float | None,
    where: str | None,
    second: str | None,
    tuples: Sequence[Values],
) -> Any:
    """The answer of one aggregate over the tuples of a window."""
    tuples = [each for each in tuples if where is None or CONDITIONS[where](each)]
    decides = (column, second) if function in JOINT else (second or column,)
    there = [each for each in tuples if all(name is None or getattr(each, name) is not None for name in decides)]
    there.sort(key=lambda each: (each.order, some_first(column and getattr(each, column))))
    assert column is not None or function == "count"
    values = [column and getattr(each, column) for each in there]
    if function in ("sum_distinct", "avg_distinct", "count_distinct"):  # of few values the sketch's count, too
        function, values = function.removesuffix("_distinct"), [*{*values}]
    if function in ("count", *LISTS):
        return len(values) if function == "count" else listed(values if function == "collect_list" else {*values}, q)
    if not values:
        return None
    if function in ("first", "last", "any_value", "min_by", "max_by"):
        there.sort(key=lambda each: getattr(each, second) if second else 0)  # equal ones keep their order
        return getattr(there[-1 if function in ("last", "max_by") else 0], column)
    if function in JOINT:
        return of_pairs(function, [(getattr(each, column), getattr(each, second)) for each in there])
    of_values: dict[str, Callable[[list[Any]], Any]] = {"min": min, "max": max, "bool_and": all, "bool_or": any}
    of_values |= {"sum": partial(total, column), "quantile_disc": partial(quantile_disc, q)}
    if function in of_values:
        return of_values[function](values)
    return of_numbers(function, q, sorted(map(Fraction, values)))


def some_first(value: Any) -> tuple[Any, ...]:
    """What orders the values of tuples that are equal, as those of one id: null before any value."""
    return (False,) if value is None else (True, value)


def listed(values: list[Any] | set[Any], limit: float | None) -> list[Any] | None:
    values = sorted(values) if isinstance(values, set) else values
    return values if limit is not None and len(values) <= limit else None


def of_pairs(function: str, pairs: list[tuple[Any, Any]]) -> float | None:
    """A statistic of pairs of doubles, computed in fractions."""
    freedom = 1 if function == "covar_samp" else 0
    if len(pairs) <= freedom:
        return None
    ones, others = ([Fraction(float(pair[place])) for pair in pairs] for place in (0, 1))
    of_both = moment(ones, others)
    if function != "corr":
        return float(of_both / (len(pairs) - freedom))
    root = math.sqrt(moment(ones, ones)) * math.sqrt(moment(others, others))
    return float(of_both) / root if root else None


def moment(ones: list[Fraction], others: list[Fraction]) -> Fraction:
    """The sum of the products of the deviations from both means."""
    mean, other_mean = sum(ones) / len(ones), sum(others) / len(others)
    return sum(((one - mean) * (other - other_mean) for one, other in zip(ones, others, strict=True)), Fraction(0))


def of_numbers(function: str, q: float | None, values: list[Fraction]) -> float | None:
    """The answer in doubles over exact numbers, ascending."""
    if function == "avg":
        return float(sum(values) / len(values))
    if function in ("median", "quantile"):
        return quantile(values, Fraction(0.5 if q is None else q))
    if len(values) == 1 and not function.endswith("_pop"):
        return None
    spread = (statistics.pvariance if function.endswith("_pop") else statistics.variance)(values)
    return math.sqrt(spread) if function.startswith("stddev") else float(spread)


def total(column: str, values: list[Any]) -> Any:
    if column == "speed":
        return math.fsum(values)
    whole = sum(Fraction(value) for value in values)
    if column == "count":
        return int(whole) if -(2**63) <= whole < 2**63 else None
    digits, scale = {"money": (28, 2), "large": (38, 4)}[column]
    unscaled = int(whole * 10**scale)
    sign, text = (1, str(-unscaled)) if unscaled < 0 else (0, str(unscaled))
    return Decimal((sign, tuple(map(int, text)), -scale)) if abs(unscaled) < 10**digits else None


def quantile_disc(q: float, values: list[Any]) -> Any:
    return sorted(values)[math.ceil(Fraction(str(q)) * len(values)) - 1]


def quantile(values: list[Fraction], q: Fraction) -> float:
    place = (len(values) - 1) * q
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return float(values[below] + (values[above] - values[below]) * (place - below))
