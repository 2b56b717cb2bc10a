"""The registry of the functions of named aggregates; a new one is a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

import pyarrow as pa
from pydantic import Field

from tailrace.aggregate.typed import (
    Typed,
    Values,
    bind_avg,
    bind_choice,
    bind_count,
    bind_count_distinct,
    bind_extreme,
    bind_quantile,
    bind_spread,
    bind_sum,
)
from tailrace.aggregate.value_column import is_number

QUANTILE = "the share of the numbers that lie below, for function quantile: 0.9"
SHARE = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False, description=QUANTILE)]


@dataclass(frozen=True)
class TypedFunction:
    """An aggregate function of named aggregates.

    Attributes
    ----------
    name : str
        Its name in query files.
    bind : callable
        Binds it to the values of a column, with its parameters.
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
    bind: Callable[[Values, Mapping[str, Any]], Typed]
    of_numbers: bool = True
    parameters: Mapping[str, Any] = field(default_factory=dict)
    amended_as: str | None = None
    needs_column: bool = True

    def takes(self, dtype: pa.DataType) -> bool:
        """Test whether it takes values of a type."""
        return not self.of_numbers or is_number(dtype)


_ALL = (
    TypedFunction("sum", bind_sum, amended_as="sum"),
    TypedFunction("count", bind_count, of_numbers=False, amended_as="sum", needs_column=False),
    TypedFunction("avg", bind_avg),
    TypedFunction("min", partial(bind_extreme, how="min"), of_numbers=False, amended_as="min"),
    TypedFunction("max", partial(bind_extreme, how="max"), of_numbers=False, amended_as="max"),
    TypedFunction("median", partial(bind_quantile, q=0.5)),
    TypedFunction("quantile", bind_quantile, parameters={"q": SHARE}),
    TypedFunction("stddev", partial(bind_spread, is_root=True, freedom=1)),
    TypedFunction("stddev_pop", partial(bind_spread, is_root=True, freedom=0)),
    TypedFunction("var", partial(bind_spread, is_root=False, freedom=1)),
    TypedFunction("var_pop", partial(bind_spread, is_root=False, freedom=0)),
    TypedFunction("count_distinct", bind_count_distinct, of_numbers=False),
    TypedFunction("first", partial(bind_choice, choice="first"), of_numbers=False),
    TypedFunction("last", partial(bind_choice, choice="last"), of_numbers=False),
)

TYPED_FUNCTIONS: dict[str, TypedFunction] = {function.name: function for function in _ALL}
