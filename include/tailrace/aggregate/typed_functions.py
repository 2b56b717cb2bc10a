"""The registry of the functions of named aggregates: what a query file may say. `typed.BINDINGS` computes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

QUANTILE = "the share of the numbers that lie below, for function quantile: 0.9"
SHARE = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False, description=QUANTILE)]


@dataclass(frozen=True)
class TypedFunction:
    """An aggregate function of named aggregates.

    Attributes
    ----------
    name : str
        Its name in query files.
    of_numbers : bool
        Whether it takes numbers alone.
    parameters : dict
        The types of the fields that a query file gives beside the function, as pydantic takes them.
    amended_as : str or None
        The function that merges its answers over parts of a window into its answer; None: such windows are evaluated
        again where tuples come late.
    needs_column : bool
        Whether a query must name a column.
    """

    name: str
    of_numbers: bool = True
    parameters: Mapping[str, Any] = field(default_factory=dict)
    amended_as: str | None = None
    needs_column: bool = True


_ALL = (
    TypedFunction("sum", amended_as="sum"),
    TypedFunction("count", of_numbers=False, amended_as="sum", needs_column=False),
    TypedFunction("avg"),
    TypedFunction("min", of_numbers=False, amended_as="min"),
    TypedFunction("max", of_numbers=False, amended_as="max"),
    TypedFunction("median"),
    TypedFunction("quantile", parameters={"q": SHARE}),
    TypedFunction("stddev"),
    TypedFunction("stddev_pop"),
    TypedFunction("var"),
    TypedFunction("var_pop"),
    TypedFunction("count_distinct", of_numbers=False),
    TypedFunction("first", of_numbers=False),
    TypedFunction("last", of_numbers=False),
)

TYPED_FUNCTIONS: dict[str, TypedFunction] = {function.name: function for function in _ALL}
