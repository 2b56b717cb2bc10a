"""The registry of aggregate functions; a new one is a `Function` here: query files, promises and corrections follow."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated

from pydantic import Field

from tailrace.aggregate.coverage import counted, extreme, ranked
from tailrace.aggregate.function import Accumulated, Function
from tailrace.aggregate.promise_mean import mean, total
from tailrace.aggregate.quantiles import quantiles

_Q = "the share of the numbers that lie below, for function quantile: 0.9"


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
