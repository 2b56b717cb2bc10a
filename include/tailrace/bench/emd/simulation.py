"""The whole loop of EMD-DDSJ in process, with queues: for more tasks than a machine has cores.

The tasks run one after the other on the local runner. What a batch takes a task is measured, or computed from its exact
distances (eq. 6). A task that takes longer than the batch lasts falls behind, and the rest waits in its queue: from the
tuples that wait at the end of a feedback period follows V_est (eq. 7), by which the next plan gives the task less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.bench.emd.queues import Queues, Work
from tailrace.bench.emd.simulated import SimulatedRun
from tailrace.bench.in_process import TimedTask, batches_of
from tailrace.emd_join.kind import EmdJoin
from tailrace.emd_join.methods import EmdDdsj
from tailrace.engine.feedback import Feedback
from tailrace.engine.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from tailrace.ground.columns import Floats
from tailrace.ground.facts import Facts
from tailrace.partition import feedback_balancing
from tailrace.query.query import Query


@dataclass(frozen=True)
class Costs:
    """What work takes a task, in ms: an exact distance, and the filters of one tuple of R (eq. 6)."""

    exact_ms: float
    filter_ms: float


@dataclass(frozen=True)
class QueuedEmdDdsj(EmdDdsj):
    """EMD-DDSJ whose plans regard the queues of the tasks: what was processed, and what waits."""

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
    batches : list of (exact, tuples, work_ms, latency_ms)
        As in `SimulatedRun`, of each batch.
    """

    def __init__(self, kind: EmdJoin, tasks: list[TimedTask], queues: Queues, costs: Costs | None) -> None:
        super().__init__(kind, len(tasks))
        self.batches: list[tuple[Floats, Floats, Floats, Floats]] = []
        self._timed, self._queues, self._costs = tasks, queues, costs

    def observe(self, metrics: Iterable[Mapping[str, Any]], facts: Facts) -> None:
        rows = list(metrics)
        work = [self._work(row, task) for row, task in zip(rows, self._timed, strict=True)]
        exact, tuples, work_ms = (
            np.array(column, float)
            for column in zip(*((each.load.sum(), each.tuples, each.work_ms) for each in work), strict=True)
        )
        self.batches.append((exact, tuples, work_ms, self._queues.add(work)))
        super().observe(rows, facts)

    def _work(self, row: Mapping[str, Any], task: TimedTask) -> Work:
        loads = {name: np.asarray(values, np.float64) for name, values in dict(row["loads"] or {}).items()}
        span, load, tuples = (loads.get(name, np.zeros(0)) for name in ("span", "load", "tuples"))
        if self._costs is None:
            return Work(float(tuples.sum()), 1000 * task.step_s[-1], span, load)
        work_ms = load.sum() * self._costs.exact_ms + tuples.sum() * self._costs.filter_ms
        return Work(float(tuples.sum()), float(work_ms), span, load)


def simulate(
    query: Query,
    streams: Mapping[str, pa.Table],
    tasks: int,
    batch_ms: int,
    costs: Costs | None = None,
    regards_queues: bool = True,
) -> SimulatedRun:
    """Run a join over two streams in order of arrival, batch by batch.

    Parameters
    ----------
    batch_ms : int
        The length of a batch, in arrival time; a multiple of the query's tick.
    costs : Costs, optional
        By which a task's work is computed; by default its CPU time is measured.
    regards_queues : bool
        Whether the plans of EMD-DDSJ regard what waits; else V_est is 0, as if each batch were finished.
    """
    formats = {name: MemoryFormat({name: table}) for name, table in streams.items()}
    pipeline = pipeline_in_memory(query, formats)
    kind, queues = pipeline.kind, Queues(tasks, batch_ms)
    assert isinstance(kind, EmdJoin)
    if isinstance(kind.method, EmdDdsj) and regards_queues:
        kind = replace(kind, method=QueuedEmdDdsj(kind.method.width, kind.method.feedback_ms, queues))
    engine = LocalEngine(replace(pipeline, kind=kind, tasks=tasks), restarts=False)
    timed = [TimedTask.of(task) for task in engine.tasks]
    engine.tasks, engine.feedback = list(timed), QueuedFeedback(kind, timed, queues, costs)
    counts, pairs, plans = list[Counter[str]](), list[int](), list[int]()
    for segments in batches_of(formats, streams, batch_ms):
        rows = engine.batch(query.policy, segments, complete=True)
        of_tasks = (Counter(dict(row or {})) for row in rows["metrics"].column("counts").to_pylist())
        counts.append(sum(of_tasks, Counter[str]()))
        pairs.append(rows["results"].num_rows if "results" in rows else 0)
        plans.append(max((fact.version for fact in engine.facts if fact.about == "plan"), default=0))
    exact, tuples, work_ms, latency_ms = (np.array(column) for column in zip(*engine.feedback.batches, strict=True))
    return SimulatedRun(batch_ms, exact, tuples, work_ms, latency_ms, counts, np.array(pairs), np.array(plans))
