"""The kind `emd_join`: pairs of histograms within a threshold of the Earth Mover's Distance (paper 000)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.emd_join.columns import KEY, columns_of, merged, with_derived
from tailrace.emd_join.methods import LOADS, SpreadingMethod
from tailrace.emd_join.search import Found, HistogramColumns, HistogramSearch
from tailrace.emd_join.search_cost import FILTER, SOLVE
from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.kind.column_use import of_side
from tailrace.kind.explanation import KindExplanation
from tailrace.kind.inputs import Input, Reject
from tailrace.kind.joined_pairs import JoinedPairs
from tailrace.operators.chunk import Chunk
from tailrace.operators.interval_join import Matches
from tailrace.partition.routes import Partition

_BINS_OF_A_ROW = 8  # doubles that are as large as a plain row


@dataclass(frozen=True, kw_only=True)
class EmdJoin(JoinedPairs):
    """The similarity join of two histogram streams: |left_time − right_time| ≤ reach and EMD ≤ threshold + 1e-9.

    The left stream is the paper's R, each tuple of which goes to one task; the right stream is S, which goes to all.

    Attributes
    ----------
    bins : int
        The number of bins of a histogram.
    search : HistogramSearch
        The search for pairs in columns: in closed form on a line, or by a chain of filters.
    method : SpreadingMethod
        The method that spreads R over tasks.
    explanation : Explanation
    distances : bool
        Whether answers include the distance.
    """

    bins: int
    search: HistogramSearch
    method: SpreadingMethod
    explanation: KindExplanation
    distances: bool = True

    sort_key: ClassVar[str | None] = KEY

    @property
    def values(self) -> dict[str, pa.DataType]:
        return {"distance": pa.float64()} | super().values

    @property
    def row_weight(self) -> int:
        return max(self.bins // _BINS_OF_A_ROW, 1)

    @property
    def inputs(self) -> tuple[Input, ...]:
        check = HistogramCheck("histogram", self.bins)
        sides = enumerate(self.column_types)
        return tuple(Input(of_side(self.uses, side), check, column_types=types) for side, types in sides)

    @property
    def partition(self) -> Partition:
        return self.method.partition

    @property
    def feedback_ms(self) -> int:
        return self.method.feedback_ms

    def next_plan(
        self, plan: Mapping[str, Any] | None, loads: Mapping[str, Floats], tasks: int
    ) -> Mapping[str, Any] | None:
        return self.method.next_plan(plan, loads, tasks)

    def prepare(self, tuples: pa.RecordBatch, side: int = 0) -> pa.RecordBatch:
        rows = tuples.select(["id", *self.times, "tick", *self.inputs[side].carried])
        rows = rows.append_column("tuples", pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows))
        mass = shares(tuples.column("histogram"), self.bins)
        return with_derived(rows, {**self.search.derived(mass), **self.method.derived(mass)})

    def match(self, left: Sequence[Chunk], right: Sequence[Chunk], new: int) -> Matches:
        """Find the similar pairs; rows of the new side are the queries."""
        sides = [[columns_of(chunk.rows) for chunk in chunks] for chunks in (left, right)]
        swapped = new == 1
        (queries,), targets = (sides[1], sides[0]) if swapped else sides
        result = self._search(queries, targets)
        of_left, of_right = (result.target, result.query) if swapped else (result.query, result.target)
        exact, cost = (
            (result.solved_by_target, result.cost_by_target)
            if swapped
            else (result.solved_by_query, result.cost_by_query)
        )
        distance = result.distance if self.distances else np.full(len(of_left), np.nan)
        loads = self._loads(sides[0], exact, cost, not swapped)
        return Matches(of_left, of_right, {"distance": distance}, loads, result.counts)

    def _search(self, queries: HistogramColumns, targets: Sequence[HistogramColumns]) -> Found:
        """Search all targets, whose rows are numbered consecutively across chunks."""
        results = list(self._parts(queries, targets))
        count = sum(map(len, targets))
        by_query, by_target = np.zeros(len(queries), np.int64), np.zeros(count, np.int64)
        cost_by_query, cost_by_target = np.zeros((len(queries), 2)), np.zeros((count, 2))
        for each, rows in results:
            by_query += each.solved_by_query
            by_target[rows] += each.solved_by_target
            cost_by_query += each.cost_by_query
            cost_by_target[rows] += each.cost_by_target
        query, target, distance = (
            np.concatenate(parts)
            for parts in zip(
                (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)),
                *((each.query, rows[each.target], each.distance) for each, rows in results),
                strict=True,
            )
        )
        counts = sum((Counter(each.counts) for each, _ in results), Counter[str]())
        return Found(query, target, distance, by_query, by_target, cost_by_query, cost_by_target, counts)

    def _parts(self, queries: HistogramColumns, targets: Sequence[HistogramColumns]) -> Iterator[tuple[Found, Ints]]:
        """Yield the results by part of the targets, with the index of each of the part's rows among all targets."""
        parts = [part for part in targets if len(part)]
        if not len(queries) or not parts:
            return
        if not self.search.by_part:
            all_targets, rows = merged(parts)
            yield self.search.find(queries, all_targets, self.reach_ms), rows
            return
        first = 0
        for part in parts:
            yield self.search.find(queries, part, self.reach_ms), np.arange(first, first + len(part))
            first += len(part)

    def _loads(self, left: Sequence[HistogramColumns], exact: Ints, cost: Floats, are_new: bool) -> dict[str, Floats]:
        """Return the loads by span of R: exact distances, tuples if `are_new`, and both terms of the cost.

        See `SpreadingMethod.next_plan`.
        """
        spans = np.concatenate([np.zeros(0, np.int64), *(self.method.spans(part) for part in left)])
        some = (cost.any(axis=1) & self.method.balances_cost) | (exact > 0) | are_new
        span, index = np.unique(spans[some], return_inverse=True)
        tuples = np.full(len(index), float(are_new))
        measured = exact[some].astype(float), tuples, cost[some, FILTER], cost[some, SOLVE]
        sums = (np.bincount(index, weights, len(span)).astype(np.float64) for weights in measured)
        return {"span": span.astype(np.float64), **dict(zip(LOADS, sums, strict=True))}


Histograms = NDArray[np.float64]
"""The shares of the n bins of m histograms, shape (m, n): not negative, of sum 1."""


@dataclass(frozen=True)
class HistogramCheck:
    """The check of a stream's histograms (`kind.inputs.RowCheck`); invalid ones are quarantined.

    Attributes
    ----------
    name : str
        The column, by its name in the tuple.
    bins : int
        The number of bins that each must have.
    """

    name: str
    bins: int

    def __call__(self, values: Mapping[str, pa.Array]) -> Iterator[Reject]:
        lists = values[self.name]
        lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0))
        count = len(lists)
        yield lengths != self.bins, f"the histogram has not {self.bins} bins"
        flat = pc.list_flatten(lists)
        parent = np.repeat(np.arange(count), lengths)
        mass = np.asarray(flat.fill_null(np.nan), np.float64)
        yield _any(parent, ~np.isfinite(mass), count), "a bin of the histogram is null, NaN or infinite"
        yield _any(parent, mass < 0, count), "a bin of the histogram is negative"
        sums = np.bincount(parent, np.where(np.isfinite(mass), mass, 0.0), count)
        yield sums <= 0, "the histogram has no mass"
        yield ~np.isfinite(sums), "the mass of the histogram is more than doubles can add up"


def shares(lists: pa.Array, bins: int) -> Histograms:
    """Return the share of each bin: masses divided by their sum; shape (m, bins)."""
    mass = np.asarray(pc.list_flatten(lists), np.float64).reshape(-1, bins)
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))


def _any(parent: NDArray[np.int64], is_bad: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
    """Test which of `count` lists have a bad element."""
    has_any = np.zeros(count, bool)
    has_any[parent[is_bad]] = True
    return has_any
