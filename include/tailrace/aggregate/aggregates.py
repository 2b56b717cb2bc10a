"""Several named aggregates over the same windows: one summary of a pane with shared accumulators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.aggregate.within_expressions import CallPlace
from tailrace.functions.accumulators import Accumulator, Squares
from tailrace.functions.function import BoundFunction, Values
from tailrace.functions.kept import Kept
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.arrow.grouped_rows import GroupedRows
from tailrace.ground.arrow.value_column import Ints
from tailrace.windows.panes import Arrays


@dataclass(frozen=True)
class NamedAggregate:
    """An aggregate of a query, bound to the type of its column.

    Attributes
    ----------
    name : str
        The column of the answers.
    function : str
        A function in `registry.FUNCTIONS`.
    values : Values or None
        The values that it aggregates; None if it counts tuples.
    parameters : dict
        The function's parameters, such as q.
    in_doubles : bool
        Whether answers are cast to doubles, as with an unnamed aggregate.
    is_estimated : bool
        Whether early answers are scaled by the expected coverage of their windows, see `estimates`.
    within : CallPlace or None
        The place of an aggregate that only occurs within an expression; None for columns of answers.
    """

    name: str
    function: str
    values: Values | None
    parameters: Mapping[str, Any]
    in_doubles: bool = False
    is_estimated: bool = False
    within: CallPlace | None = None

    @cached_property
    def bound(self) -> BoundFunction | None:
        """The function, bound to its column; None if it counts tuples."""
        if self.values is None:
            return None
        return FUNCTIONS[self.function].bind(self.values, self.parameters)

    @property
    def squares(self) -> Squares | None:
        """The sum of squares for an estimated sum; None for a count, and without estimates."""
        if not self.is_estimated or self.bound is None or self.function != "sum":
            return None
        return Squares(self.bound.accumulators[0].column)

    @property
    def description(self) -> str:
        """The aggregate in words."""
        if self.within is not None:
            return f"{self.function} in {self.within.name}"
        return self.function if self.in_doubles else f"{self.function} as {self.name}"

    @property
    def field(self) -> str:
        """Its place in a query file."""
        return f"aggregate.{self.name}" if self.within is None else self.within.field

    @property
    def result(self) -> pa.DataType:
        """The type of its answers."""
        if self.in_doubles:
            return pa.float64()
        return pa.int64() if self.bound is None else self.bound.result


@dataclass(frozen=True)
class Aggregates:
    """The summary of a pane for several aggregates (`windows.panes.Summary`): `tuples` and accumulators.

    If an aggregate keeps values, a pane has one row for each tuple, and accumulators are only merged for windows.
    """

    aggregates: tuple[NamedAggregate, ...]

    @cached_property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """The distinct accumulators."""
        bound = (aggregate.bound for aggregate in self.aggregates)
        own = [each for one in bound if one is not None for each in one.accumulators]
        squares = [aggregate.squares for aggregate in self.aggregates if aggregate.squares is not None]
        return tuple(dict.fromkeys([*own, *squares]))

    @cached_property
    def keeps(self) -> bool:
        """Whether a pane has one row for each tuple."""
        return any(isinstance(accumulator, Kept) for accumulator in self.accumulators)

    @cached_property
    def types(self) -> dict[str, pa.DataType]:
        columns = {"tuples": pa.int64()}
        for accumulator in self.accumulators:
            columns |= accumulator.types
        return columns

    def lift(self, tuples: pa.RecordBatch) -> Arrays:
        """Return the columns of the accumulators for single tuples, shape (n,)."""
        bound = {each.values.column: each.values for each in self.aggregates if each.values is not None}
        values = {name: each.read(tuples) for name, each in bound.items()}
        columns: Arrays = {}
        for accumulator in self.accumulators:
            columns |= accumulator.lift(values[accumulator.column], tuples)
        return columns

    def merge_rows(self, rows: GroupedRows, columns: Arrays) -> Arrays:
        """Merge the accumulators of the rows of each group, except those that keep values."""
        merged: Arrays = {}
        for accumulator in self.accumulators:
            if not isinstance(accumulator, Kept):
                merged |= accumulator.merge(rows, columns)
        return merged

    def merge(self, group_id: Ints, columns: Arrays) -> tuple[Ints, Arrays]:
        if self.keeps:
            return group_id, columns
        codes, rows = GroupedRows.from_codes(group_id)
        return codes, {"tuples": rows.fold(columns["tuples"], "sum")} | self.merge_rows(rows, columns)

    def answer(self, group_id: Ints, row: Ints, columns: Arrays) -> tuple[Ints, Arrays]:
        """Merge the rows of each window, for `finish`."""
        codes, rows = GroupedRows.from_codes(group_id)
        columns = {name: column[row] for name, column in columns.items()}
        merged = {"tuples": rows.fold(columns["tuples"], "sum")} | self.merge_rows(rows, columns)
        for aggregate, bound in self._measured:
            assert bound.measure is not None
            measured = bound.measure(rows, columns)
            merged |= {f"{aggregate.name}={part}": column for part, column in measured.items()}
        return codes, merged

    def finish(self, windows: pa.RecordBatch) -> dict[str, pa.Array]:
        """Return the answers of windows by aggregate, from the result of `answer`."""
        columns = {
            name: column.to_numpy(zero_copy_only=False)
            for name, column in zip(windows.schema.names, windows.columns, strict=True)
        }
        answers = {}
        for aggregate in self.aggregates:
            bound = aggregate.bound
            if bound is None:
                answers[aggregate.name] = pa.array(columns["tuples"], pa.int64())
            else:
                prefix = f"{aggregate.name}="
                own = {name.removeprefix(prefix): column for name, column in columns.items() if name.startswith(prefix)}
                answers[aggregate.name] = bound.finish(columns if bound.measure is None else own)
        return {each.name: answers[each.name].cast(each.result) for each in self.aggregates}

    def overflows(self, windows: pa.RecordBatch, answers: Mapping[str, pa.Array]) -> Ints:
        """Count the answers of each window that exceed their type, shape (n,): null, or infinite or NaN as doubles."""
        count = np.zeros(windows.num_rows, np.int64)
        for aggregate in self.aggregates:
            if aggregate.bound is not None and aggregate.bound.count is not None:
                has_values = np.asarray(windows.column(aggregate.bound.count.name)) > 0
                count += has_values & _is_no_value(answers[aggregate.name])
        return count

    @property
    def may_overflow(self) -> bool:
        """Whether an answer of an aggregate may exceed its type."""
        return any(aggregate.bound is not None and aggregate.bound.count is not None for aggregate in self.aggregates)

    @property
    def _measured(self) -> list[tuple[NamedAggregate, BoundFunction]]:
        both = ((aggregate, aggregate.bound) for aggregate in self.aggregates)
        return [(aggregate, bound) for aggregate, bound in both if bound is not None and bound.measure is not None]


def _is_no_value(answers: pa.Array) -> NDArray[np.bool_]:
    """Mark answers that are null, infinite or NaN."""
    if pa.types.is_floating(answers.type):
        return np.asarray(~np.isfinite(answers.to_numpy(zero_copy_only=False)), bool)
    return np.asarray(answers.is_null())
