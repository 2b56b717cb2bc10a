"""What a join of two streams promises, by the toy join: the same pairs as the oracle, however it is run."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from pair_oracle import LEFT, RIGHT, Item, Join, Log, Outcome, Pair, Read, Silence, Wake, batch_pairs, joined
from tailrace.disorder.policies import policy_of
from tailrace.disorder.policy import SlackPolicy
from tailrace.engine.local import LocalEngine, MemoryFormat
from tailrace.engine.next_facts import DECLARED
from tailrace.engine.stage import Stage
from tailrace.engine.stream_reader import StreamReader
from tailrace.sources.check import Columns
from tailrace.sources.segments import Segment
from toy_join import ToyJoin

SIDES = ("left", "right")
FOREVER = 10**15
MANY = settings(max_examples=300, deadline=None)


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


def log_of(batches: Sequence[Batch]) -> Log:
    log: list[Read | Wake | Silence] = []
    for batch in batches:
        log.append(Wake(tuple({side for side, _ in batch.segments})))
        log += [Read(side, item) for side, items in batch.segments for item in items]
        log.append(batch.silence)
    return log


def stage_of(
    batches: Sequence[Batch], join: Join, tasks: int, feedback: int = FOREVER
) -> tuple[Stage, list[list[Segment]]]:
    """The stage of the join, whose streams are in memory, and the segments of each batch."""
    tables: dict[str, pa.Table] = {}
    position, ordinal, segments = [0, 0], itertools.count(), []
    for batch in batches:
        segments.append([])
        for side, items in batch.segments:
            name = str(next(ordinal))
            tables[name] = table_of(items)
            segments[-1].append(
                Segment(name, 0, len(items), ordinal=int(name), position=position[side], stream=SIDES[side])
            )
            position[side] += len(items)
    kind = ToyJoin(join.reach, feedback_ms=feedback)
    columns = Columns("event_time", "arrival_time", "id", None, {"value": "value"}, -FOREVER, FOREVER)
    readers = (
        StreamReader(
            name,
            MemoryFormat(tables),
            Columns(**{**vars(columns), "types": kind.inputs[0].types}),
            {},
            kind.inputs[0].names,
            join.tick,
        )
        for name in SIDES
    )
    return Stage(kind, tuple(readers), tasks), segments


def table_of(items: Sequence[Item]) -> pa.Table:
    columns = {name: [getattr(item, name) for item in items] for name in Item._fields}
    return pa.table(columns)


def policy_of_k(k: int) -> SlackPolicy:
    return policy_of({"policy": "k_slack", "k": f"{k} ms"})


def run(
    batches: Sequence[Batch],
    join: Join,
    tasks: int,
    feedback: int = FOREVER,
    after_batch: Callable[[LocalEngine], None] = lambda engine: None,
) -> tuple[dict[str, list[dict]], Join]:
    """All rows of each table in a bounded run, and the join with the facts that were stamped on the way."""
    stage, segments = stage_of(batches, join, tasks, feedback)
    stage = replace(stage, deduplicates=join.deduplicate)
    engine, rows = LocalEngine(stage), defaultdict(list)
    k, stamped = join.k, []
    for number, (batch, mine) in enumerate(zip([*batches, Batch()], [*segments, []], strict=True)):
        k = k if batch.k is None else batch.k
        ends = number == len(batches)
        output = engine.batch(
            policy_of_k(k),
            mine,
            plan=None if batch.plan is None else {"salt": batch.plan},
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


@MANY
@given(batches=logs(), join=JOINS, tasks=st.integers(1, 3), feedback=st.sampled_from([1, 30, FOREVER]))
def test_the_answers_are_those_of_the_oracle(batches: list[Batch], join: Join, tasks: int, feedback: int) -> None:
    rows, join = run(batches, join, tasks, feedback)
    tuples = sum(len(items) for batch in batches for _, items in batch.segments)
    assert_as_the_oracle(rows, joined(log_of(batches), join), tuples)


@settings(max_examples=100, deadline=None)
@given(batches=logs(), join=JOINS, tasks=st.integers(1, 3), ids=st.integers(1, 6))
def test_repeats_are_dropped_as_far_back_as_tuples_are_kept(
    batches: list[Batch], join: Join, tasks: int, ids: int
) -> None:
    def again(side: int, items: tuple[Item, ...]) -> tuple[int, tuple[Item, ...]]:
        return side, tuple(item._replace(id=f"{'lr'[side]}{int(item.id[1:]) % ids}") for item in items)

    batches = [batch._replace(segments=tuple(again(*segment) for segment in batch.segments)) for batch in batches]
    rows, join = run(batches, replace(join, deduplicate=True), tasks)
    expected = joined(log_of(batches), join)
    pairs = [Pair(*(row[name] for name in Pair._fields)) for row in rows.get("results", [])]
    ids_of_pairs = [(row["left_id"], row["right_id"]) for row in rows.get("results", [])]
    assert Counter((*of, pair) for of, pair in zip(ids_of_pairs, pairs, strict=True)) == Counter(expected.answered)
    late = [(SIDES.index(row["stream"]), row["id"], row["frontier"]) for row in rows.get("late", [])]
    assert Counter(late) == Counter(expected.registered)
    assert sum(row["repeats"] for row in rows["metrics"]) == expected.repeats
    tuples = sum(len(items) for batch in batches for _, items in batch.segments)
    assert sum(row["rows"] for row in rows["metrics"]) == tuples


@settings(max_examples=50, deadline=None)
@given(batches=logs(), join=JOINS)
def test_the_plan_of_every_stored_tuple_is_still_known(batches: list[Batch], join: Join) -> None:
    """So that a partition can place a tuple beside those that an earlier plan placed."""
    plans: list[tuple[int, int]] = []  # version, and the first segment under it
    segment_of = {
        item.id: number
        for number, (_, items) in enumerate(segment for batch in batches for segment in batch.segments)
        for item in items
    }

    def plan_of(tuple_id: str) -> int:
        return max((version for version, since in plans if since <= segment_of[tuple_id]), default=0)

    def check(engine: LocalEngine) -> None:
        plans[:] = sorted({*plans, *((fact.version, fact.since) for fact in engine.facts if fact.about == "plan")})
        stored = [row for task in engine.states for row in task.state.left.column("id").to_pylist()]
        kept = {fact.version for fact in engine.next_facts(policy_of_k(join.k)) if fact.about == "plan"}
        assert {plan_of(tuple_id) for tuple_id in stored} - {0} <= kept

    run(batches, join, 2, after_batch=check)


@given(batches=logs(), join=JOINS)
def test_a_pair_is_missed_only_if_a_tuple_of_it_is_late(batches: list[Batch], join: Join) -> None:
    outcome = joined(log_of(batches), join)
    for left, right in batch_pairs(log_of(batches), join) - outcome.pairs.keys():
        assert {(LEFT, left), (RIGHT, right)} & outcome.late.keys()
