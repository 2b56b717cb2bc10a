"""Optional capabilities of a kind, each a protocol; a kind has one by having its members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self, runtime_checkable

import pyarrow as pa

from tailrace.disorder.error_model import SAMPLE, ErrorModel, Promises
from tailrace.disorder.tick_statistics import TickContents
from tailrace.ground.columns import Floats
from tailrace.ground.errors import Problem
from tailrace.kind.protocol import WindowedKind
from tailrace.partition.routes import TaskSlot
from tailrace.windows.windows import Windows


@runtime_checkable
class Promising(Protocol):
    """A kind whose answers policies may promise (error, risk) of."""

    @property
    def error_model(self) -> ErrorModel:
        """The error model of the answers."""

    def sample(self, tuples: pa.RecordBatch, promises: Promises) -> pa.RecordBatch:
        """Return partials of a few keys, of the error model's schema, for the query's clock.

        Columns that no promise needs may have any values; without a promise there are no rows.
        """


@runtime_checkable
class Estimating(Protocol):
    """A kind whose early answers may be scaled by the expected coverage of their windows."""

    @property
    def estimates(self) -> bool:
        """Whether they are."""


@runtime_checkable
class Preaggregating(Protocol):
    """A kind that combines rows into fewer rows before they are sent to the tasks."""

    def combine(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Combine rows into partials by key, pane and tick: `pane` replaces `event_time`, ids are dropped."""


@runtime_checkable
class TypedByColumns(Protocol):
    """A kind whose functions accept only columns of some types."""

    def type_problems(self) -> list[Problem]:
        """Return the problems of functions that do not accept the types of their columns."""


@runtime_checkable
class Rescalable(Protocol):
    """A kind whose state can be spread again, so that the number of tasks may change between two batches."""

    def moved(self, states: Sequence[Any], slot: TaskSlot) -> Any:
        """Return the state of one task, from the states of all tasks before; these must not be used again."""

    def moved_rows(self, side: int, rows: Sequence[pa.RecordBatch], slot: TaskSlot) -> pa.Table:
        """Return the rows of one task, from the prepared rows that all tasks before had."""


@runtime_checkable
class IncrementallyCorrectable(Protocol):
    """A kind whose streamed answers can be corrected by late tuples alone, without reading history."""

    def amend(self, answers: pa.Table, late: pa.Table) -> pa.RecordBatch:
        """Add to streamed answers the late tuples that their windows missed, where no tuple is a duplicate.

        Answers that need more than these are left out, and evaluated from history.

        Parameters
        ----------
        answers : Table
            Streamed answers, each once.
        late : Table
            The identity, `tuples` and the kind's amounts (`answers.by_window.ByWindow`) of each late row, for every
            answer that it missed.
        """


@runtime_checkable
class LoadBalanced(Protocol):
    """A kind whose partition follows the load of the tasks: its steps measure `loads`."""

    @property
    def feedback_ms(self) -> int:
        """The feedback period in ms of arrival time; after each one there may be a new partition plan."""

    def next_plan(
        self, plan: Mapping[str, Any] | None, loads: Mapping[str, Floats], tasks: int
    ) -> Mapping[str, Any] | None:
        """Make the partition plan of the next feedback period, as JSON values.

        Parameters
        ----------
        plan : mapping or None
            The plan in force; None before the first.
        loads : dict of ndarray, shape (m,)
            The loads that all tasks measured in the period, summed by element of the partition and by `task`.
        tasks : int
            The number of tasks.

        Returns
        -------
        mapping or None
            The plan in force where it stays; None where no plan is needed.
        """


@runtime_checkable
class ComposedOfTuples(Protocol):
    """A kind whose answers are tuples: an answer is as accurate as the share of its tuples that it holds."""

    def tuple_ids(self, answers: pa.Table) -> pa.ChunkedArray:
        """Return the id of the tuple that each row of answers is."""


@runtime_checkable
class TaskOwned(Protocol):
    """A kind whose tasks may find the same answer more than once; one task owns it and reports it."""

    def for_task(self, task_slot: TaskSlot) -> Self:
        """Return the kind whose steps give only the answers that belong to one task, in a batch."""


OVERFLOWED, FAILURE = "=overflowed", "=where_failed"
"""The columns that `Counting` kinds add to answers; no column of a query can have these names.

`OVERFLOWED` is the number of values of the row that exceed their type: null, or infinite as doubles. `FAILURE` is the
reason why the condition of a join fails for the pair, which is no answer; null for answers.
"""


@runtime_checkable
class Counting(Protocol):
    """A kind some of whose answers may exceed their type, or whose condition over pairs may fail."""

    def counting(self) -> WindowedKind:
        """Return the kind that adds `OVERFLOWED` or `FAILURE` to its answers; itself where neither can happen."""


def for_task(kind: WindowedKind, task_slot: TaskSlot) -> WindowedKind:
    """Return the kind as it runs in a task; unchanged where no two tasks find the same answer."""
    own: Callable[[TaskSlot], WindowedKind] | None = getattr(kind, TaskOwned.for_task.__name__, None)
    return kind if own is None else own(task_slot)  # without `isinstance`, which costs 0.1 ms, once a task


def counting(kind: WindowedKind) -> WindowedKind:
    """Return the kind that counts overflows and failures in its answers, if it can have any."""
    return kind.counting() if isinstance(kind, Counting) else kind


def combined(kind: object, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows that the kind combines these rows into; the same rows where it does not combine."""
    return kind.combine(rows) if isinstance(kind, Preaggregating) else rows


def sample_of(kind: object, tuples: pa.RecordBatch, promises: Promises) -> pa.RecordBatch:
    """Return the kind's sample of these tuples for some promises; empty where it has none."""
    return kind.sample(tuples, promises) if isinstance(kind, Promising) else pa.RecordBatch.from_pylist([], SAMPLE)


def sample_schema(kind: object) -> pa.Schema:
    """Return the schema of the kind's sample."""
    return kind.error_model.sample if isinstance(kind, Promising) else SAMPLE


def tick_contents(kind: object, windows: Windows, counts: pa.Table, sample: pa.Table) -> TickContents:
    """Return the contents of ticks with the kind's error model, if it has one."""
    model = kind.error_model if isinstance(kind, Promising) else None
    return TickContents(windows, counts, sample, model, isinstance(kind, Estimating) and kind.estimates)
