"""The value of an aggregate function over some tuples, written for comparison with its definition, not for speed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

_LONG = range(-(1 << 63), 1 << 63)


def value_of(function: str, values: Sequence[Any], q: float | None = None) -> Any:
    """Compute a function over values, without nulls, in order of event time; without values, None or a count of 0.

    For `min_by` and `max_by`, a value is a pair: the deciding value, and the answered one. For `corr` and covariances
    it is a pair, too. For lists, q is the limit.
    """
    if function in ("corr", "covar_samp", "covar_pop"):
        return _of_pairs(function, [(float(one), float(other)) for one, other in values if other is not None])
    if function.endswith("_distinct"):
        function, values = function.removesuffix("_distinct"), sorted(set(values))
    if function == "count":
        return len(values)
    if function in ("collect_list", "collect_set"):
        return _list(values if function == "collect_list" else sorted(set(values)), q)
    if not values:
        return None
    of_one = {"first": lambda: values[0], "last": lambda: values[-1], "min": lambda: min(values)}
    of_one |= {"max": lambda: max(values), "sum": lambda: _sum(values), "any_value": lambda: values[0]}
    of_one |= {"quantile_disc": lambda: sorted(values)[math.ceil(Fraction(str(q)) * len(values)) - 1]}
    of_one |= {"bool_and": lambda: all(values), "bool_or": lambda: any(values)}
    of_one |= {"min_by": lambda: min(values, key=_decides)[1]}  # the first of equal values
    of_one |= {"max_by": lambda: max(reversed(values), key=_decides)[1]}  # the last of equal values
    return of_one[function]() if function in of_one else _statistic(function, [float(each) for each in values], q)


def _list(values: Sequence[Any], limit: float | None) -> list[Any] | None:
    return [*values] if limit is not None and len(values) <= limit else None


def _of_pairs(function: str, pairs: Sequence[tuple[float, float]]) -> float | None:
    number = len(pairs)
    if number < (1 if function == "covar_pop" else 2):
        return None
    ones, others = zip(*pairs, strict=True)
    if function == "corr":
        return statistics.correlation(ones, others) if len({*ones}) > 1 and len({*others}) > 1 else None
    if number == 1:
        return 0.0
    return statistics.covariance(ones, others) * (1 if function == "covar_samp" else (number - 1) / number)


def _decides(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _sum(values: Sequence[Any]) -> Any:
    if all(isinstance(each, int) for each in values):
        total = sum(values)
        return total if total in _LONG else None
    if all(isinstance(each, Decimal) for each in values):
        return sum(values, Decimal(0))
    return math.fsum(values)


def _statistic(function: str, values: list[float], q: float | None) -> float | None:
    if function == "avg":
        return math.fsum(values) / len(values)
    if function == "median":
        return statistics.median(values)
    if function == "quantile":
        return _quantile(values, Fraction(q or 0))
    if function not in ("var", "var_pop", "stddev", "stddev_pop"):
        raise ValueError(f"{function} is no function that is computed here")
    if function.endswith("_pop"):
        variance = statistics.pvariance(values)
    elif len(values) > 1:
        variance = statistics.variance(values)
    else:
        return None
    return math.sqrt(variance) if function.startswith("stddev") else variance


def _quantile(values: Sequence[float], q: Fraction) -> float:
    """Return the q-quantile by linear interpolation at position q · (n − 1) of the sorted values."""
    ordered = sorted(Fraction(each) for each in values)
    rank = q * (len(ordered) - 1)
    below = math.floor(rank)
    above = ordered[min(below + 1, len(ordered) - 1)]
    return float(ordered[below] + (rank - below) * (above - ordered[below]))


def scale_of(function: str, values: Sequence[Any]) -> float:
    """Return the magnitude of a value's summands; answers agree within 1e-9 of it."""
    numbers = [abs(float(each)) for each in values if isinstance(each, int | float | Decimal)]
    if function in ("var", "var_pop"):
        return math.fsum(each * each for each in numbers)
    return math.fsum(numbers) if function in ("sum", "avg", "stddev", "stddev_pop") else 0.0
