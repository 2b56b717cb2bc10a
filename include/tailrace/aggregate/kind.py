"""The aggregate kind: one frozen object for each declared aggregate query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import pyarrow as pa

from tailrace.aggregate.accuracy import errors_by_column, greatest_errors, share_right
from tailrace.aggregate.aggregates import NamedAggregate
from tailrace.aggregate.amend import AmendedAggregates, amend, amounts_of
from tailrace.aggregate.bindings import takes
from tailrace.aggregate.chosen import ORDER
from tailrace.aggregate.counted_overflows import CountedOverflows
from tailrace.aggregate.error_model import AggregateErrorModel
from tailrace.aggregate.functions import FUNCTIONS
from tailrace.aggregate.partials import combine
from tailrace.aggregate.sample import sample
from tailrace.answers.by_window import ByWindow
from tailrace.disorder.clock import Frontier
from tailrace.disorder.error_model import Promises
from tailrace.expressions.projection import NamedError, Projection
from tailrace.ground.columns import single_batch
from tailrace.ground.errors import Problem
from tailrace.kind.explanation import Explanation
from tailrace.kind.inputs import ColumnTypes, Input
from tailrace.kind.keyed_windows import KeyedWindows
from tailrace.kind.overflows import OVERFLOWED
from tailrace.kind.step import Step
from tailrace.operators import window
from tailrace.operators.chunk import Chunks
from tailrace.operators.window import PaneState


@dataclass(frozen=True, kw_only=True)
class Aggregate(KeyedWindows):
    """One aggregate or several over the windows of each key, each a column of the answers.

    `columns` has the source's columns that are read as doubles.

    Attributes
    ----------
    aggregates : tuple of NamedAggregate
    names : tuple of str
        The columns of answers in their order: aggregates, and expressions over these.
    carried : dict
        Columns of a tuple in their own types, and the source's column for each.
    carried_types : dict
        The types of these, by name in the tuple.
    expressions : tuple of (str, str)
        Names and texts. One that fails for an answer gives null.
    conditions : dict
        Of aggregates that take some tuples alone: the expressions by their fields in the query file, as
        `aggregate.failures.where`, which name derived columns of the tuples.
    counts_overflows : bool
        Whether answers have the column `OVERFLOWED`.
    """

    aggregates: tuple[NamedAggregate, ...]
    names: tuple[str, ...]
    carried: Mapping[str, str] = field(default_factory=dict)
    carried_types: Mapping[str, pa.DataType] = field(default_factory=dict)
    expressions: tuple[tuple[str, str], ...] = ()
    conditions: Mapping[str, str] = field(default_factory=dict)
    counts_overflows: bool = False

    @cached_property
    def summary(self) -> AmendedAggregates:
        return CountedOverflows(self.aggregates) if self.counts_overflows else AmendedAggregates(self.aggregates)

    @property
    def values(self) -> dict[str, pa.DataType]:
        types = {aggregate.name: aggregate.result for aggregate in self.aggregates} | self._derived.derived_types
        counted = {OVERFLOWED: pa.int64()} if self.counts_overflows else {}
        return {name: types[name] for name in self.names} | counted

    @cached_property
    def _derived(self) -> Projection:
        """The expressions over the aggregates."""
        types = {aggregate.name: aggregate.result for aggregate in self.aggregates} | {"tuples": pa.int64()}
        needed = Projection(self.expressions, None).inputs
        return Projection(self.expressions, None, tuple((name, types[name]) for name in needed))

    @property
    def answers(self) -> ByWindow:
        return replace(super().answers, amounts=amounts_of(self.aggregates))

    @property
    def inputs(self) -> tuple[Input, ...]:
        types = ColumnTypes(self.key_type, self.id_type, self.carried_types)
        needed = Input(self.columns, types, carried=self.carried, nullable=True, finite=True, derived=self.conditions)
        return (needed,)

    @property
    def explanation(self) -> Explanation:
        names = ", ".join(each.description for each in self.aggregates)
        reason = "tuples are combined before they go to the tasks"
        if self.summary.keeps:
            reason = "a function needs all values of a window: tuples go to the tasks one by one"
        return Explanation("by the hash of the key", f"{names} of {self.windows.description}", reason)

    def type_problems(self) -> list[Problem]:
        problems = []
        takes_any = ", ".join(name for name, function in FUNCTIONS.items() if not function.of_numbers)
        for each in self.aggregates:
            if each.values is not None and not takes(each.function, each.values.dtype):
                assert each.values.source is not None
                source = self.carried[each.values.source]
                fault = f"function {each.function} takes numbers, and column {source} is of type {each.values.dtype}"
                problems.append(Problem(f"aggregate.{each.name}", fault, f"a column of numbers, or {takes_any}"))
        for column, dtype in self.carried_types.items():
            if self.carried[column] in self.conditions and not pa.types.is_boolean(dtype):
                remedy = "a boolean: a comparison, or several with and, or, not"
                problems.append(Problem(self.carried[column], f"the condition is of type {dtype}", remedy))
        try:
            assert problems or self.values
        except NamedError as error:
            where = f"aggregate.{error.name}.expression: {error.position}"
            problems.append(Problem(where, error.fault, error.remedy))
        return problems

    def prepare(self, tuples: pa.RecordBatch, side: int = 0) -> pa.RecordBatch:
        arrival = "arrival_time"
        if arrival not in tuples.schema.names:  # none at all: the initial state is of no tuples
            tuples = tuples.append_column(arrival, pa.nulls(len(tuples), pa.int64()))
        return tuples.select(list(dict.fromkeys([*self.inputs[side].tuple_columns, *ORDER])))

    def combine(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return combine(self.windows, self.summary, rows)

    @cached_property
    def error_model(self) -> AggregateErrorModel:
        return AggregateErrorModel(self.aggregates, self._derived if self.expressions else None)

    def sample(self, tuples: pa.RecordBatch, promises: Promises) -> pa.RecordBatch:
        model = self.error_model
        tuples = tuples if promises else tuples[:0]
        return sample(self.windows, model.sampled(promises), model.sample, tuples)

    def start(self) -> PaneState:
        return PaneState.empty(self.key_type, self.summary.types)

    def restore(self, batches: dict[str, pa.RecordBatch], chunks: Chunks) -> PaneState:
        return PaneState.from_arrow(batches, self.summary.types)

    def step(self, state: PaneState, arrived: tuple[pa.Table, ...], frontier: Frontier) -> Step:
        """Advance a state to the frontier (the watermark), and answer the windows that closed."""
        state, closed, late = window.step(self.windows, self.summary, state, arrived[0], frontier)
        step = self._step(state, closed, late, frontier)
        answers = {each.name: step.answers.column(each.name) for each in self.aggregates}
        overflowed = int(self.summary.overflows(closed, answers).sum())
        return step._replace(counts={"overflowed": overflowed} if overflowed else {})

    def amend(self, answers: pa.Table, late: pa.Table) -> pa.RecordBatch:
        """Add late tuples to answers; where a function can't be amended, there are no rows."""
        rows = amend(self.aggregates, answers, late)
        if rows is None:
            return pa.RecordBatch.from_pylist([], self.answer)
        return super()._answers(self._with_expressions(rows))

    def counting_overflows(self) -> Self:
        """Return the kind with the column `OVERFLOWED` in its answers, if any of its aggregates can overflow."""
        return replace(self, counts_overflows=True) if self.summary.may_overflow else self

    def errors(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """Return the greatest error among the columns of each answer, see `errors_by_column`."""
        return greatest_errors(self.answers.identity, self.errors_by_column(approximate, exact))

    def errors_by_column(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """Return the errors of each column of answers: of numbers relative, absolute where the true value is 0."""
        return errors_by_column(self.answers.identity, self.values, approximate, exact)

    def quality(self, approximate: pa.Table, exact: pa.Table) -> float:
        """Return the share that is right of the exact answers, see `accuracy.share_right`."""
        return share_right(self.errors(approximate, exact).column("error"))

    def _answers(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Convert closed windows (`key`, `time`, the merged accumulators) to answers."""
        finished = self.summary.finish(rows)
        columns = {name: rows.column(name) for name in ("key", "time", "tuples")}
        return super()._answers(self._with_expressions(pa.RecordBatch.from_pydict(columns | finished)))

    def _with_expressions(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Compute the expressions of answers, given their aggregates."""
        if not self.expressions:
            return rows
        return single_batch(self._derived.run(pa.Table.from_batches([rows])).table)
