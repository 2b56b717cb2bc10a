"""Optional capabilities of a kind; a kind has one when it has its members."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    """A kind that policies which promise (error, risk) go with."""

    @property
    def error_model(self) -> ErrorModel:
        """The error model of the answers."""

    def sample(self, tuples: pa.RecordBatch, promises: Promises) -> pa.RecordBatch:
        """Partials of a few keys, of the error model's schema; the query's clock gets them.

        Columns that no promise needs may have any values; without a promise there are no rows.
        """


@runtime_checkable
class Preaggregating(Protocol):
    """A kind that combines rows into fewer ones before they go to the tasks."""

    def combine(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Combine rows into partials by key, pane and tick: `pane` in the place of `event_time`, no ids of tuples."""


@runtime_checkable
class TypedByColumns(Protocol):
    """A kind whose functions take columns of some types alone."""

    def type_problems(self) -> list[Problem]:
        """Return the functions that do not take the types of their columns."""


@runtime_checkable
class IncrementallyCorrectable(Protocol):
    """A kind whose streamed answers can be corrected by late tuples alone, without reading history."""

    def amend(self, answers: pa.Table, late: pa.Table) -> pa.RecordBatch:
        """Add to streamed answers the late tuples that their windows missed, where no tuple is a duplicate.

        Answers that do not follow from these alone are left out, and evaluated from history.

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
        """The feedback period in ms of arrival time: after each one there may be a new partition plan."""

    def next_plan(
        self, plan: Mapping[str, Any] | None, loads: Mapping[str, Floats], tasks: int
    ) -> Mapping[str, Any] | None:
        """Make the partition plan of the next feedback period, as JSON values.

        Parameters
        ----------
        plan : mapping or None
            The plan in force; None where there was none yet.
        loads : dict of ndarray, shape (m,)
            What the steps of all tasks measured in the period, summed by element of the partition and by `task`, which
            measured it.
        tasks : int
            The number of tasks.

        Returns
        -------
        mapping or None
            The plan in force where it is to stay; None where no plan is needed.
        """


@runtime_checkable
class TaskOwned(Protocol):
    """A kind of which several tasks may find the same answer, and one task owns it."""

    def for_task(self, task_slot: TaskSlot) -> Self:
        """The kind whose steps give the answers that belong to one task, in a batch."""


def for_task(kind: WindowedKind, task_slot: TaskSlot) -> WindowedKind:
    """Return the kind as it runs in a task; unchanged where no two tasks find the same answer."""
    own: Callable[[TaskSlot], WindowedKind] | None = getattr(kind, TaskOwned.for_task.__name__, None)
    return kind if own is None else own(task_slot)  # without `isinstance`, which costs 0.1 ms, once a task


def combined(kind: object, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return what the kind combines these rows into; the rows themselves where it does not."""
    return kind.combine(rows) if isinstance(kind, Preaggregating) else rows


def sample_of(kind: object, tuples: pa.RecordBatch, promises: Promises) -> pa.RecordBatch:
    """Return the kind's sample of these tuples for some promises; empty where it has none."""
    return kind.sample(tuples, promises) if isinstance(kind, Promising) else pa.RecordBatch.from_pylist([], SAMPLE)


def sample_schema(kind: object) -> pa.Schema:
    """Return the schema of the kind's sample."""
    return kind.error_model.sample if isinstance(kind, Promising) else SAMPLE


def tick_contents(kind: object, windows: Windows, counts: pa.Table, sample: pa.Table) -> TickContents:
    """Return the contents of ticks with the kind's error model, if it has one."""
    return TickContents(windows, counts, sample, kind.error_model if isinstance(kind, Promising) else None)
