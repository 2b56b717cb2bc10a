"""The registry of aggregate functions; a new one is a `Function` here: query files, promises and corrections follow."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated

import numpy as np
from pydantic import Field

from tailrace.aggregate.coverage import counted, extreme, ranked
from tailrace.aggregate.folds import Floats, Ints
from tailrace.aggregate.function import Accumulated, Function
from tailrace.aggregate.promise_mean import mean, total

_Q = "the share of the numbers that lie below, for function quantile: 0.9"


def quantiles(tuples: Ints, values: Floats, q: float) -> Floats:
    """Return the q-quantile of each window, by linear interpolation between the values next to place q · (tuples − 1).

    That is definition 7 of Hyndman & Fan, Sample Quantiles in Statistical Packages, The American Statistician 50, 1996,
    and the default of numpy and R.

    Parameters
    ----------
    tuples : ndarray, shape (m,)
        The number of values of each window, at least 1.
    values : ndarray, shape (Σ tuples,)
        Finite; those of one window after another, ascending in each.
    q : float
        In [0, 1].

    Returns
    -------
    ndarray, shape (m,)
        Each lies between the two values next to its place, even where their difference overflows a double.
    """
    place = (tuples - 1) * q
    below, start = np.floor(place), np.cumsum(tuples) - tuples
    low, high = (values[start + neighbour.astype(np.int64)] for neighbour in (below, np.ceil(place)))
    share = place - below
    # Not low + (high − low) · share: the difference may overflow. Clipped, as rounding may leave the range [low, high].
    quantile: Floats = np.clip(low * (1 - share) + high * share, low, high)
    return quantile


_KEPT = {"total": Accumulated("keep")}
_SHARE = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False, description=_Q)]

_FUNCTIONS = (
    Function("sum", lambda tuples, total: total, threshold=total, sum_of=lambda value, tuples: value),
    Function(
        "count",
        lambda tuples, total: tuples.astype(float),
        needs_column=False,
        threshold=counted,
        sum_of=lambda value, tuples: value,
    ),
    Function("avg", lambda tuples, total: total / tuples, threshold=mean, sum_of=lambda value, tuples: value * tuples),
    Function("min", lambda tuples, total: total, {"total": Accumulated("min")}, threshold=extreme),
    Function("max", lambda tuples, total: total, {"total": Accumulated("max")}, threshold=extreme),
    Function("median", partial(quantiles, q=0.5), _KEPT, threshold=partial(ranked, q=0.5)),
    Function("quantile", quantiles, _KEPT, {"q": _SHARE}, threshold=ranked),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in _FUNCTIONS}


def function_of(name: str, parameters: Mapping[str, float]) -> Function:
    """Look up a function in the registry, and bind the declared parameters to it."""
    return FUNCTIONS[name].with_parameters(parameters)
