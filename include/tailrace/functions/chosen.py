"""Functions that choose one of the values, by an order of the tuples or of the values, and their accumulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.functions.accumulators import Count, Extreme
from tailrace.functions.coverage import extreme
from tailrace.functions.function import BoundFunction, Function, SecondColumn, Values, to_type
from tailrace.ground.arrow.grouped_rows import GroupedRows
from tailrace.ground.arrow.times import ARRIVAL_US, EVENT_US, whole_times
from tailrace.ground.arrow.value_column import ValueColumn, is_of_64_bits, ranks, stored_type
from tailrace.windows.panes import Arrays

Choice = Literal["first", "last", "min", "max"]

ORDER = ("event_micros", "arrival_micros", "id")
"""The order for `first` and `last`; times are in microseconds."""

ORDERED_BY = ("event_time", EVENT_US, "arrival_time", ARRIVAL_US, "id")
"""The columns of tuples that determine the order."""


def order_of(tuples: pa.RecordBatch) -> tuple[NDArray[Any], ...]:
    """Return the columns of `ORDER` of single tuples, shape (n,)."""
    event, arrival = (whole_times(tuples, name) for name in ("event_time", "arrival_time"))
    return event, arrival, tuples.column("id").to_numpy(zero_copy_only=False)


@dataclass(frozen=True)
class Chosen:
    """One value of a column, and the values by which it was chosen.

    Attributes
    ----------
    choice : str
        `first` and `last` choose among values that are not null by `ORDER`, `min` and `max` by value.
    second : SecondColumn or None
        A column that is returned in place of the value, and may be null; among equal values `ORDER` decides.
    """

    column: str
    dtype: pa.DataType
    choice: Choice
    id_type: pa.DataType
    second: SecondColumn | None = None

    @property
    def name(self) -> str:
        if self.second is None:
            return f"{self.column}:{self.choice}"
        return f"{self.choice}_by {len(self.column)}:{self.column}:{self.second.source}"

    @property
    def chosen_type(self) -> pa.DataType:
        """The type of the chosen values."""
        return self.dtype if self.second is None else self.second.dtype

    @property
    def is_value(self) -> str:
        """The column that is 1 if a non-null value is chosen."""
        return self._has if self.second is None else f"{self.name}:is_value"

    @property
    def is_by_order(self) -> bool:
        """Whether the order of tuples chooses the value."""
        return self.choice in ("first", "last") or self.second is not None

    @property
    def _has(self) -> str:
        return f"{self.name}:has"

    @property
    def _order(self) -> dict[str, pa.DataType]:
        """The columns by which the value is chosen, the most important one first."""
        if not self.is_by_order:
            return {self.name: stored_type(self.dtype)}
        by = {} if self.second is None else {f"{self.name}:by": stored_type(self.dtype)}
        parts = (f"{self.name}:{part}" for part in ORDER)
        return by | dict(zip(parts, (pa.int64(), pa.int64(), self.id_type), strict=True))

    @property
    def _chosen(self) -> dict[str, pa.DataType]:
        return {self.is_value: pa.int64(), self.name: stored_type(self.chosen_type)}

    @property
    def types(self) -> dict[str, pa.DataType]:
        return {self._has: pa.int64()} | self._chosen | self._order

    def lift(self, values: ValueColumn, tuples: pa.RecordBatch) -> Arrays:
        chosen = values if self.second is None else ValueColumn(tuples.column(self.second.source))
        columns: Arrays = {self._has: values.is_value.astype(np.int64)}
        columns |= {self.is_value: chosen.is_value.astype(np.int64), self.name: chosen.objects}
        if self.is_by_order:
            by = () if self.second is None else (values.objects,)
            columns |= dict(zip(self._order, (*by, *order_of(tuples)), strict=True))
        return columns

    def merge(self, rows: GroupedRows, columns: Arrays) -> Arrays:
        is_value = np.flatnonzero(columns[self._has])
        group = rows.group[is_value]
        order_types = self._order | self._chosen  # of equal tuples the least value is first
        keys = [ranks(columns[name][is_value], dtype) for name, dtype in order_types.items()]
        order = np.lexsort([*reversed(keys), group])
        group, index = group[order], is_value[order]
        if self.choice in ("first", "min"):
            is_chosen = np.diff(group, prepend=-1) != 0
        else:
            is_chosen = np.diff(group, append=len(rows)) != 0
        merged: Arrays = {}
        for name in self.types:
            column = columns[name]
            merged[name] = np.full(len(rows), None if column.dtype == object else 0, column.dtype)
            merged[name][group[is_chosen]] = column[index[is_chosen]]
        return merged


def bind_extreme(values: Values, parameters: Mapping[str, Any], how: Choice) -> BoundFunction:
    """Bind `min` or `max`."""
    dtype = values.dtype
    if not (is_of_64_bits(dtype) or pa.types.is_floating(dtype)):
        return bind_choice(values, parameters, how)
    assert how in ("min", "max")
    count, most = Count(values.column), Extreme(values.column, dtype, how)
    return BoundFunction(dtype, (count, most), partial(to_type, count.name, most.name, dtype))


def bind_choice(values: Values, parameters: Mapping[str, Any], choice: Choice) -> BoundFunction:
    """Bind a function that chooses one of the values."""
    count, chosen = Count(values.column), Chosen(values.column, values.dtype, choice, values.id_type)
    return BoundFunction(values.dtype, (count, chosen), partial(to_type, count.name, chosen.name, values.dtype))


def bind_extreme_by(values: Values, parameters: Mapping[str, Any], how: Choice) -> BoundFunction:
    """Bind `min_by` or `max_by`, the second column of the tuple with the least or the greatest value."""
    chosen = Chosen(values.column, values.dtype, how, values.id_type, values.second)
    dtype = chosen.chosen_type
    return BoundFunction(dtype, (chosen,), partial(to_type, chosen.is_value, chosen.name, dtype))


_FIRST = "the column's type: by event time, then arrival time, then id"
_BY = "the type of `column`: its value, perhaps null, of the tuple with the {} `by`, of equal ones the {} by time"
_first, _last = partial(bind_choice, choice="first"), partial(bind_choice, choice="last")
_min, _max = partial(bind_extreme, how="min"), partial(bind_extreme, how="max")
_extreme = partial(Function, gives="the column's type", takes="any", threshold=extreme, threshold_of_part=extreme)
_choice = partial(Function, takes="any", in_order=True)
_by = partial(_choice, columns=("by", "column"), needs_name=True)
_boolean = partial(Function, takes="booleans", needs_name=True)
_and, _or = ("bool_and(column)", "every(column)"), ("bool_or(column)", "some(column)", "any(column)")

CHOICES = (
    _extreme("min", _min, amended_as="min"),
    _extreme("max", _max, amended_as="max"),
    _choice("first", _first, _FIRST, sql=("first(column)", "first_value(column)")),
    _choice("last", _last, "as `first`", sql=("last(column)", "last_value(column)")),
    _choice("any_value", _first, "as `first`"),
    _by("min_by", partial(bind_extreme_by, how="min"), _BY.format("least", "first")),
    _by("max_by", partial(bind_extreme_by, how="max"), _BY.format("greatest", "last")),
    _boolean("bool_and", _min, "boolean: whether all are true", sql=_and, amended_as="min"),
    _boolean("bool_or", _max, "boolean: whether any is true", sql=_or, amended_as="max"),
)
