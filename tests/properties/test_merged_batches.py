"""A journal that is run again with many entries in a batch, by another number of tasks, gives the same rows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from bench.local_engine import LocalEngine
from kit.runs.pair_runs import JOINS, SIDES, TOY, Batch, logs, pipeline_of, policy_of_k
from kit.suite.examples import drawn
from tailrace.engine.batch_header import BatchHeader
from tailrace.ground.facts import Fact
from tailrace.sources.segments import Segment
from tailrace.storage.journal import BatchRecord, LogPosition
from tailrace.storage.replay import Replay, merged, replay_of

MANY = drawn(50, phases=[Phase.explicit, Phase.generate])


@dataclass
class Recorded:
    """An engine, the headers of its batches, and all rows that it gave."""

    engine: LocalEngine
    headers: list[BatchHeader] = field(default_factory=list)
    rows: dict[str, list[dict]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        deliver = self.engine.deliver

        def recording(header, messages):
            self.headers.append(header)
            rows = deliver(header, messages)
            for name, table in rows.items():
                self.rows[name] += table.to_pylist()
            return rows

        self.engine.deliver = recording

    def answers(self) -> tuple[list[str], list[str]]:
        return sorted(map(str, self.rows["results"])), sorted(map(str, self.rows["late"]))


@MANY
@given(logs(), JOINS, st.integers(1, 3), st.integers(1, 3), st.sampled_from([5, 10**9]))
def test_merged_entries_give_the_rows_of_single_ones(batches, join, tasks, other_tasks, most_rows):
    pipeline, segments = pipeline_of(batches, join, tasks, 10**15, TOY)
    first, k, idle = Recorded(LocalEngine(pipeline)), join.k, set[str]()
    for number, (batch, mine) in enumerate(zip([*batches, Batch()], [*segments, []], strict=True)):
        k = k if batch.k is None else batch.k
        ends, brings = number == len(batches), {segment.stream for segment in mine}
        idle = (idle | {SIDES[side] for side in batch.silence.idle}) - brings  # until its rows come
        idle = set() if batch.silence.quiet else idle  # and until all are quiet
        first.engine.batch(
            policy_of_k(k),
            mine,
            plan=None if batch.plan is None else TOY.plan(batch.plan, tasks),
            heartbeats={SIDES[side]: time for side, time in batch.silence.heartbeats if SIDES[side] not in brings},
            idle=tuple(sorted(idle)),
            closes=batch.silence.quiet or ends,
            ends=ends,
            idle_ms=join.idle,
        )
    entries = [
        BatchRecord(header, tuple(mine), LogPosition())
        for header, mine in zip(first.headers, [*segments, []], strict=True)
    ]
    replay = replay_of(entries, {}, most_rows, 10**9, len(entries))
    again = Recorded(LocalEngine(replace(pipeline, tasks=other_tasks, plans_from=len(entries))))
    start = 0
    for end in replay.ends:
        entry = merged(entries[start:end])
        again.engine.run(entry.header, entry.segments)
        start = end
    assert start == len(entries)
    assert again.answers() == first.answers()
    names = ("t_max", "frontier", "committed", "complete_tick")  # with tick 0, the newest tick is but a bound
    assert [again.rows["metrics"][-1][name] for name in names] == [first.rows["metrics"][-1][name] for name in names]


def entry(number: int, *segments: Segment, **header: object) -> BatchRecord:
    return BatchRecord(BatchHeader(number, header.pop("facts", ()), **header), segments, LogPosition())


def left(rows: int) -> Segment:
    return Segment("file", 0, rows, stream="left")


def table(version: int) -> Fact:
    return Fact("table", version, 0, {"file": str(version)}, "declared")


@pytest.mark.parametrize(
    ("first", "second", "joins"),
    [
        (entry(0, left(1)), entry(1, left(1)), True),
        (entry(0, left(1)), entry(1), True),
        (entry(0, left(1), closes=True), entry(1, left(1)), False),
        (entry(0, left(1)), entry(1, left(1), closes=True), True),
        (entry(0, left(1), idle=("right",)), entry(1, left(1)), False),
        (entry(0, left(1)), entry(1, left(1), idle=("right",)), False),
        (entry(0, left(1), heartbeats={"left": 5}), entry(1, left(1)), False),
        (entry(0, left(1)), entry(1, heartbeats={"left": 5}), False),
        (entry(0, left(1), idle_ms=5), entry(1, left(1), idle_ms=6), False),
        (entry(0, left(1), facts=(table(1),)), entry(1, left(1), facts=(table(2),)), False),
        (entry(0, left(6)), entry(1, left(5)), False),
    ],
)
def test_what_acts_between_two_batches_keeps_them_apart(first, second, joins):
    assert replay_of([first, second], {}, 10, 10, 2).ends == ((2,) if joins else (1, 2))


def test_entries_that_a_table_lacks_are_not_merged_nor_those_of_much_work():
    entries = [entry(number, left(1)) for number in range(4)]
    assert replay_of(entries, {}, 10, 10, 2).ends == (2, 3, 4)
    assert replay_of(entries, {0: 4, 1: 6, 2: 1, 3: 1}, 10, 10, 4).ends == (2, 4)


def test_a_replay_tells_the_entries_of_batches():
    assert Replay().entries == 0
    replay = Replay((3, 4, 9))
    assert replay.entries == 9
    assert [replay.end(n) for n in (0, 3, 4)] == [3, 4, 9]
