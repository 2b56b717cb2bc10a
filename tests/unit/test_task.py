"""One task, batch by batch: entries, the newest tick, what passes through, what is counted."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from harness import policy_json, run
from oracle import Settings, Tuple
from tailrace import wire
from tailrace.aggregate.kind import Aggregate
from tailrace.task import Task
from tailrace.windows.sliding import Sliding

NOW = 1_577_836_800_000
QUERY = Settings(size=100, slide=100, tick=10)


def tuples(*rows: tuple[int, int], key: str = "a") -> list[Tuple]:
    """(arrival, event time) of each, after NOW."""
    return [Tuple(NOW + event, NOW + arrival, f"t{i}", key, 1.0) for i, (arrival, event) in enumerate(rows)]


def entry(settings: str | None = None, flush: bool = False, batch: int = 0) -> tuple[str, bytes]:
    return "entry", json.dumps({"batch": batch, "settings": settings, "flush": flush}).encode()


def task(index: int = 0) -> Task:
    return Task(Aggregate(Sliding(100, 100), "sum", {"value": "value"}, pa.string()), "readings", index)


# arrival   0    15 | 25           the tick [20, 30) may go on
# event     5   105   205          105 would close [0, 100), 205 also [100, 200)
def test_the_newest_tick_stays_pending() -> None:
    rows = run(tuples((0, 5), (15, 105), (25, 205)), QUERY, flush=False)
    assert [row["window_end"] - NOW for row in rows["results"]] == [100]
    assert [row["committed"] - NOW for row in rows["metrics"]] == [20]


def test_a_flush_completes_it_and_closes_all() -> None:
    rows = run(tuples((0, 5), (15, 105), (25, 205)), QUERY)
    assert [(row["window_end"] - NOW, row["as_of"] - NOW) for row in rows["results"]] == [
        (100, 20),
        (200, 30),
        (300, 30),
    ]


# tick      [20, 30)              both batches bring tuples of it
def test_what_comes_later_in_the_same_tick_is_not_late() -> None:
    rows = run(tuples((0, 5), (21, 150), (28, 50)), QUERY, cuts=[2])
    assert "late" not in rows
    assert [(row["window_end"] - NOW, row["tuples"]) for row in rows["results"]] == [(100, 2), (200, 1)]


def test_a_flush_alone_closes_what_is_pending() -> None:
    rows = run(tuples((0, 5)), QUERY, cuts=[1])  # the second segment is empty
    assert [row["tuples"] for row in rows["results"]] == [1]


def test_an_empty_stream_gives_no_answers() -> None:
    rows = run([], QUERY)
    assert set(rows) == {"facts", "metrics", "segments"}
    assert rows["metrics"][0]["coverage"] is None


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


def test_without_settings_nothing_is_stamped() -> None:
    rows = run(tuples((10, 0), (20, 150)), QUERY, cuts=[1])
    assert [(row["version"], json.loads(row["settings"])["policy"]) for row in rows["facts"]] == [(1, "none")]


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


def test_what_is_no_entry_and_no_segment_passes_through_as_it_is() -> None:
    aside = [("quarantine", b"anything"), ("history", b"at all")]
    _, output = task().advance(None, [aside[0], entry(policy_json("none")), aside[1]])
    assert output[:2] == aside


def test_only_the_first_task_writes_what_all_agree_on() -> None:
    tables = [{table for table, _ in task(index).advance(None, [entry(policy_json("none"))])[1]} for index in (0, 1)]
    assert tables == [{"facts", "metrics"}, {"metrics"}]


def test_messages_may_come_in_any_order() -> None:
    found = []

    def shuffled(self: Task, kept, messages):
        messages = list(messages)
        return advance(self, kept, messages if not found else messages[::-1])

    advance, stream = Task.advance, tuples((10, 5), (5, 6), (30, 205), (20, 7))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Task, "advance", shuffled)
        for _ in range(2):
            found.append(run(stream, QUERY, cuts=[1, 2, 3], batch_of=lambda _: 0))
    assert found[0] == found[1]


def test_an_advance_is_a_function_of_what_was_kept_and_what_came() -> None:
    kept, _ = task().advance(None, [entry(policy_json("none"))])
    assert task().advance(kept, [entry()]) == task().advance(kept, [entry()])


def test_rows_travel_under_the_name_of_their_table() -> None:
    _, output = task().advance(None, [entry(policy_json("none"))])
    assert all(list(wire.unpack(data)[0]) == [table] for table, data in output)
