"""The aggregate kind: one frozen object for each declared aggregate query."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.aggregate.accuracy import errors_by_column, greatest_errors, share_right
from tailrace.aggregate.aggregates import Aggregates, NamedAggregate
from tailrace.aggregate.amend import AmendedAggregates, amend, amounts_of, are_amended
from tailrace.aggregate.error_model import AggregateErrorModel
from tailrace.aggregate.errors_by_wait import errors_by_wait
from tailrace.aggregate.estimated_windows import with_coverage, with_open_corrections
from tailrace.aggregate.estimates import COVERAGE, estimate, interval_types, raw_name, whole
from tailrace.aggregate.partials import combine
from tailrace.answers.by_window import ByWindow
from tailrace.disorder.clock import Frontier
from tailrace.disorder.error_model import Promises
from tailrace.disorder.quantile.key_sketch import GROUPS, KeySketch, stretch_of
from tailrace.expressions.projection import WHERE, NamedError, Projection
from tailrace.expressions.written_names import written
from tailrace.functions.chosen import ORDERED_BY, Chosen
from tailrace.functions.kept import KeptInOrder
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.arrow.answer_columns import HAVING, RETRACTED
from tailrace.ground.arrow.columns import Ints, group, pair, single_batch, unify
from tailrace.ground.errors import Problem
from tailrace.kind.capabilities import OVERFLOWED
from tailrace.kind.errors_by_wait import ErrorsByWait
from tailrace.kind.explanation import KindExplanation
from tailrace.kind.inputs import ColumnTypes, Input
from tailrace.kind.keyed_windows import KeyedWindows
from tailrace.kind.step import Step
from tailrace.operators import window
from tailrace.operators.chunk import Chunks
from tailrace.operators.sessions import SessionState
from tailrace.operators.window import PaneState
from tailrace.partition.by_key import hash_of
from tailrace.windows.windows import Windows


@dataclass(frozen=True, kw_only=True)
class Aggregate(KeyedWindows):
    """One or more aggregates over the windows of each key, each a column of the answers.

    Attributes
    ----------
    aggregates : tuple of NamedAggregate
        The aggregates among the columns of answers, and within expressions.
    names : tuple of str
        The columns of answers in order: aggregates, and expressions over them.
    carried_types : dict
        The types of a tuple's carried columns, by name in the tuple.
    expressions : tuple of (str, str)
        Names and texts; an expression that fails for an answer gives null.
    having : str or None
        The condition that answers must meet, over the same columns as expressions; null and failures count as false.
        Other answers are marked in the column `RETRACTED`.
    counts_overflows : bool
        Whether answers have the column `OVERFLOWED`.
    """

    aggregates: tuple[NamedAggregate, ...]
    names: tuple[str, ...]
    carried_types: Mapping[str, pa.DataType] = field(default_factory=dict)
    expressions: tuple[tuple[str, str], ...] = ()
    having: str | None = None
    counts_overflows: bool = False

    _of_windows: ClassVar[tuple[str, ...]] = ("key", "time", "tuples")
    """The columns of closed windows that are copied to answers."""

    _state: ClassVar[type[PaneState | SessionState]] = PaneState
    """The class of its states."""

    @cached_property
    def summary(self) -> AmendedAggregates:
        return CountedOverflows(self.aggregates) if self.counts_overflows else AmendedAggregates(self.aggregates)

    @property
    def values(self) -> dict[str, pa.DataType]:
        types = {aggregate.name: aggregate.result for aggregate in self.aggregates} | self._derived.derived_types
        further = {each.name: interval_types(each) for each in self._estimated}
        columns = dict[str, pa.DataType]()
        for name in self.names:
            columns |= {name: types[name]} | further.get(name, {})
        return columns | ({OVERFLOWED: pa.int64()} if self.counts_overflows else {})

    @property
    def estimates(self) -> bool:
        """Whether early answers are scaled by the expected coverage of their windows."""
        return bool(self._estimated)

    @cached_property
    def _estimated(self) -> tuple[NamedAggregate, ...]:
        return tuple(each for each in self.aggregates if each.is_estimated)

    @cached_property
    def _hidden(self) -> Aggregates:
        """The aggregates that only occur within expressions."""
        return Aggregates(tuple(each for each in self.aggregates if each.within is not None))

    @cached_property
    def _derived(self) -> Projection:
        """The expressions over the aggregates, and the condition of answers."""
        return self._projection(self.having)

    @property
    def _measured(self) -> Projection | None:
        """Only the expressions of answers, for measuring their errors; None without one."""
        return self._projection(None) if self.expressions else None

    def _projection(self, having: str | None) -> Projection:
        types = {aggregate.name: aggregate.result for aggregate in self.aggregates} | {"tuples": pa.int64()}
        needed = Projection(self.expressions, having).inputs
        return Projection(self.expressions, having, tuple((name, types[name]) for name in needed))

    @property
    def marks(self) -> dict[str, pa.DataType]:
        return {} if self.having is None else {RETRACTED: pa.bool_()}

    @property
    def answers(self) -> ByWindow:
        return replace(super().answers, amounts=amounts_of(self.aggregates))

    @property
    def inputs(self) -> tuple[Input, ...]:
        types = ColumnTypes(self.key_type, self.id_type, self.carried_types)
        return (Input(self.uses, column_types=types),)

    @property
    def explanation(self) -> KindExplanation:
        names = ", ".join(each.description for each in self.aggregates)
        reason = "tuples are combined before they go to the tasks"
        if self.summary.keeps:
            reason = "a function needs all values of a window: tuples go to the tasks one by one"
        return KindExplanation("by the hash of the key", f"{names} of {self.windows.description}", reason)

    def type_problems(self) -> list[Problem]:
        problems, (needed,) = [], self.inputs
        takes_any = ", ".join(name for name, function in FUNCTIONS.items() if function.takes == "any")
        for each in self.aggregates:
            for name, dtype in () if each.values is None else each.values.types.items():
                if not FUNCTIONS[each.function].accepts(dtype):
                    source, wanted = needed.carried[name], FUNCTIONS[each.function].takes
                    column = written(source)
                    flag = f"{source} > 0" if column == source else f'"{column} > 0"'  # no YAML begins with a backtick
                    example = f"number: cast({column} as double)" if wanted == "numbers" else f"flag: {flag}"
                    fault = f"function {each.function} takes {wanted}, and column {source} is of type {dtype}"
                    remedy = f"a column of {wanted}, such as columns: {{{example}}}; or {takes_any}"
                    problems.append(Problem(each.field, fault, remedy))
        for column, dtype in self.carried_types.items():
            if (condition := needed.carried[column]) in needed.derives and not pa.types.is_boolean(dtype):
                remedy = "a boolean: a comparison, or several with and, or, not"
                problems.append(Problem(condition, f"the condition is of type {dtype}", remedy))
        try:
            assert problems or self.values
        except NamedError as error:
            where = f"aggregate.{HAVING}" if error.field == WHERE else f"aggregate.{error.name}.expression"
            where = f"{where}: {error.position}"
            problems.append(Problem(where, self._as_written(error.fault), self._as_written(error.remedy)))
        return problems

    def _as_written(self, text: str) -> str:
        """Replace the internal names of aggregates within expressions in a text by their calls."""
        calls = {each.name: f"{each.function}(…)" for each in self.aggregates if each.within is not None}
        return re.sub(r"\b_\d+\b", lambda name: calls.get(name[0], name[0]), text)

    @cached_property
    def _prepared(self) -> list[str]:
        """The columns of prepared rows, with those that order tuples, as some accumulators need them."""
        is_by_order = any(
            isinstance(each, KeptInOrder) or (isinstance(each, Chosen) and each.is_by_order)
            for each in self.summary.accumulators
        )
        return list(dict.fromkeys([*self.inputs[0].tuple_columns, *(ORDERED_BY if is_by_order else ())]))

    def prepare(self, tuples: pa.RecordBatch, side: int = 0) -> pa.RecordBatch:
        return tuples.select(self._prepared)

    def combine(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return combine(self.windows, self.summary, rows)

    @cached_property
    def error_model(self) -> AggregateErrorModel:
        return AggregateErrorModel(self.aggregates, self._measured)

    def sample(self, tuples: pa.RecordBatch, promises: Promises) -> pa.RecordBatch:
        model = self.error_model
        tuples = tuples if promises else tuples[:0]
        return sample(self.windows, model.sampled(promises), model.sample, tuples)

    def start(self) -> Any:
        return self._state.empty(self.key_type, self.summary.types)

    def restore(self, batches: dict[str, pa.RecordBatch], chunks: Chunks) -> Any:
        return self._state.from_arrow(batches, self.summary.types)

    def step(self, state: Any, arrived: tuple[pa.Table, ...], frontier: Frontier) -> Step:
        """Advance a state to the frontier (the watermark), and answer the windows that closed."""
        return self._finished(*window.step(self.windows, self.summary, state, arrived[0], frontier), frontier)

    def _finished(self, state: Any, closed: pa.RecordBatch, late: pa.RecordBatch, frontier: Frontier) -> Step:
        """Build the result of a step from the operator's new state, closed windows and late rows."""
        if self._estimated:
            closed = with_coverage(closed, frontier)
        step = self._step(state, closed, late, frontier)
        answers = {each.name: step.answers.column(raw_name(each)) for each in self.aggregates if each.within is None}
        answers |= (hidden := self._hidden.finish(closed))
        overflowed = int(self.summary.overflows(closed, answers).sum())
        if self._estimated:
            columns = dict(zip(step.answers.schema.names, step.answers.columns, strict=True))
            columns |= self._estimates(hidden, closed)
            step = with_open_corrections(self.windows, self._estimated, step, columns, frontier)
        return step._replace(counts={"overflowed": overflowed} if overflowed else {})

    def amend(self, answers: pa.Table, late: pa.Table) -> pa.RecordBatch:
        """Add late tuples to answers; return no rows if a function can't be amended."""
        if not are_amended(self.aggregates):
            return pa.RecordBatch.from_pylist([], self.answer)
        raw = {name: answers.column(name) for name in ("key", "window_end", "tuples")}
        raw |= {each.name: answers.column(raw_name(each)) for each in self.aggregates}
        rows = amend(self.aggregates, pa.table(raw), late)
        if rows is None:
            return pa.RecordBatch.from_pylist([], self.answer)
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        columns |= self._estimates(columns, None)
        return super()._answers(self._with_expressions(pa.RecordBatch.from_pydict(columns)))

    def counting(self) -> Self:
        """Return the kind with the column `OVERFLOWED` in its answers if one of its aggregates can overflow."""
        return replace(self, counts_overflows=True) if self.summary.may_overflow else self

    def errors(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """Return the greatest error among the columns of each answer, see `errors_by_column`."""
        return greatest_errors(self.answers.identity, self.errors_by_column(approximate, exact))

    def errors_by_column(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """Return the errors of each column of answers: relative for numbers, absolute if the true value is 0."""
        further = {name for each in self._estimated for name in interval_types(each)}
        values = {name: dtype for name, dtype in self.values.items() if name not in further}
        return errors_by_column(self.answers.identity, values, approximate, exact)

    def errors_by_wait(self, tuples: pa.RecordBatch, before: Callable[[Ints], Ints]) -> ErrorsByWait:
        """Return the errors of each column with any wait, if no function keeps values; unscaled, see `measure`."""
        values = {name: self.values[name] for name in self.names}
        return errors_by_wait(self.windows, Aggregates(self.aggregates), self._measured, values, tuples, before)

    def quality(self, approximate: pa.Table, exact: pa.Table) -> float:
        """Return the share of the exact answers that is right, see `accuracy.share_right`."""
        return share_right(self.errors(approximate, exact).column("error"))

    def _answers(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Convert closed windows (`key`, `time`, the merged accumulators) to answers."""
        finished = self.summary.finish(rows)
        columns = {name: rows.column(name) for name in self._of_windows}
        finished |= self._estimates(finished, rows if COVERAGE in rows.schema.names else None)
        return super()._answers(self._with_expressions(pa.RecordBatch.from_pydict(columns | finished)))

    def _estimates(self, raw: Mapping[str, pa.Array], closed: pa.RecordBatch | None) -> dict[str, pa.Array]:
        """Return the columns of estimated answers; `closed` is None where tuples are complete, as in corrections."""
        columns = dict[str, pa.Array]()
        for each in self._estimated:
            if (answers := raw.get(each.name)) is not None:
                columns |= whole(each, answers) if closed is None else estimate(each, answers, closed)
        return columns

    def _with_expressions(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Compute the expressions of answers and their marks, given their aggregates."""
        if not self.expressions and self.having is None:
            return rows
        projected = self._derived.run(pa.Table.from_batches([rows]))
        given = {} if self.having is None else {RETRACTED: ~projected.kept}
        columns = dict(zip(projected.table.column_names, projected.table.columns, strict=True))
        return single_batch(pa.table(columns | given))


class CountedOverflows(AmendedAggregates):
    """The summary of several aggregates that also counts those that exceed their type in a window."""

    def finish(self, windows: pa.RecordBatch) -> dict[str, pa.Array]:
        answers = super().finish(windows)
        return answers | {OVERFLOWED: pa.array(self.overflows(windows, answers))}


# It holds the keys with the smallest hashes that occurred in each stretch of event time up to each tick. The keys with
# the smallest hashes of the whole stream up to a tick are therefore in the samples of the segments, however the log is
# cut.


def _in_sample(windows: Windows, tuples: pa.RecordBatch) -> NDArray[np.bool_]:
    """Mark the tuples whose key is in the sample at their tick; shape (n,) for n tuples."""
    keys, (key,) = unify([tuples.column("key")])
    if len(keys) <= GROUPS:
        return np.ones(len(tuples), bool)
    tick = np.asarray(tuples.column("tick"))
    code, split = pair(stretch_of(windows, np.asarray(tuples.column("event_time"))), key)
    distinct, (first,) = group(code, (tick, "min"))
    stretch, key = split(distinct)
    groups, index = KeySketch.from_rows(stretch, hash_of(keys)[key], first)
    return tick < groups.until[index][np.searchsorted(distinct, code)]


def sample(windows: Windows, aggregates: Aggregates, schema: pa.Schema, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """Combine the tuples of at most `GROUPS` keys in each stretch into partials; `group` is the key's hash.

    Parameters
    ----------
    aggregates : Aggregates
        The aggregates that promised answers need.
    schema : Schema
        `ErrorModel.sample`, with the columns of all aggregates; unneeded columns are 0 or null.
    tuples : RecordBatch
        The tuples, as for `combine`.
    """
    if not len(tuples):
        return pa.RecordBatch.from_pylist([], schema)
    partials = combine(windows, aggregates, tuples.filter(pa.array(_in_sample(windows, tuples))))
    hashes = hash_of(partials.column("key").dictionary).view(np.int64)[np.asarray(partials.column("key").indices)]
    columns = {name: partials.column(name) for name in partials.schema.names} | {"group": pa.array(hashes)}
    needed = [columns[field.name] if field.name in columns else _nothing(field.type, len(hashes)) for field in schema]
    return pa.RecordBatch.from_arrays(needed, schema=schema)


def _nothing(dtype: pa.DataType, count: int) -> pa.Array:
    """Return a column without values; numbers are 0, as nulls would turn the column into doubles."""
    is_number = pa.types.is_int64(dtype) or pa.types.is_float64(dtype)
    return pa.array(np.zeros(count), dtype) if is_number else pa.nulls(count, dtype)
