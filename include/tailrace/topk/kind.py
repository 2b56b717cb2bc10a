"""The top-k kind: one frozen object for each declared top-k query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.answers.identity import Identity
from tailrace.disorder.clock import Frontier
from tailrace.ground.arrow.columns import single_batch
from tailrace.ground.arrow.matching import first_indices, number_rows
from tailrace.kind.explanation import KindExplanation
from tailrace.kind.inputs import ColumnTypes, Input
from tailrace.kind.keyed_windows import KeyedWindows
from tailrace.kind.step import Step
from tailrace.operators.chunk import Chunks
from tailrace.topk.best import Best
from tailrace.topk.methods import METHODS, RankingMethod
from tailrace.topk.partials import combine
from tailrace.topk.section import PREFIX
from tailrace.topk.selected import SelectedColumns

_REASONS = {
    "adaptive": "candidates that k others dominate are dropped, before tuples go to the tasks and after",
    "list": "the paper's own method, as declared: the lists C and D, one tuple at a time",
}


@dataclass(frozen=True, kw_only=True)
class TopK(KeyedWindows):
    """The k tuples with the best scores in the sliding windows of each key; among equal scores, smaller ids win.

    Attributes
    ----------
    score_type : DataType
    selected : dict
        The types of the tuple's further columns in answers, by name.
    """

    k: int
    descending: bool
    method: str = "adaptive"
    selected: Mapping[str, pa.DataType] = field(default_factory=dict)
    score_type: pa.DataType = pa.float64()  # noqa: RUF009 (frozen)

    row_key = ("rank",)

    @cached_property
    def summary(self) -> Best:
        return Best(self.k, self.descending, self.id_type, SelectedColumns(self.selected), self.score_type)

    @property
    def inputs(self) -> tuple[Input, ...]:
        dtypes = {"score": self.score_type} | {PREFIX + name: dtype for name, dtype in self.selected.items()}
        return (Input(self.uses, column_types=ColumnTypes(self.key_type, self.id_type, dtypes)),)

    @property
    def implementation(self) -> RankingMethod:
        """The implementation of the query's method."""
        return METHODS[self.method](self.windows, self.summary, self.key_type)

    @property
    def values(self) -> dict[str, pa.DataType]:
        return {"rank": pa.int64(), "id": self.id_type, "score": self.score_type, **self.selected}

    @property
    def explanation(self) -> KindExplanation:
        reason = _REASONS.get(self.method, "a baseline, as declared")
        return KindExplanation(
            "by the hash of the key", f"{self.method}: the {self.k} best of {self.windows.description}", reason
        )

    def combine(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return combine(self.windows, self.summary, rows, across=not self.implementation.moves)

    def start(self) -> Any:
        return self.implementation.start()

    def restore(self, batches: dict[str, pa.RecordBatch], chunks: Chunks) -> Any:
        return self.implementation.restore(batches)

    def step(self, state: Any, arrived: tuple[pa.Table, ...], frontier: Frontier) -> Step:
        """Advance a state to the frontier (the watermark), and rank the windows that closed."""
        return self._step(*self.implementation.step(state, arrived[0], frontier), frontier)

    def errors(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """Return the share of the correct top-k that each approximate answer lacks."""
        return errors(self.answers.identity, approximate, exact)

    def quality(self, approximate: pa.Table, exact: pa.Table) -> float:
        """Return the hit rate: the mean share of the correct top-k in the approximate answers.

        The mean is over the exact answers.
        """
        error = np.asarray(errors(self.answers.identity, approximate, exact).column("error"))
        return float(1 - error.mean()) if len(error) else 1.0

    def tuple_ids(self, answers: pa.Table) -> pa.ChunkedArray:
        return answers.column("id")

    def _value(self, rows: pa.RecordBatch, name: str, dtype: pa.DataType) -> pa.Array:
        if name in self.selected:
            return self.summary.selected.restore(rows, name)
        if name == "score":
            return self.summary.scores.restore(rows.column(name))
        return super()._value(rows, name, dtype)


def errors(identity: Identity, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
    """Return for every window with an exact answer the share of the correct top-k that the approximate answer lacks.

    Returns
    -------
    RecordBatch
        The identity, and `error` in [0, 1], which is 1 if the approximate answer is missing. An id that occurs
        repeatedly in a ranking counts once.
    """
    member, near_member = number_rows([exact, approximate], (*identity.determining, "id"))
    is_found = np.zeros(1 + max(member.max(initial=-1), near_member.max(initial=-1)), bool)
    is_found[near_member] = True
    (answer,) = identity.number(exact)
    once = first_indices(member)
    hits, size = np.bincount(answer[once], is_found[member[once]]), np.bincount(answer[once])
    first = first_indices(answer)
    error = 1 - hits[answer[first]] / size[answer[first]]
    rows = exact.select(identity.columns).take(pa.array(first))
    return single_batch(rows.append_column("error", pa.array(error)))
