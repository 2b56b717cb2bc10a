"""The protocol of a query kind: the operator of one declared query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import pyarrow as pa

from tailrace.answers.model import AnswerModel
from tailrace.disorder.clock import Frontier
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.files.object_path import Location
from tailrace.kind.explanation import KindExplanation
from tailrace.kind.inputs import Input
from tailrace.kind.step import Step
from tailrace.operators.chunk import Chunks
from tailrace.partition.routes import Partition
from tailrace.windows.windows import Windows


class State(Protocol):
    """The state of one task of a kind between batches."""

    def to_arrow(self) -> dict[str, pa.RecordBatch]: ...


class Kind(Protocol):
    """The operator of one declared query: a frozen object that is independent of Spark.

    It is a `WindowedKind` or an `Enrichment`.
    """

    @property
    def inputs(self) -> tuple[Input, ...]:
        """One input for each of its streams; a join of two streams has `left` and `right`."""

    @property
    def answers(self) -> AnswerModel:
        """The answer model: identifies answers, and finds those that late tuples affect."""

    @property
    def answer(self) -> pa.Schema:
        """Schema of an answer: its identity (times in ms), the kind's own columns, `tuples`.

        An answer may have several rows, which differ in the model's row key, and have the same `tuples`. A version of
        the answer comprises all of them.
        """

    @property
    def late(self) -> pa.Schema:
        """The kind's own columns of a late row, which determine the answers that the row missed."""

    @property
    def row_weight(self) -> int:
        """The size of a prepared row, in multiples of a plain row of about 64 bytes; bounds the rows read at once."""

    @property
    def explanation(self) -> KindExplanation:
        """The explanation of the query's execution, for people."""

    def evaluate(self, *content: pa.RecordBatch) -> pa.RecordBatch:
        """Return all answers over the given tuples of each input."""

    def errors(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """Return the error of every exact answer: its identity, and `error`.

        `error` is 0 if the approximate answer is right, 1 if it is missing, and more if it is worse than missing.
        """

    def quality(self, approximate: pa.Table, exact: pa.Table) -> float:
        """Return the accuracy of approximate answers against the exact ones, in [0, 1]; higher is better."""


class WindowedKind(Kind, Protocol):
    """A kind whose answers wait in tasks until the frontier (the watermark) has passed their windows."""

    @property
    def windows(self) -> Windows:
        """The sliding windows.

        A kind without windows returns windows as long as its reach, by which coverage is counted.
        """

    @property
    def partition(self) -> Partition:
        """The partitioning, which routes rows to tasks."""

    def prepare(self, tuples: pa.RecordBatch, side: int = 0) -> pa.RecordBatch:
        """Convert each tuple of an input to a row, in order, with the columns `tick`, `event_time` and the kind's own.

        A kind that does not combine rows adds the column `tuples`, the number of tuples that a row stands for: 1.
        """

    def start(self) -> Any:
        """Return the initial state of a task."""

    def restore(self, batches: dict[str, pa.RecordBatch], chunks: Chunks) -> Any:
        """Restore a state from the batches that its `to_arrow` returned, and from its chunks, if any."""

    def step(self, state: Any, arrived: tuple[pa.Table, ...], frontier: Frontier) -> Step:
        """Advance a state to the frontier (the watermark): the incremental form of `evaluate`.

        `arrived` has the prepared rows of each input that came in the frontier's ticks and were routed to this task.
        """


class TableAnswers(NamedTuple):
    """The answers to tuples from a dimension table.

    Attributes
    ----------
    answers : RecordBatch
        Of schema `Kind.answer`; n rows.
    row : ndarray, shape (n,)
        The index of each answer's tuple.
    counts : dict
        As in `kind.step.Step`.
    """

    answers: pa.RecordBatch
    row: Ints
    counts: Mapping[str, int] = {}


@runtime_checkable
class Enrichment(Protocol):
    """A kind that joins its stream with a dimension table: it answers each tuple as it comes, without tasks."""

    def answers_of(self, tuples: pa.RecordBatch, version: Location) -> TableAnswers:
        """Answer tuples from a version of the table, an immutable file."""


def windowed(kind: Kind) -> WindowedKind:
    """Return a kind that must be windowed, typed as such."""
    assert not isinstance(kind, Enrichment), "the answers of an enrichment wait for nothing"
    return cast(WindowedKind, kind)
