"""The query in process: the same stage and task that Spark runs, over tuples in memory, cut and resumed as wanted."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pyarrow as pa

from tailrace import wire
from tailrace.aggregate.kind import Aggregate
from tailrace.disorder.policies import policy_from_json
from tailrace.stage import Stage
from tailrace.streams.check import Columns
from tailrace.streams.formats import FORMATS
from tailrace.streams.segments import Raw, Segment
from tailrace.task import Task
from tailrace.windows.sliding import Sliding

NAMES = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id", "key": "key"}


@dataclass
class Memory:
    """A format whose files are tables in memory."""

    tables: dict[str, pa.Table]

    def read(self, segment: Segment, types: dict[str, str]) -> Raw:
        table = self.tables[segment.path]
        return Raw(table, np.arange(table.num_rows), [])

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


def make_stage(settings, tasks: int = 1, keyed: bool = True) -> Stage:
    kind = Aggregate(Sliding(settings.size, settings.slide), settings.function, {"value": "value"}, pa.string())
    names = NAMES | ({} if keyed else {"key": None})
    columns = Columns(**names, values={"value": "value"}, earliest_ms=-(10**15), ahead_ms=10**15)
    return Stage(kind, "readings", "memory", columns, {}, settings.tick, tasks, None)


def run(tuples, settings, cuts=(), tasks=1, flush=True, batch_of=lambda segment: segment, changes=()):
    """Run the query over segments cut at `cuts`; returns all rows of each table.

    `batch_of` gives the batch of each segment; a restart between any two batches is implied, since all that a task
    keeps goes through bytes. `changes` is a list of (batch, policy).
    """
    bounds = [0, *cuts, len(tuples)]
    tables = {str(i): raw_table(tuples[a:b]) for i, (a, b) in enumerate(itertools.pairwise(bounds))}
    stage = make_stage(settings, tasks, keyed=all(t.key is not None for t in tuples))
    with mock.patch.dict(FORMATS, {"memory": Memory(tables)}):
        batches: dict[int, list[tuple[int, str, bytes]]] = {}
        for i, table in enumerate(tables.values()):
            messages = stage.messages(Segment(str(i), 0, table.num_rows, ordinal=i, position=bounds[i]))
            batches.setdefault(batch_of(i), []).extend(messages)
    kept: list[bytes | None] = [None] * tasks
    rows: dict[str, list[dict]] = {}
    last = max(batches)
    for batch in sorted(batches):
        policy = settings.policy if batch == min(batches) else dict(changes).get(batch)
        entry = {"batch": batch, "settings": policy_json(policy) if policy else None, "flush": flush and batch == last}
        for index in range(tasks):
            mine = [("entry", json.dumps(entry).encode())]
            mine += [(what, data) for task, what, data in batches[batch] if task == index]
            kept[index], output = Task(stage.kind, stage.stream, index).advance(kept[index], mine)
            for table, data in output:
                rows.setdefault(table, []).extend(wire.unpack(data)[0][table].to_pylist())
    return rows
