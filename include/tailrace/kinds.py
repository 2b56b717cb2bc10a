"""The interface of a query kind and the registry: a new kind is a package beside `aggregate` and a line here."""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa

from tailrace.aggregate.kind import Aggregate
from tailrace.answers.model import AnswerModel
from tailrace.disorder.clock import Frontier
from tailrace.disorder.tick_statistics import ErrorModel
from tailrace.query.query import AggregateQuery, Query, TopKQuery, WindowedQuery
from tailrace.topk.kind import TopK
from tailrace.windows.sliding import Sliding


class State(Protocol):
    """The state that one task of a kind holds between batches."""

    def to_arrow(self) -> dict[str, pa.RecordBatch]: ...


class Kind(Protocol):
    """The operator of one declared query: a frozen object that does not depend on Spark, nor Spark's code on it."""

    @property
    def windows(self) -> Sliding: ...

    @property
    def columns(self) -> dict[str, str]: ...

    @property
    def key_type(self) -> pa.DataType: ...

    @property
    def id_type(self) -> pa.DataType: ...

    @property
    def error_model(self) -> ErrorModel | None:
        """The error model of the answers; None: policies that promise (error, risk) do not go with this kind."""

    @property
    def answers(self) -> AnswerModel:
        """How answers are identified, and which of them late tuples affect."""

    @property
    def answer(self) -> pa.Schema:
        """Schema of an answer: its identity (times in ms), the kind's own columns, `tuples`.

        An answer may have several rows, told apart by the row key of its model and alike in `tuples`. A version of the
        answer is all of them.
        """

    def combine(self, tuples: pa.RecordBatch) -> pa.RecordBatch:
        """Combine tuples into partials by key, pane and tick.

        Columns: `key` (dictionary), `pane`, `tick`, `tuples`, and the kind's own.
        """

    def sample(self, tuples: pa.RecordBatch) -> pa.RecordBatch:
        """Partials of a few keys, sent alike to every task.

        Of schema `disorder.tick_statistics.SAMPLE`; empty where `error_model` is None.
        """

    def start(self) -> Any:
        """The initial state of a task."""

    def restore(self, batches: dict[str, pa.RecordBatch]) -> Any:
        """Restore a state from the batches that its `to_arrow` returned."""

    def step(self, state: Any, partials: pa.Table, frontier: Frontier) -> tuple[Any, pa.RecordBatch, pa.RecordBatch]:
        """Advance a state to the frontier (the watermark): the incremental form of `evaluate`.

        Returns the new state, the answers that became due, and the late tuples.
        """

    def evaluate(self, content: pa.RecordBatch) -> pa.RecordBatch:
        """The answers of all windows over the given tuples."""

    def amend(self, answers: pa.Table, late: pa.Table) -> pa.RecordBatch:
        """Add to streamed answers the late tuples that their windows missed, where no tuple is a duplicate.

        Windows whose answers do not follow from these alone are left out, and evaluated anew from history; for some
        kinds that is every window.

        Parameters
        ----------
        answers : Table
            Streamed answers, each once.
        late : Table
            The identity, `tuples` and `total` of each late row, for every answer that it missed.
        """

    def errors(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """The error of every exact answer: its identity, and `error`.

        `error` is 0 where the approximate answer is right, 1 where it is missing, more where it is worse than missing.
        """

    def quality(self, approximate: pa.Table, exact: pa.Table) -> float:
        """The accuracy of approximate answers against the exact ones, in [0, 1]; higher is better."""


def _aggregate(query: Query, key_type: pa.DataType, id_type: pa.DataType) -> Kind:
    assert isinstance(query, AggregateQuery)
    section = query.aggregate
    columns = {"value": section.column} if section.column else {}
    return Aggregate(_sliding(query), section.function, columns, key_type, section.q, id_type)


def _topk(query: Query, key_type: pa.DataType, id_type: pa.DataType) -> Kind:
    assert isinstance(query, TopKQuery)
    section = query.topk
    descending, columns = section.order == "descending", {"score": section.score}
    return TopK(_sliding(query), section.k, descending, columns, key_type, id_type, section.method)


def _sliding(query: WindowedQuery) -> Sliding:
    return Sliding(query.window.size_ms, query.window.slide_ms)


KINDS = {"aggregate": _aggregate, "topk": _topk}


def build(query: Query, key_type: pa.DataType = pa.string(), id_type: pa.DataType = pa.string()) -> Kind:  # noqa: B008
    """Build the kind of a declared query, given the types of its stream's key and id: string or int64."""
    return KINDS[query.kind](query, key_type, id_type)
