"""The query in process: the same pipeline and task that Spark runs, over tuples in memory, cut and resumed as
wanted.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pyarrow as pa

from bench.local_engine import LocalEngine, MemoryFormat
from kit.draws.aggregates import kind_of
from kit.oracles import rankings
from tailrace.disorder.clock import StreamClock
from tailrace.disorder.policies import policy_of
from tailrace.disorder.policy import SlackPolicy
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.stream_reader import StreamReader
from tailrace.expressions.projection import Projection
from tailrace.ground.arrow import wire
from tailrace.ground.facts import Fact, stamp
from tailrace.kind.protocol import Kind
from tailrace.sources.columns import SourceMapping
from tailrace.sources.segments import Segment
from tailrace.windows.calendar import Calendar
from tailrace.windows.sliding import Sliding
from tailrace.windows.windows import Windows

NOTES = {"note": pa.string(), "number": pa.int64(), "time": pa.date32(), "tick": pa.decimal128(30, 4)}
"""Further columns of tuples, with nulls and with names that rows inside have too, see `rankings.notes_of`."""

NAMES = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id", "key": "key"}


def raw_table(tuples, keys: dict[str, pa.DataType] | None = None, values: pa.DataType | None = None) -> pa.Table:
    """Tuples as records; with `keys` the parts of their keys, which are JSON arrays, are columns of these types.

    They have the columns `NOTES`, too; `values` is the type of their values, else double.
    """
    columns = [("event_time", pa.int64()), ("arrival_time", pa.int64()), ("id", pa.string()), ("key", pa.string())]
    data = {name: pa.array([getattr(t, name) for t in tuples], kind) for name, kind in columns}
    data |= {"value": pa.array([t.value for t in tuples], values or pa.float64())}
    data |= {name: pa.array([rankings.notes_of(t)[name] for t in tuples], dtype) for name, dtype in NOTES.items()}
    for place, (name, dtype) in enumerate((keys or {}).items()):
        data[name] = pa.array([json.loads(t.key)[place] for t in tuples], dtype)
    return pa.table(data)


def policy_of_oracle(policy) -> SlackPolicy:
    """The policy that the oracle writes as 'none', ('k_slack', ms) or 'mp_k_slack'."""
    name, *k = policy if isinstance(policy, tuple) else (policy,)
    return policy_of({"policy": name} | ({"k": f"{k[0]} ms"} if k else {}))


def policy_json(policy) -> str:
    return policy_of_oracle(policy).model_dump_json()


def again(clock: StreamClock) -> StreamClock:
    """The clock after a restart: all that it keeps goes through bytes."""
    batches, values = clock.pack()
    restored = StreamClock.unpack(*wire.unpack(wire.pack(batches, **values)))
    restored.facts = clock.facts  # they come with each batch
    return restored


def stamp_settings(clock: StreamClock, settings: str, newest: int) -> Fact:
    """Let settings (JSON) hold from the tick after the newest one on, as the driver stamps them."""
    clock.facts = stamp(clock.facts, "settings", json.loads(settings), max(newest + 1, 0), "declared")
    return clock.facts[-1]


def windows_of(settings) -> Windows:
    """The windows of the oracle's query."""
    if settings.days_of is not None:
        return Calendar("day", settings.days_of)
    return Sliding(settings.size, settings.slide, settings.offset)


def make_pipeline(
    settings,
    tasks: int = 1,
    keyed: bool = True,
    kind: Kind | None = None,
    tables: dict[str, pa.Table] | None = None,
    keys: dict[str, pa.DataType] | None = None,
) -> Pipeline:
    """A pipeline of the oracle's query, or of another kind over the same windows; `keys` as in `raw_table`."""
    kind = kind or kind_of(windows_of(settings), settings.function, settings.q, keys=keys)
    names = NAMES | ({} if keyed else {"key": None}) | ({"key": tuple(keys)} if keys else {})
    needed = kind.inputs[0]
    columns = SourceMapping(
        **names,
        uses=needed.uses,
        earliest_ms=-(10**15),
        ahead_ms=10**15,
    )
    if needed.derives and tables:
        schema = next(iter(tables.values())).schema
        projection = Projection.parse(needed.derives, None)
        projection = projection.over({name: schema.field(name).type for name in projection.inputs})
        columns = replace(columns, projection=projection)
    columns = columns if settings.skew is None else replace(columns, skew_ms=settings.skew)
    column_types = kind.inputs[0].column_types._replace(keys=keys or {})
    reader = StreamReader("readings", MemoryFormat(tables or {}), columns, {}, column_types, settings.tick)
    return Pipeline(kind, (reader,), tasks)


def run(
    tuples,
    settings,
    cuts=(),
    tasks=1,
    flush=True,
    batch_of=lambda segment: segment,
    changes=(),
    silences=(),
    kind=None,
    deduplicates=False,
    keys=None,
    values=None,
):
    """Run the query over segments cut at `cuts`; returns all rows of each table.

    `batch_of` gives the batch of each segment; a restart between any two batches is implied, since all that a task
    keeps goes through bytes. `changes` is a list of (batch, policy), `silences` one of (batch, passed_ms, closes): what
    follows the segments of that batch (-1: what comes before all), each in a batch of its own.
    """
    bounds = [0, *cuts, len(tuples)]
    tables = {str(i): raw_table(tuples[a:b], keys, values) for i, (a, b) in enumerate(itertools.pairwise(bounds))}
    keyed = all(t.key is not None for t in tuples)
    pipeline = make_pipeline(settings, tasks, keyed=keyed, kind=kind, tables=tables, keys=keys)
    batches: dict[int, list[Segment]] = {}
    for i, table in enumerate(tables.values()):
        segment = Segment(str(i), 0, table.num_rows, ordinal=i, position=bounds[i], stream="readings")
        batches.setdefault(batch_of(i), []).append(segment)
    policy = policy_of_oracle(settings.policy)
    steps = [([], policy, passed, closes) for after, passed, closes in silences if after < 0]
    for batch in sorted(batches):
        changed = dict(changes).get(batch)
        policy = policy if changed is None or batch == min(batches) else policy_of_oracle(changed)
        steps.append((batches[batch], policy, None, False))
        steps += [([], policy, passed, closes) for after, passed, closes in silences if after == batch]
    if flush:  # as a run that is over does: the end comes with the last rows, or alone after a silence
        segments, _, heartbeat_ms, closes = last = steps.pop()
        quiet = closes or heartbeat_ms is not None
        steps += [last] if quiet else []
        steps.append(([] if quiet else segments, policy, None, "ends"))
    engine, rows = LocalEngine(replace(pipeline, deduplicates=deduplicates)), {}
    for segments, in_force, heartbeat_ms, closes in steps:
        heartbeats = {} if heartbeat_ms is None else {"readings": heartbeat_ms}
        batch = engine.batch(in_force, segments, heartbeats=heartbeats, closes=bool(closes), ends=closes == "ends")
        for table, part in batch.items():
            rows.setdefault(table, []).extend(part.to_pylist())
    return rows
