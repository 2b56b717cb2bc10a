"""The section `aggregate` of a query file: a function, and the column that it is computed from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tailrace.ground.fields import Column, Section

_FUNCTION = "what is computed of each window: sum"
_COLUMN = "column of the numbers: speed"
_Q = "the share of the numbers that lie below, for function quantile: 0.9"


class Numbers(Section):
    """A function of the numbers of each key and window."""

    function: Literal["sum", "avg", "min", "max", "median"] = Field(description=_FUNCTION)
    column: Column = Field(description=_COLUMN)
    q: None = Field(default=None, description=_Q)


class Count(Section):
    """The number of tuples of each key and window."""

    function: Literal["count"] = Field(description=_FUNCTION)
    column: Column | None = Field(default=None, description=_COLUMN)
    q: None = Field(default=None, description=_Q)


class QuantileOfNumbers(Section):
    """A quantile of the numbers of each key and window."""

    function: Literal["quantile"] = Field(description=_FUNCTION)
    column: Column = Field(description=_COLUMN)
    q: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = Field(description=_Q)


AggregateSection = Annotated[Numbers | Count | QuantileOfNumbers, Field(discriminator="function")]
