"""What a kind of query is, and the registry: a new kind is a room beside `aggregate` and a line here."""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa

from tailrace.aggregate.kind import Aggregate
from tailrace.disorder.clock import Frontier
from tailrace.disorder.tick_statistics import ErrorModel
from tailrace.query.query import Query
from tailrace.topk.kind import TopK
from tailrace.windows.sliding import Sliding


class State(Protocol):
    """What a task of a kind keeps between batches."""

    def to_arrow(self) -> dict[str, pa.RecordBatch]: ...


class Kind(Protocol):
    """One frozen object for each declared query. It knows nothing of Spark, and Spark nothing of it."""

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
        """What it knows of the errors of its answers; None: policies that promise (error, risk) are not for it."""

    @property
    def answer(self) -> pa.Schema:
        """Columns of an answer: `key`, `window_start`, `window_end` (ms), the kind's own, `tuples`.

        An answer may be of several rows, numbered by a column `rank` from 1 on, which have `tuples` alike. A version of
        it is all of them.
        """

    def combine(self, tuples: pa.RecordBatch) -> pa.RecordBatch:
        """Partials by key, pane and tick: columns `key` (dictionary), `pane`, `tick`, `tuples`, and the kind's own."""

    def sample(self, tuples: pa.RecordBatch) -> pa.RecordBatch:
        """Partials of a few keys, as every task is told them: `disorder.seen.SAMPLE`; empty where `promise` is None."""

    def start(self) -> Any:
        """The state of a task that has seen nothing."""

    def restore(self, kept: dict[str, pa.RecordBatch]) -> Any:
        """The state that `to_arrow` gave."""

    def step(self, state: Any, partials: pa.Table, frontier: Frontier) -> tuple[Any, pa.RecordBatch, pa.RecordBatch]:
        """`evaluate` made incremental: the new state, the answers that became due, the late tuples."""

    def evaluate(self, content: pa.RecordBatch) -> pa.RecordBatch:
        """The answers of all windows over a given content."""

    def amend(self, answers: pa.Table, late: pa.Table) -> pa.RecordBatch:
        """What streamed answers are with the late tuples that their windows missed, where no tuple is a repeat.

        Windows that can't be told by these alone are left out, and evaluated anew from history: for some kinds all.

        Parameters
        ----------
        answers : Table
            Of windows, each once.
        late : Table
            `key`, `window_start`, `window_end`, `tuples` and `total` of each late row, for every window that it missed.
        """

    def errors(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """`key`, `window_start`, `window_end`, `error` of every exactly answered window: 0 where it is right, 1 where
        the approximate answer is missing, more where it is worse than that."""

    def quality(self, approximate: pa.Table, exact: pa.Table) -> float:
        """How near approximate answers are to the exact ones, in [0, 1]."""


def _aggregate(query: Query, key_type: pa.DataType, id_type: pa.DataType) -> Kind:
    declared = query.aggregate
    assert declared is not None
    columns = {"value": declared.column} if declared.column else {}
    return Aggregate(_sliding(query), declared.function, columns, key_type, declared.q, id_type)


def _topk(query: Query, key_type: pa.DataType, id_type: pa.DataType) -> Kind:
    declared = query.topk
    assert declared is not None
    descending, columns = declared.order == "descending", {"score": declared.score}
    return TopK(_sliding(query), declared.k, descending, columns, key_type, id_type, declared.method)


def _sliding(query: Query) -> Sliding:
    return Sliding(query.window.size_ms, query.window.slide_ms)


KINDS = {"aggregate": _aggregate, "topk": _topk}


def build(query: Query, key_type: pa.DataType = pa.string(), id_type: pa.DataType = pa.string()) -> Kind:  # noqa: B008
    """The running kind of a declared query, whose stream's key and id are of the given types: string or int64."""
    return KINDS[query.kind](query, key_type, id_type)
