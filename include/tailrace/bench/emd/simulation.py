"""The whole loop of EMD-DDSJ in process, with queues: for more tasks than a machine has cores.

The tasks run one after the other on the local runner, and what each batch takes a task is computed from its exact
distances (eq. 6). A task that takes longer than the batch lasts falls behind: the rest waits in its queue. What waits
at the end of a feedback period is V_est (eq. 7), by which the next plan gives the task less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.emd_join.kind import EmdJoin
from tailrace.emd_join.methods import EmdDdsj
from tailrace.engine.local import LocalEngine, MemoryFormat, stage_in_memory
from tailrace.generators.delays import epoch_ms
from tailrace.ground.columns import Floats
from tailrace.partition import feedback_balancing
from tailrace.partition.feedback_balancing import load_imbalance
from tailrace.query.query import Query
from tailrace.sources.segments import Segment


@dataclass(frozen=True)
class Costs:
    """What work takes a task, in ms: an exact distance, and the filters of one tuple of R (eq. 6)."""

    exact_ms: float
    filter_ms: float


@dataclass
class Queues:
    """The queues of the tasks.

    Attributes
    ----------
    waiting : ndarray, shape (tasks,)
        The work in each queue, in exact distances.
    """

    waiting: Floats


@dataclass(frozen=True)
class QueuedEmdDdsj(EmdDdsj):
    """EMD-DDSJ whose plans regard the queues of the tasks."""

    queues: Queues = field(default_factory=lambda: Queues(np.zeros(0)))

    def next_plan(
        self, plan: Mapping[str, Any] | None, loads: Mapping[str, Floats], tasks: int
    ) -> Mapping[str, Any] | None:
        spans = loads["span"].astype(np.int64)
        return feedback_balancing.next_plan(plan, spans, loads["load"], self.queues.waiting, tasks)


@dataclass(frozen=True)
class Simulated:
    """A simulated run of b batches over k tasks.

    Attributes
    ----------
    exact, tuples : ndarray, shape (b, k)
        The exact distances of each task, and the tuples of R that came to it.
    latency_ms : ndarray, shape (b, k)
        The time from the end of a batch to the task's end with it.
    counts : dict
        The pairs that each filter rejected or accepted, over the run.
    pairs : int
        The number of answers.
    seconds : float
        The time that the run covers.
    plans : int
        The number of plans that were stamped.
    """

    exact: Floats
    tuples: Floats
    latency_ms: Floats
    counts: Mapping[str, int]
    pairs: int
    seconds: float
    plans: int

    @property
    def imbalance(self) -> float:
        """(max − mean) / mean of the tasks' exact distances over the run."""
        return load_imbalance(self.exact.sum(axis=0))

    def imbalances(self, batches: int) -> list[float]:
        """The imbalance of each stretch of so many batches."""
        return [load_imbalance(self.exact[at : at + batches].sum(axis=0)) for at in range(0, len(self.exact), batches)]

    def throughput(self, costs: Costs) -> float:
        """The tuples of R a second that the slowest task keeps up with."""
        work_ms = (self.exact * costs.exact_ms + self.tuples * costs.filter_ms).sum(axis=0)
        return float(self.tuples.sum() / work_ms.max() * 1000)


def simulate(query: Query, streams: Mapping[str, pa.Table], tasks: int, batch_ms: int, costs: Costs) -> Simulated:
    """Run a join over two streams in order of arrival, batch by batch.

    Parameters
    ----------
    batch_ms : int
        The length of a batch, in arrival time.
    """
    queues = Queues(np.zeros(tasks))
    formats = {name: MemoryFormat({name: table}) for name, table in streams.items()}
    stage = stage_in_memory(query, formats)
    kind = stage.kind
    assert isinstance(kind, EmdJoin)
    if isinstance(kind.method, EmdDdsj):
        kind = replace(kind, method=QueuedEmdDdsj(kind.method.width, kind.method.feedback_ms, queues))
    engine = LocalEngine(replace(stage, kind=kind, tasks=tasks), restarts=False)
    exact, tuples, latency, counts, pairs = [], [], [], Counter[str](), 0
    behind_ms = np.zeros(tasks)
    for segments in _batches(formats, streams, batch_ms):
        rows = engine.batch(query.policy, segments)
        metrics = rows["metrics"].sort_by("task").to_pylist()
        loads = [dict(row["loads"] or {"load": [], "tuples": []}) for row in metrics]
        exact.append([sum(load["load"]) for load in loads])
        tuples.append([sum(load["tuples"]) for load in loads])
        counts += sum((Counter(dict(row["counts"] or {})) for row in metrics), Counter[str]())
        pairs += rows["results"].num_rows
        work_ms = np.array(exact[-1]) * costs.exact_ms + np.array(tuples[-1]) * costs.filter_ms
        latency.append(behind_ms + work_ms)
        behind_ms = np.maximum(behind_ms + work_ms - batch_ms, 0.0)
        queues.waiting = behind_ms / costs.exact_ms
    plans = sum(fact.version for fact in engine.facts[-1:] if fact.about == "plan")
    arrays = (np.array(part, np.float64) for part in (exact, tuples, latency))
    return Simulated(*arrays, counts, pairs, len(exact) * batch_ms / 1000, plans)


def _batches(
    formats: Mapping[str, MemoryFormat], streams: Mapping[str, pa.Table], batch_ms: int
) -> Iterator[list[Segment]]:
    """The segments of each batch, one of each stream that has tuples then."""
    ends, cut = [], {}
    for name, table in streams.items():
        arrival = epoch_ms(table["arrival_time"])
        batch = (arrival - arrival[0]) // batch_ms
        cut[name] = np.searchsorted(batch, np.arange(batch[-1] + 2))
        ends.append(int(batch[-1]) + 1)
    logs = {name: iter(formats[name].segments(name, cut[name].tolist())) for name in streams}
    ordinal = 0
    for number in range(max(ends)):
        segments = []
        for name, log in logs.items():
            if number + 1 < len(cut[name]) and cut[name][number] < cut[name][number + 1]:
                segments.append(replace(next(log), ordinal=ordinal))
                ordinal += 1
        yield segments
