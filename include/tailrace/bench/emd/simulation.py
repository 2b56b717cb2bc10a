"""The whole loop of EMD-DDSJ in process, with queues: for more tasks than a machine has cores.

The tasks run one after the other on the local runner. What a batch takes a task is measured, or computed from its exact
distances (eq. 6). A task that takes longer than the batch lasts falls behind, and the rest waits in its queue: from the
tuples that wait at the end of a feedback period follows V_est (eq. 7), by which the next plan gives the task less.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.bench.emd.queues import Costs, Queues
from tailrace.emd_join.kind import EmdJoin
from tailrace.emd_join.methods import EmdDdsj
from tailrace.engine.local import LocalEngine, MemoryFormat, stage_in_memory
from tailrace.engine.task import Message, Task, TaskBatch, TaskState
from tailrace.generators.delays import epoch_ms
from tailrace.ground.columns import Floats
from tailrace.partition import feedback_balancing
from tailrace.partition.feedback_balancing import load_imbalance
from tailrace.query.query import Query
from tailrace.sources.segments import Segment


@dataclass(frozen=True)
class QueuedEmdDdsj(EmdDdsj):
    """EMD-DDSJ whose plans regard the queues of the tasks, as they were before the last batch of the period."""

    queues: Queues

    def next_plan(
        self, plan: Mapping[str, Any] | None, loads: Mapping[str, Floats], tasks: int
    ) -> Mapping[str, Any] | None:
        spans = loads["span"].astype(np.int64)
        return feedback_balancing.next_plan(plan, spans, loads["load"], self.queues.take_estimate(), tasks)


@dataclass(frozen=True)
class TimedTask(Task):
    """A task that measures the CPU time of its steps, in s."""

    step_s: list[float] = field(default_factory=list)

    def step(self, before: TaskState, messages: Iterable[Message]) -> TaskBatch:
        start = time.process_time()
        batch = super().step(before, messages)
        self.step_s.append(time.process_time() - start)
        return batch


@dataclass(frozen=True)
class Simulated:
    """A simulated run of b batches over k tasks.

    Attributes
    ----------
    exact, tuples, work_ms : ndarray, shape (b, k)
        The exact distances of each task, the tuples of R that came to it, and the work that this took.
    latency_ms : ndarray, shape (b, k)
        The time from the end of a batch to the task's end with it.
    counts : dict
        The pairs that each filter rejected or accepted, over the run.
    pairs : int
        The number of answers.
    plans : int
        The number of plans that were stamped.
    """

    exact: Floats
    tuples: Floats
    work_ms: Floats
    latency_ms: Floats
    counts: Mapping[str, int]
    pairs: int
    plans: int

    @property
    def imbalance(self) -> float:
        """(max − mean) / mean of the tasks' exact distances over the run (section 6.2)."""
        return load_imbalance(self.exact.sum(axis=0))

    def imbalances(self, batches: int) -> list[float]:
        """The imbalance of each stretch of so many batches."""
        return [load_imbalance(self.exact[at : at + batches].sum(axis=0)) for at in range(0, len(self.exact), batches)]

    @property
    def throughput(self) -> float:
        """The tuples of R a second that the busiest task keeps up with."""
        return float(self.tuples.sum() / self.work_ms.sum(axis=0).max() * 1000)

    @property
    def mean_latency_ms(self) -> float:
        """The mean over the tuples of R of the time from the end of their batch to the task's end with it."""
        return float((self.latency_ms * self.tuples).sum() / max(self.tuples.sum(), 1))


def simulate(
    query: Query, streams: Mapping[str, pa.Table], tasks: int, batch_ms: int, costs: Costs | None = None
) -> Simulated:
    """Run a join over two streams in order of arrival, batch by batch.

    Parameters
    ----------
    batch_ms : int
        The length of a batch, in arrival time; a multiple of the query's tick.
    costs : Costs, optional
        By which a task's work is computed; by default its CPU time is measured.
    """
    queues = Queues.empty(tasks)
    formats = {name: MemoryFormat({name: table}) for name, table in streams.items()}
    stage = stage_in_memory(query, formats)
    kind = stage.kind
    assert isinstance(kind, EmdJoin)
    if isinstance(kind.method, EmdDdsj):
        kind = replace(kind, method=QueuedEmdDdsj(kind.method.width, kind.method.feedback_ms, queues))
    engine = LocalEngine(replace(stage, kind=kind, tasks=tasks), restarts=False)
    timed = [TimedTask(*(getattr(task, name) for name in Task.__dataclass_fields__)) for task in engine.tasks]
    engine.tasks = list(timed)
    batches, counts, pairs = [], Counter[str](), 0
    for segments in _batches(formats, streams, batch_ms):
        rows = engine.batch(query.policy, segments, complete=True)
        metrics = rows["metrics"].sort_by("task").to_pylist()
        loads = [dict(row["loads"] or {"load": [], "tuples": []}) for row in metrics]
        exact, tuples = (np.array([sum(load[name]) for load in loads], float) for name in ("load", "tuples"))
        counts += sum((Counter(dict(row["counts"] or {})) for row in metrics), Counter[str]())
        pairs += rows["results"].num_rows if "results" in rows else 0
        if costs is None:
            work_ms = np.array([1000 * task.step_s[-1] for task in timed])
        else:
            work_ms = exact * costs.exact_ms + tuples * costs.filter_ms
        batches.append((exact, tuples, work_ms, queues.add(tuples, exact, work_ms, batch_ms)))
    plans = max((fact.version for fact in engine.facts if fact.about == "plan"), default=0)
    exact, tuples, work_ms, latency_ms = (np.array(column, float) for column in zip(*batches, strict=True))
    return Simulated(exact, tuples, work_ms, latency_ms, counts, pairs, plans)


def _batches(
    formats: Mapping[str, MemoryFormat], streams: Mapping[str, pa.Table], batch_ms: int
) -> Iterator[list[Segment]]:
    """The segments of each batch, one of each stream that has tuples then."""
    cuts: dict[str, list[int]] = {}
    start_ms = min(int(epoch_ms(table["arrival_time"])[0]) for table in streams.values())
    for name, table in streams.items():
        batch = (epoch_ms(table["arrival_time"]) - start_ms) // batch_ms
        cuts[name] = np.searchsorted(batch, np.arange(batch[-1] + 2)).tolist()
    logs = {name: iter(formats[name].segments(name, cuts[name])) for name in streams}
    ordinal = 0
    for number in range(max(map(len, cuts.values())) - 1):
        segments = []
        for name, log in logs.items():
            if number + 1 < len(cuts[name]) and cuts[name][number] < cuts[name][number + 1]:
                segments.append(replace(next(log), ordinal=ordinal))
                ordinal += 1
        yield segments
