"""The whole loop of EMD-DDSJ in process, with queues: for more tasks than a machine has cores.

The tasks run one after the other on the local runner. The time of a task for a batch is measured, or computed from its
exact distances (eq. 6). A task that takes longer than the batch lasts falls behind, and the rest waits in its queue.
The tuples that wait at the end of a feedback period give V_est (eq. 7), by which the next plan gives the task less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from bench.emd.queues import Queues, Work
from bench.emd.simulated import SimulatedRun
from bench.in_process import TimedTask, batches_of
from bench.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from tailrace.emd_join.kind import EmdJoin
from tailrace.emd_join.methods import LOADS, EmdDdsj
from tailrace.emd_join.search import HistogramSearch
from tailrace.engine.feedback import Feedback
from tailrace.ground.arrow.columns import Floats
from tailrace.ground.facts import Facts
from tailrace.operators.chunk import Chunk
from tailrace.operators.interval_join import Matches
from tailrace.partition import feedback_balancing
from tailrace.query.query import Query

COST = ("filter_ms", "solve_ms")
"""The loads that EMD-DDSJ balances: both terms of eq. (6)."""

SOLVES = ("load",)
"""What the paper balances: the number of exact distances."""


@dataclass(frozen=True)
class Costs:
    """The time of a task's work, in ms: for an exact distance, and for filtering one tuple of R (eq. 6)."""

    exact_ms: float
    filter_ms: float


@dataclass(frozen=True)
class EmdDdsjByTerms(EmdDdsj):
    """EMD-DDSJ with plans that balance the sum of some loads of a span, in place of its cost."""

    terms: tuple[str, ...]

    def next_plan(
        self, plan: Mapping[str, Any] | None, loads: Mapping[str, Floats], tasks: int
    ) -> Mapping[str, Any] | None:
        total = np.sum([loads[name] for name in self.terms], axis=0)
        return super().next_plan(plan, {**loads, **dict(zip(COST, (total, 0 * total), strict=True))}, tasks)


@dataclass(frozen=True)
class QueuedEmdDdsj(EmdDdsj):
    """EMD-DDSJ with plans that consider the tasks' queues: processed and waiting work."""

    queues: Queues

    def next_plan(
        self, plan: Mapping[str, Any] | None, loads: Mapping[str, Floats], tasks: int
    ) -> Mapping[str, Any] | None:
        period = self.queues.take_load()
        return feedback_balancing.next_plan(plan, period.span, period.load, period.estimated, tasks)


class QueuedFeedback(Feedback):
    """The feedback of a run, which puts each batch into the queues before it makes a plan.

    Attributes
    ----------
    batches : list of (exact, tuples, work_ms, solve_ms, latency_ms)
        As in `SimulatedRun`, of each batch.
    """

    def __init__(self, kind: EmdJoin, tasks: list[TimedTask], queues: Queues, costs: Costs | None) -> None:
        super().__init__(kind, len(tasks))
        self.batches: list[tuple[Floats, ...]] = []
        self._timed, self._queues, self._costs = tasks, queues, costs

    def observe(self, metrics: Iterable[Mapping[str, Any]], facts: Facts) -> None:
        rows = list(metrics)
        loads = [loads_of(row) for row in rows]
        work = [self._work(each, task) for each, task in zip(loads, self._timed, strict=True)]
        exact, solve_ms = (np.array([each[name].sum() for each in loads]) for name in ("load", "solve_ms"))
        tuples, work_ms = (np.array([getattr(each, name) for each in work]) for name in ("tuples", "work_ms"))
        self.batches.append((exact, tuples, work_ms, solve_ms, self._queues.add(work)))
        super().observe(rows, facts)

    def _work(self, loads: Mapping[str, Floats], task: TimedTask) -> Work:
        tuples = float(loads["tuples"].sum())
        if self._costs is None:
            cost = np.sum([loads[name] for name in COST], axis=0)
            return Work(tuples, 1000 * task.step_s[-1], loads["span"], cost)
        cost = loads["load"] * self._costs.exact_ms + loads["tuples"] * self._costs.filter_ms
        return Work(tuples, float(cost.sum()), loads["span"], cost)


def loads_of(row: Mapping[str, Any]) -> dict[str, Floats]:
    """Return the loads of a task in a batch, by its row of the table `metrics`; they may be empty."""
    measured = {name: np.asarray(values, np.float64) for name, values in dict(row["loads"] or {}).items()}
    return {name: np.zeros(0) for name in ("span", *LOADS)} | measured


@dataclass(frozen=True, kw_only=True)
class DirectedJoin(EmdJoin):
    """An EMD join that also stores the counts of its searches, with the side whose tuples were the queries."""

    searches: list[tuple[int, Mapping[str, int]]] = field(default_factory=list)

    @classmethod
    def from_kind(cls, kind: EmdJoin) -> Self:
        return cls(**{each.name: getattr(kind, each.name) for each in fields(EmdJoin)})

    def match(self, left: Sequence[Chunk], right: Sequence[Chunk], new: int) -> Matches:
        matches = super().match(left, right, new)
        self.searches.append((new, matches.counts))
        return matches

    def take(self) -> tuple[Counter[str], Counter[str]]:
        """Return the counts since the last time by the side of the queries, and forget them."""
        by_left, by_right = (
            sum((Counter(counts) for side, counts in self.searches if side == each), Counter[str]()) for each in (0, 1)
        )
        self.searches.clear()
        return by_left, by_right


def simulate(
    query: Query,
    streams: Mapping[str, pa.Table],
    tasks: int,
    batch_ms: int,
    costs: Costs | None = None,
    regards_queues: bool = False,
    terms: tuple[str, ...] = COST,
    search: HistogramSearch | None = None,
    feedback_ms: int | None = None,
) -> SimulatedRun:
    """Run a join over two streams in order of arrival, batch by batch.

    Parameters
    ----------
    batch_ms : int
        The length of a batch, in arrival time; a multiple of the query's tick.
    costs : Costs, optional
        The costs from which a task's work is computed; by default its CPU time is measured.
    regards_queues : bool
        Whether the plans of EMD-DDSJ consider waiting work; otherwise V_est is 0, as in the product, where each batch
        is finished before the next plan.
    terms : tuple of str
        The loads whose sum the plans of EMD-DDSJ balance; by default both terms of eq. (6), as in the product.
    search : HistogramSearch, optional
        The search in place of the query's.
    feedback_ms : int, optional
        The feedback period of any method, in place of the query's.
    """
    formats = {name: MemoryFormat({name: table}) for name, table in streams.items()}
    pipeline = pipeline_in_memory(query, formats)
    kind, queues = pipeline.kind, Queues(tasks, batch_ms)
    assert isinstance(kind, EmdJoin)
    kind = DirectedJoin.from_kind(kind if search is None else replace(kind, search=search))
    method = kind.method if feedback_ms is None else replace(kind.method, feedback_ms=feedback_ms)
    if isinstance(method, EmdDdsj):
        placed = method.width, method.feedback_ms
        method = QueuedEmdDdsj(*placed, queues) if regards_queues else EmdDdsjByTerms(*placed, terms)
    kind = replace(kind, method=method)
    engine = LocalEngine(replace(pipeline, kind=kind, tasks=tasks), restarts=False)
    timed = [TimedTask.from_task(task) for task in engine.tasks]
    engine.tasks, engine.feedback = list(timed), QueuedFeedback(kind, timed, queues, costs)
    counts, pairs, plans = list[Counter[str]](), list[int](), list[int]()
    directions = list[tuple[Counter[str], Counter[str]]]()
    for segments in batches_of(formats, streams, batch_ms):
        rows = engine.batch(query.policy, segments, complete=True)
        of_tasks = (Counter(dict(row or {})) for row in rows["metrics"].column("counts").to_pylist())
        counts.append(sum(of_tasks, Counter[str]()))
        directions.append(kind.take())
        pairs.append(rows["results"].num_rows if "results" in rows else 0)
        plans.append(max((fact.version for fact in engine.facts if fact.about == "plan"), default=0))
    exact, tuples, work_ms, solve_ms, latency_ms = map(np.array, zip(*engine.feedback.batches, strict=True))
    work = exact, tuples, work_ms, solve_ms, latency_ms
    return SimulatedRun(batch_ms, *work, counts, np.array(pairs), np.array(plans), directions)
