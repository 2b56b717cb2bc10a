"""The rows of the tables, and what is stamped on them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from tailrace.answers.by_pair import ByPair
from tailrace.answers.by_window import ByWindow
from tailrace.disorder.clock import Frontier, StreamClock
from tailrace.disorder.error_model import SAMPLE
from tailrace.disorder.total_coverage import TotalCoverage
from tailrace.engine import output_tables
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.tick_buffer import TickBuffer
from tailrace.ground.facts import Fact
from tailrace.kind.step import Step
from tailrace.tables.stream import CLASSES
from tailrace.windows.sliding import Sliding

HEAD = BatchHeader(8, ())
MODEL = ByWindow(Sliding(10, 10))
CLOCK = StreamClock(
    t_max=90, frontier=30, k_ms=61, end=100, in_force=Fact("settings", 2, 0, {"policy": "none"}, "found")
)

# tick          4     7     9 |   9     the last one again, at which the stream is closed
# its end      50    80   100 | 100
# F            10    30    30 |  40
OPEN = Frontier(
    0,
    *(
        np.array(column, np.int64)
        for column in ([4, 7, 9], [50, 80, 100], [60, 90, 90], [50, 60, 61], [10, 30, 30], [1, 1, 2])
    ),
)
FRONTIER = dataclasses.replace(CLOCK).close(OPEN, 40)
ANSWERS = pa.record_batch(
    {
        "key": pa.array(["a"] * 4),
        "window_start": pa.array([0, 10, 20, 30]),
        "window_end": pa.array([10, 20, 30, 40]),
        "value": pa.array([1.0] * 4),
        "tuples": pa.array([1] * 4),
    }
)
LATE = pa.record_batch(
    {
        "key": ["a", "b"],
        "pane_start": [0, 10],
        "tick": [9, 7],
        "tuples": [3, 4],
        "total": [1.5, None],
        "frontier": [30, 10],
    }
)
NOTHING = ANSWERS.slice(0, 0), LATE.slice(0, 0)


def step_of(answers: pa.RecordBatch, late: pa.RecordBatch = LATE) -> Step:
    """The step of a kind of windows that gave these rows."""
    return Step(None, answers, FRONTIER.closing(np.asarray(answers.column("window_end"))), (late,))


# end 10 closed at tick 4, 20 and 30 at tick 7, 40 by the silence after the last tick, which stamps it
def test_answers_carry_what_was_in_force_when_their_window_closed() -> None:
    found = output_tables.results(step_of(ANSWERS), FRONTIER)
    assert found.column("as_of").to_pylist() == [50, 80, 80, 100]
    assert found.column("k_ms").to_pylist() == [50, 60, 60, 61]
    assert found.column("facts_version").to_pylist() == [1, 1, 1, 2]


def test_late_tuples_arrived_at_the_end_of_their_tick() -> None:
    assert output_tables.late((LATE,), MODEL.late(pa.string()), FRONTIER, ["readings"]).to_pylist() == [
        {
            "stream": "readings",
            "key": "a",
            "pane_start": 0,
            "tick": 9,
            "tuples": 3,
            "total": 1.5,
            "arrived": 100,
            "frontier": 30,
        },
        {
            "stream": "readings",
            "key": "b",
            "pane_start": 10,
            "tick": 7,
            "tuples": 4,
            "total": None,
            "arrived": 80,
            "frontier": 10,
        },
    ]


def test_facts_as_they_were_stamped() -> None:
    facts = [Fact("settings", 2, 7, {"v": 1}, "declared"), Fact("plan", 1, 9, {"p": 2}, "balanced")]
    rows = output_tables.facts(facts)
    settings = {"about": "settings", "version": 2, "from_tick": 7, "from_segment": None, "value": '{"v": 1}'}
    plan = {"about": "plan", "version": 1, "from_tick": None, "from_segment": 9, "value": '{"p": 2}'}
    assert rows.to_pylist() == [settings | {"evidence": "declared"}, plan | {"evidence": "balanced"}]
    assert output_tables.facts([]).num_rows == 0
    assert output_tables.facts([]).schema == rows.schema


# v1 is in force, v2 holds from the next tick with tuples on: what closes now, closes by v1
def test_that_a_stream_is_quiet_is_a_fact_by_the_settings_in_force() -> None:
    facts = Fact("settings", 1, 0, {"v": 1}, "declared"), Fact("settings", 2, 10, {"v": 2}, "found")
    clock = dataclasses.replace(CLOCK, in_force=facts[0], facts=facts)
    (row,) = output_tables.facts([output_tables.quiet(clock, 10)]).to_pylist()
    assert (row["version"], row["from_tick"], row["value"]) == (1, 10, '{"v": 1}')
    assert row["evidence"] == "quiet: windows are closed up to 1970-01-01T00:00:00.030Z"


@pytest.mark.parametrize(("first", "last"), [(1, 2), ("a", "b"), (None, None)])
def test_segments_as_they_were_read(first, last) -> None:
    place = {
        "stream": "readings",
        "path": "f",
        "ordinal": 1,
        "position": 2,
        "first_row": 3,
        "rows": 4,
        "of_rows": 9,
        "size": 77,
    }
    place |= {"mtime_ns": 1 << 60, "ingested_ms": None}
    place |= {"accepted": 3, "quarantined": 1, "filtered": 0, "unmatched": 0, "before_tick": 5, "before_end": 60}
    place |= {"min_event": 11, "max_event": 12, "min_id": first, "max_id": last, "distinct_ids": True, "floored": None}
    assert output_tables.segments(9, [place]).to_pylist() == [{"batch": 9} | place]
    assert output_tables.segments(9, []).num_rows == 0


def pending(committed: int | None) -> TickBuffer:
    """What is pending of a stream that stands in tick 7, of 10 ms, or before its first tick."""
    empty = TickBuffer.empty(10, [pa.string()], SAMPLE)
    newest = empty.streams[0].newest if committed is None else (7, committed + 10)
    return dataclasses.replace(empty, streams=(dataclasses.replace(empty.streams[0], newest=newest),))


def metrics(
    arrived=(), accepted=0, answers=ANSWERS, late=LATE, clock=CLOCK, frontier=FRONTIER, committed=100, head=HEAD
) -> dict:
    measured = dict.fromkeys(("ticks", "repeats", "filtered", *CLASSES), 0)
    measured |= output_tables.task_counts(MODEL, list(arrived), accepted, step_of(answers, late), frontier)
    measured |= output_tables.clock_columns(clock, TotalCoverage(3, 1), pending(committed))
    (row,) = output_tables.metrics(head, 1, measured).to_pylist()
    return row


@pytest.mark.parametrize(("closes", "ends"), [(False, False), (True, False), (True, True)])
def test_only_the_end_of_a_bounded_run_is_a_flush(closes: bool, ends: bool) -> None:
    assert metrics(head=BatchHeader(8, (), {"readings": 9}, closes=closes, ends=ends))["flushed"] is ends


def test_how_a_task_stood() -> None:
    row = metrics()
    assert (row["batch"], row["task"], row["flushed"]) == (8, 1, False)
    assert (row["t_max"], row["frontier"], row["committed"], row["k_ms"]) == (90, 30, 100, 61)
    assert (row["answers"], row["late"], row["coverage"]) == (4, 7, 0.75)


def test_rows_are_its_own_and_load_its_share() -> None:
    partials = pa.record_batch({"tuples": [2, 1]})
    row = metrics([partials, partials], accepted=12)
    assert (row["rows"], row["load"]) == (6, 0.5)


def test_the_imbalance_of_a_batch_is_the_excess_of_the_greatest_load_over_the_mean() -> None:
    def imbalances(*loads: float | None) -> list[float | None]:
        rows = {"load": pa.array(loads, pa.float64()), "imbalance": pa.nulls(len(loads), pa.float64())}
        table = output_tables.with_imbalance(pa.table(rows))
        assert table.column_names == ["load", "imbalance"]
        return table.column("imbalance").to_pylist()

    assert imbalances(4.0, 2.0, 6.0, 0.0) == [1.0] * 4
    assert imbalances(0.0, 0.0) == [0.0, 0.0]
    assert imbalances(None, None) == [None, None]  # nothing was read


# closed at     50  80  80  100
# window ends   10  20  30   40     40 + 60 + 50 + 60 ms
def test_latency_is_the_mean_time_from_a_windows_end_to_its_answer() -> None:
    assert metrics()["latency_ms"] == (40 + 60 + 50 + 60) / 4


# closed at      50  80
# later tuple    30  70     20 + 10 ms
def test_the_latency_of_a_pair_counts_from_its_later_tuple() -> None:
    rows = {"left_id": ["a", "a"], "right_id": ["b", "c"], "left_time": [10, 70], "right_time": [30, 60]}
    step = Step(None, pa.record_batch(rows), np.array([0, 1]), (LATE,))
    assert output_tables.task_counts(ByPair((20, 20)), [], 0, step, FRONTIER)["latency_ms"] == (20 + 10) / 2


def test_before_the_first_tick_there_is_no_time() -> None:
    answers, late = NOTHING
    empty = Frontier(0, *(np.zeros(0, np.int64),) * 6)
    row = metrics(answers=answers, late=late, clock=StreamClock(), frontier=empty, committed=None)
    assert [row[name] for name in ("t_max", "frontier", "committed", "latency_ms", "load")] == [None] * 5


def test_a_heartbeat_before_the_first_tick_commits_and_tells_no_event_time() -> None:
    answers, late = NOTHING
    row = metrics(answers=answers, late=late, clock=StreamClock(), frontier=Frontier(0, *(np.zeros(0, np.int64),) * 6))
    assert (row["t_max"], row["frontier"], row["committed"]) == (None, None, 100)


# windows of 20 each 10 ms; F  0 | 10 | 30 before ticks 4, 7, 9
@pytest.mark.parametrize(
    ("tick", "pane", "class_"),
    [
        (4, 0, "buffered"),
        (7, 10, "buffered"),
        (7, 0, "in_process"),  # [0, 20) is open, [-10, 10) is not
        (7, -10, "expired"),
        (9, 30, "buffered"),
        (9, 20, "in_process"),
        (9, 10, "expired"),  # its last window [10, 30) closed as F came to 30
    ],
)
def test_a_tuple_is_of_the_class_that_the_frontier_finds_it_in(tick: int, pane: int, class_: str) -> None:
    counts = pa.table({"tick": [tick, tick], "pane": [pane, pane], "count": [3, 2]})
    found = output_tables.arrival_classes(Sliding(20, 10), counts, OPEN)
    assert found == {"buffered": 0, "in_process": 0, "expired": 0} | {class_: 5}


def test_the_counts_of_an_enrichment_are_those_of_its_segments() -> None:
    records = [
        {"accepted": 4, "filtered": 2, "answers": 3, "waited_ms": 60},
        {"accepted": 2, "filtered": 0, "answers": 1, "waited_ms": 20},
        {"accepted": 0, "filtered": 5},
    ]
    counts = output_tables.enrichment_counts([*records, {"accepted": 0, "filtered": 0}])
    assert counts["filtered"] == 7
    assert (counts["rows"], counts["answers"], counts["latency_ms"], counts["late"]) == (6, 4, 20, 0)
    assert output_tables.enrichment_counts([])["latency_ms"] is None
