"""Optional capabilities of a kind, each a protocol; a kind has one by having its members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self, runtime_checkable

import pyarrow as pa

from tailrace.disorder.error_model import SAMPLE, ErrorModel, Promises
from tailrace.disorder.tick_statistics import TickContents
from tailrace.ground.arrow.columns import Floats
from tailrace.ground.errors import Problem
from tailrace.kind.protocol import WindowedKind
from tailrace.partition.routes import TaskSlot
from tailrace.windows.windows import Windows


@runtime_checkable
class Promising(Protocol):
    """A kind with answers for which policies may promise (error, risk)."""

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
        """Whether early answers are scaled."""


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
    """A kind whose state can be redistributed, so that the number of tasks may change between two batches."""

    def moved(self, states: Sequence[Any], slot: TaskSlot) -> Any:
        """Return the state of one task, from the states of all previous tasks, which must not be used again."""

    def moved_rows(self, side: int, rows: Sequence[pa.RecordBatch], slot: TaskSlot) -> pa.Table:
        """Return the rows of one task, from the prepared rows of all previous tasks."""


@runtime_checkable
class IncrementallyCorrectable(Protocol):
    """A kind whose streamed answers can be corrected by late tuples alone, without reading history."""

    def amend(self, answers: pa.Table, late: pa.Table) -> pa.RecordBatch:
        """Add to streamed answers the late tuples that their windows missed; no tuple may be a repeat.

        Answers that need other tuples, too, are left out, and evaluated from history.

        Parameters
        ----------
        answers : Table
            Streamed answers, each once.
        late : Table
            The identity, `tuples` and the kind's amounts (`answers.by_window.ByWindow`) of each late row, once for
            every answer that it missed.
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
            The plan in force if it stays; None if no plan is needed.
        """


@runtime_checkable
class ComposedOfTuples(Protocol):
    """A kind whose answers consist of tuples, so that accuracy is the share of the right tuples."""

    def tuple_ids(self, answers: pa.Table) -> pa.ChunkedArray:
        """Return the id of the tuple that each row of answers is."""


@runtime_checkable
class TaskOwned(Protocol):
    """A kind whose tasks may find the same answer more than once; one task owns it and reports it."""

    def for_task(self, task_slot: TaskSlot) -> Self:
        """Return the kind whose steps give only the answers that belong to one task, in a batch."""


OVERFLOWED, FAILURE = "=overflowed", "=where_failed"
"""The columns that `Counting` kinds add to answers; no column of a query can have these names.

`OVERFLOWED` is the number of the row's values that exceed their type: null, or infinite as doubles. `FAILURE` is the
reason why a join's condition fails for a pair, which is then no answer; null for answers.
"""


@runtime_checkable
class Counting(Protocol):
    """A kind with answers that may exceed their type, or with a condition over pairs that may fail."""

    def counting(self) -> WindowedKind:
        """Return the kind that adds `OVERFLOWED` or `FAILURE` to its answers; itself if neither can happen."""


def for_task(kind: WindowedKind, task_slot: TaskSlot) -> WindowedKind:
    """Return the kind for a task; unchanged if no two tasks find the same answer."""
    own: Callable[[TaskSlot], WindowedKind] | None = getattr(kind, TaskOwned.for_task.__name__, None)
    return kind if own is None else own(task_slot)  # without `isinstance`, which costs 0.1 ms for each task


def counting(kind: WindowedKind) -> WindowedKind:
    """Return the kind that counts overflows and failures in its answers, if it can have any."""
    return kind.counting() if isinstance(kind, Counting) else kind


def combined(kind: object, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows combined by the kind; the same rows if it does not combine."""
    return kind.combine(rows) if isinstance(kind, Preaggregating) else rows


def sample_of(kind: object, tuples: pa.RecordBatch, promises: Promises) -> pa.RecordBatch:
    """Return the kind's sample of these tuples for some promises; empty if it has none."""
    return kind.sample(tuples, promises) if isinstance(kind, Promising) else pa.RecordBatch.from_pylist([], SAMPLE)


def sample_schema(kind: object) -> pa.Schema:
    """Return the schema of the kind's sample."""
    return kind.error_model.sample if isinstance(kind, Promising) else SAMPLE


def tick_contents(kind: object, windows: Windows, counts: pa.Table, sample: pa.Table) -> TickContents:
    """Return the contents of ticks with the kind's error model, if it has one."""
    model = kind.error_model if isinstance(kind, Promising) else None
    return TickContents(windows, counts, sample, model, isinstance(kind, Estimating) and kind.estimates)
