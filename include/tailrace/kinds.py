"""What a kind of query is, and the registry: a new kind is a room beside `aggregate` and a line here."""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa

from tailrace.aggregate.kind import Aggregate
from tailrace.disorder.clock import Frontier
from tailrace.query import Query
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
    def answer(self) -> pa.Schema:
        """Columns of an answer: `key`, `window_start`, `window_end` (ms), the kind's own, `tuples`."""

    def combine(self, tuples: pa.RecordBatch) -> pa.RecordBatch:
        """Partials by key, pane and tick: columns `key` (dictionary), `pane`, `tick`, `tuples`, and the kind's own."""

    def start(self) -> Any:
        """The state of a task that has seen nothing."""

    def restore(self, kept: dict[str, pa.RecordBatch]) -> Any:
        """The state that `to_arrow` gave."""

    def step(self, state: Any, partials: pa.Table, frontier: Frontier) -> tuple[Any, pa.RecordBatch, pa.RecordBatch]:
        """`evaluate` made incremental: the new state, the answers that became due, the late tuples."""

    def evaluate(self, content: pa.RecordBatch) -> pa.RecordBatch:
        """The answers of all windows over a given content."""

    def quality(self, approximate: pa.Table, exact: pa.Table) -> float:
        """How near approximate answers are to the exact ones, in [0, 1]."""


def _aggregate(query: Query, key_type: pa.DataType) -> Kind:
    windows = Sliding(query.window.size_ms, query.window.slide_ms)
    column = query.aggregate.column
    return Aggregate(windows, query.aggregate.function, {"value": column} if column else {}, key_type)


KINDS = {"aggregate": _aggregate}


def build(query: Query, key_type: pa.DataType) -> Kind:
    """The running kind of a declared query, whose stream's key is of the given type: string or int64."""
    return KINDS[query.kind](query, key_type)
