"""The query in process: the same stage and task that Spark runs, over tuples in memory, cut and resumed as wanted."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from unittest import mock

import numpy as np
import pyarrow as pa

from tailrace.aggregate.kind import Aggregate
from tailrace.disorder.clock import Clock
from tailrace.disorder.policies import policy_from_json
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.stage import Stage
from tailrace.engine.task import Task
from tailrace.ground import wire
from tailrace.kinds import Kind
from tailrace.sources.check import Columns
from tailrace.sources.formats import FORMATS
from tailrace.sources.segments import RawSegment, Segment
from tailrace.windows.sliding import Sliding

NAMES = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id", "key": "key"}


@dataclass
class Memory:
    """A format whose files are tables in memory."""

    tables: dict[str, pa.Table]

    def read(self, segment: Segment, types: dict[str, str]) -> RawSegment:
        table = self.tables[segment.path]
        return RawSegment(table, np.arange(table.num_rows), [])

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        return [str(self.tables[segment.path].slice(row, 1).to_pylist()) for row in rows]


def raw_table(tuples) -> pa.Table:
    columns = [("event_time", pa.int64()), ("arrival_time", pa.int64()), ("id", pa.string()), ("key", pa.string())]
    data = {name: pa.array([getattr(t, name) for t in tuples], kind) for name, kind in columns}
    return pa.table(data | {"value": pa.array([t.value for t in tuples], pa.float64())})


def policy_json(policy) -> str:
    """The settings of a policy as the oracle writes it: 'none', ('k_slack', ms) or 'mp_k_slack'."""
    name, *k = policy if isinstance(policy, tuple) else (policy,)
    declared = {"policy": name} | ({"k": f"{k[0]} ms"} if k else {})
    return policy_from_json(json.dumps(declared)).model_dump_json()


def again(clock: Clock) -> Clock:
    """The clock after a restart: all that it keeps goes through bytes."""
    batches, values = clock.pack()
    return Clock.unpack(*wire.unpack(wire.pack(batches, **values)))


def make_stage(settings, tasks: int = 1, keyed: bool = True, kind: Kind | None = None) -> Stage:
    """A stage of the oracle's query, or of another kind over the same windows."""
    windows = Sliding(settings.size, settings.slide)
    kind = kind or Aggregate(windows, settings.function, {"value": "value"}, pa.string(), settings.q)
    names = NAMES | ({} if keyed else {"key": None})
    columns = Columns(**names, values=kind.columns, earliest_ms=-(10**15), ahead_ms=10**15)
    return Stage(kind, "readings", "memory", columns, {}, settings.tick, tasks, None)


def run(
    tuples, settings, cuts=(), tasks=1, flush=True, batch_of=lambda segment: segment, changes=(), silences=(), kind=None
):
    """Run the query over segments cut at `cuts`; returns all rows of each table.

    `batch_of` gives the batch of each segment; a restart between any two batches is implied, since all that a task
    keeps goes through bytes. `changes` is a list of (batch, policy), `silences` one of (batch, passed_ms, closes): what
    follows the segments of that batch (-1: what comes before all), each in a batch of its own.
    """
    bounds = [0, *cuts, len(tuples)]
    tables = {str(i): raw_table(tuples[a:b]) for i, (a, b) in enumerate(itertools.pairwise(bounds))}
    stage = make_stage(settings, tasks, keyed=all(t.key is not None for t in tuples), kind=kind)
    with mock.patch.dict(FORMATS, {"memory": Memory(tables)}):
        batches: dict[int, list[tuple[int, str, bytes]]] = {}
        for i, table in enumerate(tables.values()):
            messages = stage.messages(Segment(str(i), 0, table.num_rows, ordinal=i, position=bounds[i]), sample=True)
            batches.setdefault(batch_of(i), []).extend(messages)
    kept: list[bytes | None] = [None] * tasks
    rows: dict[str, list[dict]] = {}
    policy = policy_json(settings.policy)
    heads = [(BatchHeader(0, policy, passed, closes), []) for after, passed, closes in silences if after < 0]
    for batch in sorted(batches):
        changed = dict(changes).get(batch)
        policy = policy if changed is None or batch == min(batches) else policy_json(changed)
        heads.append((BatchHeader(0, policy), batches[batch]))
        heads += [(BatchHeader(0, policy, passed, closes), []) for after, passed, closes in silences if after == batch]
    if flush:  # as a run that is over does: the end comes with the last rows, or alone after a silence
        head, messages = heads.pop()
        quiet = head.closes or head.heartbeat_ms is not None
        heads += [(head, messages)] if quiet else []
        heads.append((BatchHeader(0, policy, closes=True, ends=True), [] if quiet else messages))
    for batch, (head, messages) in enumerate(heads):
        for index in range(tasks):
            mine = [("entry", replace(head, batch=batch).pack())]
            mine += [(what, data) for task, what, data in messages if task == index]
            kept[index], output = Task(stage.kind, stage.stream, settings.tick, index).advance(kept[index], mine)
            for table, data in output:
                rows.setdefault(table, []).extend(wire.unpack(data)[0][table].to_pylist())
    return rows
