"""One task, batch by batch: entries, the newest tick, silence, what passes through, what is counted."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bench.local_engine import LocalEngine
from kit.draws.aggregates import kind_of
from kit.oracles.oracle import Passed, Settings, Tuple, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.harness import policy_of_oracle, run
from tailrace.disorder.policies import settings_of
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.chunk_stores import MemoryChunks
from tailrace.engine.next_facts import DECLARED
from tailrace.engine.query_clock import ClockBatch, QueryClock
from tailrace.engine.task import Task
from tailrace.ground.arrow.wire import Batches
from tailrace.ground.facts import stamp
from tailrace.windows.sliding import Sliding

NOW = 1_577_836_800_000
QUERY = Settings(size=100, slide=100, tick=10)


def tuples(*rows: tuple[int, int], key: str = "a") -> list[Tuple]:
    """(arrival, event time) of each, after NOW."""
    return [Tuple(NOW + event, NOW + arrival, f"t{i}", key, 1.0) for i, (arrival, event) in enumerate(rows)]


KIND = kind_of(Sliding(100, 100), "sum")


def entry(policy: str = "none", **said: object) -> BatchHeader:
    facts = stamp((), "settings", settings_of(policy_of_oracle(policy)), 0, DECLARED)
    return BatchHeader(0, facts, **said)


def task(index: int = 0) -> Task:
    return Task(KIND, ("readings",), index, MemoryChunks())


def clock(state: bytes | None, header: BatchHeader) -> tuple[bytes, ClockBatch]:
    """The query's clock after a batch without segments: its packed state, and what tasks need of it."""
    query_clock = QueryClock(KIND, ("readings",), 10)
    after, batch = query_clock.step(query_clock.restore(state), header, [])
    return after.pack(), batch


def closed(rows: dict[str, list[dict]]) -> list[tuple[int, int]]:
    """(window_end, as_of) of each answer, after NOW."""
    return [(row["window_end"] - NOW, row["as_of"] - NOW) for row in rows.get("results", [])]


def committed(rows: dict[str, list[dict]]) -> list[int | None]:
    """After each batch, after NOW."""
    return [None if row["committed"] is None else row["committed"] - NOW for row in rows["metrics"]]


# arrival   0    15 | 25           the tick [20, 30) may go on
# event     5   105   205          105 would close [0, 100), 205 also [100, 200)
def test_the_newest_tick_stays_pending() -> None:
    rows = run(tuples((0, 5), (15, 105), (25, 205)), QUERY, flush=False)
    assert [row["window_end"] - NOW for row in rows["results"]] == [100]
    assert [row["committed"] - NOW for row in rows["metrics"]] == [20]


def test_a_flush_completes_it_and_closes_all() -> None:
    rows = run(tuples((0, 5), (15, 105), (25, 205)), QUERY)
    assert closed(rows) == [(100, 20), (200, 30), (300, 30)]
    assert committed(rows) == [30]
    assert [(row["flushed"], row["ticks"]) for row in rows["metrics"]] == [(True, 3)]
    assert [row["evidence"] for row in rows["facts"]] == ["declared"]  # an end is no quiet


# tick      [20, 30)              both batches bring tuples of it
def test_what_comes_later_in_the_same_tick_is_not_late() -> None:
    rows = run(tuples((0, 5), (21, 150), (28, 50)), QUERY, cuts=[2])
    assert "late" not in rows
    assert [(row["window_end"] - NOW, row["tuples"]) for row in rows["results"]] == [(100, 2), (200, 1)]


# arrival   0    10         20    30    120  215       skew 50: 9000 counts as 60 for t_max
# event     5   9000        15    25    110  205
def test_a_tuple_far_ahead_makes_no_other_late_and_counts_in_its_own_window() -> None:
    came = tuples((0, 5), (10, 9_000), (20, 15), (30, 25), (120, 110), (215, 205))
    rows = run(came, replace(QUERY, skew=50))
    assert "late" not in rows
    assert [(end, tuples) for (end, _), tuples in zip(closed(rows), [3, 1, 1, 1], strict=True)] == [
        (100, 3),
        (200, 1),
        (300, 1),
        (9_100, 1),
    ]
    assert sum(row["tuples"] for row in run(came, QUERY)["late"]) == 4, "without a bound they would be late"


# 450 is ahead of its arrival by 400; quiet at 60, 300 and 460
def test_a_quiet_stream_keeps_the_windows_of_tuples_ahead_until_arrival_has_passed_them() -> None:
    query, came = replace(QUERY, skew=10), tuples((0, 5), (50, 450))
    silences = [(0, NOW + at, True) for at in (60, 300, 460, 500)]
    rows = run(came, query, flush=False, silences=silences)
    assert closed(rows) == [(100, 60), (500, 60)]
    assert [row["frontier"] - NOW for row in rows["metrics"]][1:] == [100, 100, 500, 500]
    assert len([fact for fact in rows["facts"] if fact["evidence"].startswith("quiet")]) == 2


def test_a_flush_alone_closes_what_is_pending() -> None:
    rows = run(tuples((0, 5)), QUERY, cuts=[1])  # the second segment is empty
    assert [row["tuples"] for row in rows["results"]] == [1]


def test_an_empty_stream_gives_no_answers() -> None:
    rows = run([], QUERY)
    assert set(rows) == {"facts", "metrics", "segments"}
    assert rows["metrics"][0]["coverage"] is None
    assert committed(rows) == [None]


# arrival   0    15 | passed 25    [10, 20) is complete, and 105 closes [0, 100)
# event     5   105 |
def test_a_heartbeat_completes_the_newest_tick() -> None:
    rows = run(tuples((0, 5), (15, 105)), QUERY, flush=False, silences=[(0, NOW + 25, False)])
    assert closed(rows) == [(100, 20)]
    assert committed(rows) == [10, 20]
    assert [(row["ticks"], row["flushed"]) for row in rows["metrics"]] == [(1, False), (1, False)]
    assert [row["evidence"] for row in rows["facts"]] == ["declared"]


# passed 25 | arrival 16         it counts as of the heartbeat's tick, [20, 30); 105 and 6 of one tick
def test_what_comes_behind_a_heartbeat_counts_as_arrived_in_its_tick() -> None:
    stream = tuples((0, 5), (16, 105), (29, 6), (31, 7))
    rows = run(stream, QUERY, cuts=[1], silences=[(0, NOW + 25, False)])
    assert [(row["before_tick"] - NOW // 10, row["before_end"] - NOW) for row in rows["segments"][1:]] == [(2, 30)]
    assert [(row["window_end"] - NOW, row["as_of"] - NOW, row["tuples"]) for row in rows["results"]] == [
        (100, 30, 2),
        (200, 40, 1),
    ]
    assert [(row["tick"] - NOW // 10, row["tuples"]) for row in rows["late"]] == [(3, 1)]


def test_heartbeats_move_what_is_committed_and_nothing_else() -> None:
    silences = [(0, NOW + passed, False) for passed in (25, 1_000, 999, 60_004)]
    rows = run(tuples((0, 5)), QUERY, flush=False, silences=silences)
    assert committed(rows) == [0, 20, 1_000, 1_000, 60_000]
    assert [row["ticks"] for row in rows["metrics"]] == [0, 1, 0, 0, 0]
    assert {row["frontier"] for row in rows["metrics"][1:]} == {NOW + 5}
    assert "results" not in rows


# arrival   0    15 | quiet at 25        105 closes [0, 100), silence [100, 200)
# event     5   105 |
def test_quiet_closes_all_and_is_a_fact() -> None:
    rows = run(tuples((0, 5), (15, 105)), QUERY, flush=False, silences=[(0, NOW + 25, True)])
    assert closed(rows) == [(100, 20), (200, 20)]
    assert committed(rows) == [10, 20]
    assert [row["frontier"] for row in rows["metrics"]] == [NOW + 5, NOW + 200]
    assert [(row["ticks"], row["flushed"]) for row in rows["metrics"]] == [(1, False), (1, False)]
    quiet = rows["facts"][1]
    assert (quiet["version"], quiet["from_tick"]) == (1, NOW // 10 + 2)
    assert quiet["evidence"] == "quiet: windows are closed up to 2020-01-01T00:00:00.200Z"


def test_quiet_that_knows_no_time_is_later_than_the_newest_tick() -> None:
    rows = run(tuples((0, 5), (15, 105)), QUERY, flush=False, silences=[(0, None, True)])
    assert closed(rows) == [(100, 20), (200, 20)]
    assert committed(rows) == [10, 20]


# quiet at 25 has closed up to 200; then 150, which misses its window, and 205 and 330, which find theirs open
def test_what_comes_after_quiet_for_what_it_closed_is_late() -> None:
    rows = run(
        tuples((0, 5), (15, 105), (40, 150), (50, 205), (60, 330)), QUERY, cuts=[2], silences=[(0, NOW + 25, True)]
    )
    assert closed(rows) == [(100, 20), (200, 20), (300, 70), (400, 70)]
    late = [(row["pane_start"] - NOW, row["tuples"], row["frontier"] - NOW) for row in rows["late"]]
    assert late == [(100, 1, 200)]
    assert rows["metrics"][-1]["coverage"] == 4 / 5


def test_quiet_before_the_first_tuple_closes_nothing_and_is_no_fact() -> None:
    rows = run([], QUERY, flush=False, silences=[(0, NOW + 25, True)])
    assert set(rows) == {"facts", "metrics", "segments"}
    assert [row["evidence"] for row in rows["facts"]] == ["declared"]
    assert committed(rows) == [None, 20]
    assert {(row["t_max"], row["frontier"]) for row in rows["metrics"]} == {(None, None)}


# v2 is stamped in the very batch that says that the stream is quiet: what closes then, closes by v1
def test_what_silence_closes_is_closed_by_the_settings_that_were_in_force() -> None:
    rows = run(
        tuples((0, 5), (15, 105), (40, 600)),
        QUERY,
        cuts=[2, 2],
        changes=[(1, ("k_slack", 500))],
        silences=[(1, NOW + 25, True)],
    )
    found = [(row["window_end"] - NOW, row["k_ms"], row["facts_version"]) for row in rows["results"]]
    assert found == [(100, 0, 1), (200, 0, 1), (700, 500, 2)]
    base = NOW // 10
    assert [(row["version"], row["from_tick"] - base, row["evidence"][:5]) for row in rows["facts"][1:]] == [
        (2, 2, "decla"),
        (1, 2, "quiet"),
    ]
    assert json.loads(rows["facts"][2]["value"])["policy"] == "none"


@pytest.mark.parametrize("tick", [10, 0])
@pytest.mark.parametrize("tasks", [1, 3])
def test_silence_is_what_the_oracle_makes_of_it(tick: int, tasks: int) -> None:
    query = Settings(size=100, slide=50, tick=tick, policy=("k_slack", 40))
    rows = [(0, 5), (15, 105), (16, 60), (90, 30), (91, 300), (92, 110), (700, 650), (400, 640), (720, 90)]
    log = [Tuple(NOW + event, NOW + came, f"t{i}", "abc"[i % 3], 1.0) for i, (came, event) in enumerate(rows)]
    cuts = [2, 4, 7]
    said = [(0, 25, False), (1, 120, True), (1, 300, False), (1, 460, False), (2, 900, True), (3, 901, True)]
    silences = [(batch, NOW + passed, quiet) for batch, passed, quiet in said]
    passed = [Passed([*cuts, len(rows)][batch], time, quiet) for batch, time, quiet in silences]
    found = run(log, query, cuts=cuts, tasks=tasks, flush=False, silences=silences)
    expected = stream(log, query, flush=False, passed=passed)
    assert_streamed(found, expected)
    assert found["metrics"][-1]["committed"] == expected.committed
    assert len({(row["batch"], row["t_max"], row["frontier"], row["committed"]) for row in found["metrics"]}) == 10


# batch     0: ticks 1, 2        1: k_slack of 50 ms is stamped
# newest    2, still pending     so version 2 holds from 3 on, and 2 completes under version 1
def test_settings_hold_from_the_tick_after_the_newest_that_was_seen() -> None:
    stream = tuples((10, 0), (20, 150), (30, 260), (40, 400))
    rows = run(stream, QUERY, cuts=[2], changes=[(1, ("k_slack", 50))])
    base = NOW // 10
    assert [(row["version"], row["from_tick"] - base if row["from_tick"] else 0) for row in rows["facts"]] == [
        (1, 0),
        (2, 3),
    ]
    found = [(row["window_end"] - NOW, row["k_ms"], row["facts_version"]) for row in rows["results"]]
    assert found == [(100, 0, 1), (200, 50, 2), (300, 50, 2), (500, 50, 2)]


def test_settings_that_did_not_change_are_not_stamped_again() -> None:
    rows = run(tuples((10, 0), (20, 150)), QUERY, cuts=[1], silences=[(1, NOW + 40, False)])
    assert [(row["version"], json.loads(row["value"])["policy"]) for row in rows["facts"]] == [(1, "none")]


def test_settings_that_come_back_are_new_ones() -> None:
    changes = [(1, "mp_k_slack"), (2, "none")]
    rows = run(tuples((10, 0), (20, 150), (30, 160)), QUERY, cuts=[1, 2], changes=changes)
    assert [(row["version"], json.loads(row["value"])["policy"]) for row in rows["facts"]] == [
        (1, "none"),
        (2, "mp_k_slack"),
        (3, "none"),
    ]


# batch     0: tick 1, a heartbeat in tick 5     1: k_slack of 50 ms is stamped
def test_settings_hold_from_the_tick_after_a_heartbeats() -> None:
    rows = run(
        tuples((10, 0), (52, 150), (60, 260)),
        QUERY,
        cuts=[1],
        changes=[(1, ("k_slack", 50))],
        silences=[(0, NOW + 51, False)],
    )
    assert [row["from_tick"] - NOW // 10 for row in rows["facts"][1:]] == [6]
    assert [row["facts_version"] for row in rows["results"]] == [1, 2, 2]


@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_metrics_add_up_to_what_was_accepted(tasks: int) -> None:
    stream = [Tuple(NOW + i, NOW + i, f"t{i}", f"k{i % 7}", 1.0) for i in range(50)]
    rows = run(stream, QUERY, cuts=[20], tasks=tasks)
    assert sum(row["rows"] for row in rows["metrics"]) == 50 == sum(row["accepted"] for row in rows["segments"])
    assert sum(row["answers"] for row in rows["metrics"]) == len(rows["results"])
    assert sum(row["load"] for row in rows["metrics"]) == pytest.approx(2)  # 1 a batch


def test_a_tuple_in_quarantine_is_kept_with_its_record() -> None:
    rows = run([*tuples((0, 5)), Tuple(NOW, NOW, "x", "a", float("nan"))], QUERY)
    assert [(row["reason"], row["position"]) for row in rows["quarantine"]] == [("value is NaN", "0#1")]
    assert [(row["accepted"], row["quarantined"]) for row in rows["segments"]] == [(1, 1)]


# F reaches 150 at the end of tick [20, 30); then a tuple of [0, 100) comes
def test_late_tuples_of_any_task_count_in_every_tasks_coverage() -> None:
    stream = [
        Tuple(NOW + e, NOW + a, f"t{i}", k, 1.0)
        for i, (a, e, k) in enumerate([(0, 5, "a"), (20, 150, "a"), (40, 6, "b")])
    ]
    rows = run(stream, QUERY, tasks=2)
    assert [row["coverage"] for row in rows["metrics"]] == [2 / 3, 2 / 3]
    assert [(row["key"], row["tuples"], row["frontier"] - NOW) for row in rows["late"]] == [("b", 1, 150)]


def test_the_clock_writes_what_all_tasks_agree_on() -> None:
    _, batch = clock(None, entry())
    assert set(batch.output) == {"facts", "segments"}
    for index in (0, 1):
        _, tables = advanced(task(index), None, entry(), batch)
        assert set(tables) == {"metrics"}


def test_segments_may_come_in_any_order(monkeypatch) -> None:
    deliver, stream = LocalEngine.deliver, tuples((10, 5), (5, 6), (30, 205), (20, 7))
    in_order = run(stream, QUERY, cuts=[1, 2, 3], batch_of=lambda _: 0)
    monkeypatch.setattr(LocalEngine, "deliver", lambda self, header, segments: deliver(self, header, segments[::-1]))
    assert run(stream, QUERY, cuts=[1, 2, 3], batch_of=lambda _: 0) == in_order


def test_an_advance_is_a_function_of_the_state_and_of_what_came() -> None:
    kept, batch = clock(None, entry())
    task_kept, _ = advanced(task(), None, entry(), batch)
    for header in (entry(), entry(heartbeats={"readings": NOW}), entry("mp_k_slack", closes=True)):
        first, second = (clock(kept, header) for _ in range(2))
        assert first[0] == second[0]
        assert advanced(task(), task_kept, header, first[1]) == advanced(task(), task_kept, header, second[1])


def advanced(one: Task, state: bytes | None, header: BatchHeader, batch: ClockBatch) -> tuple[bytes, Batches]:
    """A packed state after a batch without rows for the task, and its rows for the tables."""
    done = one.step(one.restore(state), header, batch, [])
    return done.state.pack(one.store), done.output
