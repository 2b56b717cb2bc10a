"""Generated logs of two streams, and a kind's join of them run in process, batch by batch."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

from bench.local_engine import LocalEngine, MemoryFormat
from kit.fakes.toy_join import ToyJoin
from kit.oracles.pair_oracle import LEFT, RIGHT, Item, Join, Log, Outcome, Pair, Read, Silence, Wake
from kit.parts.source_mappings import source_mapping
from tailrace.disorder.policies import policy_of
from tailrace.disorder.policy import SlackPolicy
from tailrace.engine.next_facts import DECLARED
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.stream_reader import StreamReader
from tailrace.kind.inputs import ColumnTypes
from tailrace.kind.pair_condition import PairCondition
from tailrace.kind.protocol import Kind
from tailrace.sources.segments import Segment

SIDES = ("left", "right")
FOREVER = 10**15


class Batch(NamedTuple):
    """Segments, each of tuples of one side, and the silence after them; K and a partition plan that are new with it."""

    segments: tuple[tuple[int, tuple[Item, ...]], ...] = ()
    silence: Silence = Silence()
    k: int | None = None
    plan: int | None = None


@st.composite
def streams(draw: st.DrawFn, side: int) -> list[Item]:
    """A stream at a speed of its own: event times in disorder, some very old, arrivals that sometimes go back."""
    step = draw(st.sampled_from([1, 10, 40]), label="step")
    count = draw(st.integers(0, 14), label="count")
    start, now, items = draw(st.integers(0, 60)), 0, []
    for number in range(count):
        now += draw(st.integers(0, 3)) * step + draw(st.sampled_from([0, 0, 0, 0, 0, 0, 120]))
        delay = draw(st.sampled_from([0, 0, 1, 5, 25, 70, 10**11]))
        back = draw(st.sampled_from([0, 0, 0, 15]))
        arrival = 10**12 + max(start + now - back, 0)
        value = draw(st.sampled_from("aab"))
        items.append(Item(10**12 + start + now - delay, arrival, f"{'lr'[side]}{number}", value))
    return items


@st.composite
def logs(draw: st.DrawFn) -> list[Batch]:
    """Two streams in batches: segments of either in any order, silences and changes of K and of the plan between."""
    rest = [draw(streams(LEFT)), draw(streams(RIGHT))]
    batches: list[Batch] = []
    while rest[LEFT] or rest[RIGHT] or not batches:
        segments = []
        for _ in range(draw(st.integers(0, 3))):
            side = draw(st.sampled_from([LEFT, RIGHT]))
            count = draw(st.integers(1, 6))
            if rest[side]:
                segments.append((side, tuple(rest[side][:count])))
                rest[side] = rest[side][count:]
        k = draw(st.none() | st.sampled_from([0, 10, 30, 200]))
        plan = draw(st.none() | st.sampled_from([100, 200, 300]))
        batches.append(Batch(tuple(segments), draw(silence()), k, plan))
        if len(batches) == 12:  # enough of chance
            segments = [(side, tuple(items)) for side, items in enumerate(rest) if items]
            batches.append(Batch(tuple(segments)))
            break
    return batches


@st.composite
def silence(draw: st.DrawFn) -> Silence:
    what = draw(st.sampled_from(["nothing"] * 4 + ["heartbeat", "idle", "quiet"]))
    if what == "nothing":
        return Silence()
    if what == "quiet":
        return Silence(quiet=True)
    sides = draw(st.sampled_from([(LEFT,), (RIGHT,), (LEFT, RIGHT)]))
    if what == "idle":
        return Silence(idle=sides)
    return Silence(heartbeats=tuple((side, 10**12 + draw(st.integers(0, 500))) for side in sides))


JOINS = st.builds(
    Join,
    reach=st.sampled_from([0, 10, 60]),
    tick=st.sampled_from([0, 1, 20]),
    k=st.sampled_from([0, 20, 300]),
    idle=st.sampled_from([30, 100, 60_000]),
)


IN_INTERVALS = st.builds(
    lambda join, interval: replace(join, interval=interval, reach=max(map(abs, interval))),
    JOINS,
    st.sampled_from([(-60, 60), (-10, 60), (5, 30), (-40, -3)]),
)
"""Joins of which each side is kept for a bound of its own."""


def log_of(batches: Sequence[Batch]) -> Log:
    log: list[Read | Wake | Silence] = []
    for batch in batches:
        log.append(Wake(tuple({side for side, _ in batch.segments})))
        log += [Read(side, item) for side, items in batch.segments for item in items]
        log.append(batch.silence)
    return log


def notes_differ(left: Item, right: Item) -> bool:
    notes = note_of(left), note_of(right)
    return None not in notes and notes[0] != notes[1]


WHERE: dict[str | None, Callable[[Item, Item], bool]] = {
    None: lambda left, right: True,
    "left.note <> right.note": notes_differ,
    "left.arrival_time <= right.arrival_time or left.id like '%3'": lambda left, right: (
        left.arrival_time <= right.arrival_time or left.id.endswith("3")
    ),
    "1 / (left.arrival_time - right.arrival_time) > 0": lambda left, right: left.arrival_time > right.arrival_time,
}
"""Conditions over pairs, and what they say; the last one fails where both arrived at once."""

CARRIED = tuple(
    ColumnTypes(
        carried={f"{side}_note": pa.string(), f"{side}_arrival_time": pa.int64(), f"where_{side}_id": pa.string()}
    )
    for side in SIDES
)
"""The types of the columns of either side that a condition or a selection can name."""


class Sample(NamedTuple):
    """A kind, made for a join and a feedback period in ms; and what it reads in the place of a tuple's value.

    `plan` makes the partition plan of a drawn number, for so many tasks.
    """

    make: Callable[[Join, int], Kind]
    content: Callable[[str], object] = str
    plan: Callable[[int, int], dict] = lambda number, tasks: {"salt": number}


def toy(where: str | None = None) -> Sample:
    condition = PairCondition.parse(where, CARRIED, "where")
    types: dict[str, Any] = {"column_types": CARRIED, "condition": condition}
    return Sample(lambda join, feedback: ToyJoin(join.reach, feedback_ms=feedback, interval=join.interval, **types))


TOY = toy()


def pipeline_of(
    batches: Sequence[Batch], join: Join, tasks: int, feedback: int, sample: Sample
) -> tuple[Pipeline, list[list[Segment]]]:
    """The pipeline of the join, whose streams are in memory, and the segments of each batch."""
    tables: dict[str, pa.Table] = {}
    position, ordinal, segments = [0, 0], itertools.count(), []
    for batch in batches:
        segments.append([])
        for side, items in batch.segments:
            name = str(next(ordinal))
            tables[name] = table_of(items, sample.content)
            segments[-1].append(
                Segment(name, 0, len(items), ordinal=int(name), position=position[side], stream=SIDES[side])
            )
            position[side] += len(items)
    kind = sample.make(join, feedback)
    readers = []
    for name, needed in zip(SIDES, kind.inputs, strict=True):
        columns = source_mapping("event_time", "arrival_time", "id", earliest_ms=-FOREVER, ahead_ms=FOREVER)
        columns = replace(columns, uses=needed.uses)
        readers.append(StreamReader(name, MemoryFormat(tables), columns, {}, needed.column_types, join.tick))
    return Pipeline(kind, tuple(readers), tasks), segments


def table_of(items: Sequence[Item], content: Callable[[str], object]) -> pa.Table:
    columns = {name: [getattr(item, name) for item in items] for name in Item._fields}
    notes = pa.array(map(note_of, items), pa.string())
    return pa.table(columns | {"value": [content(value) for value in columns["value"]], "note": notes})


def note_of(item: Item) -> str | None:
    """A further column of a tuple, which a third of them has not."""
    return f"{item.event_time}/{item.arrival_time}" if item.arrival_time % 3 else None


def policy_of_k(k: int) -> SlackPolicy:
    return policy_of({"policy": "k_slack", "k": f"{k} ms"})


def run(
    batches: Sequence[Batch],
    join: Join,
    tasks: int,
    feedback: int = FOREVER,
    sample: Sample = TOY,
    after_batch: Callable[[LocalEngine], None] = lambda engine: None,
) -> tuple[dict[str, list[dict]], Join]:
    """All rows of each table in a bounded run, and the join with the facts that were stamped on the way."""
    pipeline, segments = pipeline_of(batches, join, tasks, feedback, sample)
    pipeline = replace(pipeline, deduplicates=join.deduplicate)
    engine, rows = LocalEngine(pipeline), defaultdict(list)
    k, stamped = join.k, []
    for number, (batch, mine) in enumerate(zip([*batches, Batch()], [*segments, []], strict=True)):
        k = k if batch.k is None else batch.k
        ends = number == len(batches)
        output = engine.batch(
            policy_of_k(k),
            mine,
            plan=None if batch.plan is None else sample.plan(batch.plan, tasks),
            heartbeats={SIDES[side]: time for side, time in batch.silence.heartbeats},
            idle=tuple(SIDES[side] for side in batch.silence.idle),
            closes=batch.silence.quiet or ends,
            ends=ends,
            idle_ms=join.idle,
        )
        for name, table in output.items():
            rows[name] += table.to_pylist()
        after_batch(engine)
        stamped += [k] if [k] != stamped[-1:] else []
    settings = (row for row in rows["facts"] if row["about"] == "settings" and row["evidence"] == DECLARED)
    since = {row["version"]: row["from_tick"] for row in settings}
    changes = tuple((since[version], changed) for version, changed in enumerate(stamped[1:], 2))
    return rows, replace(join, k=stamped[0], changes=changes)


def pairs_of(rows: dict[str, list[dict]]) -> dict[tuple[str, str], Pair]:
    found = {
        (row["left_id"], row["right_id"]): Pair(*(row[name] for name in Pair._fields))
        for row in rows.get("results", [])
    }
    assert len(found) == len(rows.get("results", [])), "a pair was answered twice"
    return found


def late_of(rows: dict[str, list[dict]]) -> dict[tuple[int, str], int]:
    found = {(SIDES.index(row["stream"]), row["id"]): row["frontier"] for row in rows.get("late", [])}
    assert len(found) == len(rows.get("late", [])), "a late tuple was registered twice"
    return found


def assert_as_the_oracle(rows: dict[str, list[dict]], expected: Outcome, tuples: int) -> None:
    assert pairs_of(rows) == expected.pairs
    assert late_of(rows) == expected.late
    assert sum(row["rows"] for row in rows["metrics"]) == tuples
    if tuples:
        assert rows["metrics"][-1]["t_max"] == expected.t_max
