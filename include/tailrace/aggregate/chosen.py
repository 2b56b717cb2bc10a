"""The accumulator of functions that choose one of the values, by an order of the tuples or of the values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.grouped_rows import GroupedRows
from tailrace.ground.times import ARRIVAL_US, EVENT_US, whole_times
from tailrace.ground.value_column import ValueColumn, ranks, stored_type
from tailrace.windows.panes import Arrays

if TYPE_CHECKING:
    from tailrace.aggregate.bindings import SecondColumn

Choice = Literal["first", "last", "min", "max"]

ORDER = ("event_micros", "arrival_micros", "id")
"""What defines the order for `first` and `last`; times are in microseconds."""

ORDERED_BY = ("event_time", EVENT_US, "arrival_time", ARRIVAL_US, "id")
"""The columns of tuples that the order follows from."""


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
        A column that is chosen in place of the value, and may be null; of equal values `ORDER` chooses.
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
        """The column that is 1 where a value that is not null is chosen."""
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
