"""The batch planner plans each row exactly once, in the order of the log, wherever a driver was interrupted."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from kit.fakes.toy_join import ToyJoin
from kit.runs.planner_driver import (
    IDLE,
    LIVE,
    NONE,
    STREAM,
    WAITING,
    WHOLE,
    Driver,
    Log,
    entries,
    in_force,
    rows_read,
    said,
    segments,
)
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.feedback import FEEDBACK
from tailrace.ground.errors import Busy
from tailrace.ground.facts import Fact
from tailrace.sources.segments import Segment
from tailrace.spark.executor import share
from tailrace.storage.journal import BatchRecord, Journal, LogPosition, StreamPosition
from tailrace.stream import batch_segments
from tailrace.stream.run_options import RunOptions

LIVE_LARGE = replace(LIVE, batch_rows=1_000_000)


@pytest.mark.parametrize("stop", range(6))
@pytest.mark.parametrize("batch_rows", [1, 4, 6, 100])
def test_a_restarted_driver_plans_from_the_next_row_on(tmp_path, stop, batch_rows):
    driver = Driver(tmp_path, Log(*segments()), RunOptions(batch_rows))
    for _ in range(stop):
        driver.plan()
    driver.restart()
    driver.go()
    assert rows_read(tmp_path) == WHOLE
    headers = [record.header for record in entries(tmp_path)]
    assert [(batch_header.closes, batch_header.ends) for batch_header in headers] == [(False, False)] * (
        len(headers) - 1
    ) + [(True, True)]
    assert [batch_header.batch for batch_header in headers] == list(range(len(headers)))
    assert driver.planner.batches == len(headers)


def test_a_batch_takes_segments_up_to_its_rows_and_cuts_one_that_has_more(tmp_path):
    driver = Driver(tmp_path, Log(*segments()), RunOptions(batch_rows=5))
    batches = []
    while (record := driver.plan()) is not None:
        batches.append(([segment.rows for segment in record.segments], driver.planner.rows_left))
    assert batches == [([3], 11), ([3, 2], 6), ([4, 1], 1), ([1], 0)]
    larger = Driver(tmp_path / "larger", Log(*segments("ba")), RunOptions(batch_rows=3))
    larger.directory.mkdir()
    batches = []
    while (record := larger.plan()) is not None:
        batches.append([(Path(part.path).name, part.first_row, part.rows) for part in record.segments])
    assert batches == [[("b", 0, 3)], [("b", 3, 1)], [("a", 0, 3)], [("a", 3, 3)], [("a", 6, 2)]]


def one_row_segments(count: int) -> list[Segment]:
    return [Segment("/in/x", row, 1) for row in range(count)]


def test_a_batch_takes_no_more_than_ten_thousand_segments_however_small(tmp_path):
    driver = Driver(tmp_path, Log(*one_row_segments(25_000)), LIVE_LARGE)
    records = [driver.plan() for _ in range(3)]
    assert [len(record.segments) for record in records] == [10_000, 10_000, 5_000], "without waiting for the pace"
    assert driver.planner.rows_left == 0
    assert rows_read(tmp_path) == [("x", row) for row in range(25_000)]
    assert driver.plan() is None


@pytest.mark.needs("quiet")
@pytest.mark.slow
def test_planning_takes_time_in_proportion_to_the_segments(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_segments, "SEGMENTS", 10**9)
    driver = Driver(tmp_path, Log(*one_row_segments(50_000)), LIVE_LARGE)
    start_s = time.process_time()
    assert len(driver.plan().segments) == 50_000
    assert time.process_time() - start_s < 20  # quadratic time would be minutes


def test_changed_settings_are_planned_at_once_as_a_fact_of_their_own(tmp_path):
    driver = Driver(tmp_path, Log(*segments("a")), RunOptions(4, flush=False))
    driver.go()
    assert [in_force(record) for record in entries(tmp_path)] == [NONE] * 3
    driver.restart()
    assert driver.plan() is None
    driver.restart(settings=WAITING)
    record = driver.plan(newest_tick=8)
    facts = (Fact("settings", 1, 0, json.loads(NONE), "declared"),)
    facts += (Fact("settings", 2, 9, json.loads(WAITING), "declared", batch=3),)
    assert record == BatchRecord(BatchHeader(3, facts, idle_ms=IDLE), (), driver.planner.position)
    assert driver.plan() is None


def test_a_run_with_keep_open_closes_no_window_and_can_be_resumed(tmp_path):
    driver = Driver(tmp_path, Log(*segments("ab")), RunOptions(4, flush=False))
    driver.go()
    assert not any(record.header.closes or record.header.ends for record in entries(tmp_path))
    driver.log.there += segments("d")
    driver.restart(options=RunOptions(4))
    driver.go()
    assert rows_read(tmp_path) == WHOLE
    assert driver.planner.ended


def test_ending_a_run_that_was_kept_open_may_be_a_batch_without_rows(tmp_path):
    driver = Driver(tmp_path, Log(*segments()), RunOptions(100, flush=False))
    driver.go()
    driver.restart(options=RunOptions(100))
    assert said(driver.plan()) == (None, True, 0)
    assert driver.planner.ended


def test_an_empty_source_is_one_batch_that_ends_the_stream(tmp_path):
    driver = Driver(tmp_path, Log(), RunOptions())
    record = driver.plan()
    facts = (Fact("settings", 1, 0, json.loads(NONE), "declared"),)
    assert (record.header, record.segments) == (BatchHeader(0, facts, closes=True, ends=True, idle_ms=IDLE), ())
    assert driver.plan() is None  # it has ended
    driver.restart()
    assert driver.plan() is None


@pytest.mark.parametrize("options", [RunOptions(), RunOptions(3), RunOptions(flush=False), LIVE])
def test_a_stream_that_a_bounded_run_has_ended_goes_on_with_what_is_new(tmp_path, options):
    driver = Driver(tmp_path, Log(*segments("b")), RunOptions())
    assert driver.plan().header.ends
    driver.log.there += segments("a")
    driver.restart(options=options, settings=WAITING)
    driver.go()
    headers = [record.header for record in entries(tmp_path)]
    assert sum(record.position.rows for record in entries(tmp_path)[-1:]) == 12
    assert rows_read(tmp_path) == [row for row in WHOLE if row[0] == "b"] + [row for row in WHOLE if row[0] == "a"]
    ends = not options.live and options.flush
    assert [header.ends for header in headers] == [True] + [False] * (len(headers) - 2) + [ends]
    assert [header.closes for header in headers] == [header.ends for header in headers]
    assert in_force(entries(tmp_path)[1]) == WAITING


@pytest.mark.parametrize("options", [RunOptions(), RunOptions(flush=False)])
def test_a_bounded_run_over_a_stream_that_has_ended_writes_nothing_where_nothing_is_new(tmp_path, options):
    driver = Driver(tmp_path, Log(*segments("b")), RunOptions())
    driver.go()
    driver.restart(options=options, settings=WAITING)
    assert driver.plan() is None
    assert len(entries(tmp_path)) == 1


def test_a_live_run_over_a_stream_that_has_ended_is_quiet_until_something_comes(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), RunOptions())
    driver.go()
    driver.restart(options=LIVE)
    assert not any(
        record.header.closes for record in [driver.plan(after=10 * IDLE, committed=5, reached=(5,))] if record
    )
    assert driver.planner.state == "quiet"
    driver.log.there += segments("d")
    driver.plan(after=IDLE)
    assert driver.planner.state == "waiting"
    record = driver.plan(after=2 * IDLE, committed=5, reached=(5,))
    assert (record.header.closes, record.header.ends) == (True, False)


@pytest.mark.parametrize("stamps", [False, True])
def test_rows_are_stamped_with_the_time_of_their_planning_or_bounded_by_it(tmp_path, stamps):
    driver = Driver(tmp_path, Log(*segments("ab")), RunOptions(4), stamps=stamps)
    times = [driver.time + 7 * (i + 1) for i in range(3)]
    arrival_times = [{segment.ingested_ms for segment in driver.plan(after=7).segments} for _ in times]
    assert arrival_times == [{time} for time in times]


def test_a_bounded_run_ignores_the_pace(tmp_path):
    driver = Driver(tmp_path, Log(*segments("dd")), replace(LIVE, live=False, batch_rows=1))
    driver.go()
    assert len(entries(tmp_path)) == 4


def test_a_table_version_counts_as_read_once_all_of_it_is_planned(tmp_path):
    driver = Driver(tmp_path, Log(*segments("a", 3), *segments("b", 4)), LIVE)
    driver.log.version = 6  # versions 5 and 6 added no file
    versions = []
    while (record := driver.plan(after=LIVE.pace_ms)) is not None:
        position = record.position.streams[STREAM]
        versions.append(([segment.version for segment in record.segments], position.version))
    assert versions == [([3], 2), ([3], 2), ([3], 3), ([4], 6)]
    driver.log.version = 9
    assert driver.plan(after=IDLE, committed=1).position.streams[STREAM].version == 9


def test_an_empty_journal_has_the_initial_position(tmp_path):
    driver = Driver(tmp_path, Log(), LIVE)
    position = LogPosition({STREAM: StreamPosition()})
    assert (driver.planner.position, driver.planner.batches, driver.planner.ended) == (position, 0, False)


@pytest.mark.parametrize("readers", [1, 2, 3, 8])
def test_readers_share_the_segments_of_a_batch_in_order(tmp_path, readers):
    record = Driver(tmp_path, Log(*segments()), RunOptions(100)).plan()
    parts = share(record.segments, readers)
    assert [segment for part in parts for segment in part] == list(record.segments)
    assert 1 <= len(parts) <= readers
    assert all(parts)


def test_a_batch_without_segments_has_one_reader(tmp_path):
    assert share((), 4) == [[]]


def metrics(rows: int, partials: int, answers: int) -> list[dict]:
    """What the only task reports of a batch."""
    return [{"rows": rows, "partials": partials, "answers": answers, "loads": None, "committed": None, "task": 0}]


TOYS = ToyJoin(100, feedback_ms=1_000)


def loaded(driver: Driver, committed: int) -> None:
    """Report a batch at whose end the stream has reached a time, with load on one of two tasks."""
    loads = [("letter", [97.0]), ("load", [1.0])]
    counts = {"rows": 1, "partials": 1, "answers": 0, "committed": committed}
    driver.planner.observe([counts | {"task": 0, "loads": loads}, counts | {"task": 1, "loads": None}])


def test_a_new_plan_is_stamped_on_the_next_batch_with_rows_from_its_first_segment_on(tmp_path):
    driver = Driver(tmp_path, Log(*segments("ab")), RunOptions(3, flush=False), kind=TOYS)
    driver.plan()
    loaded(driver, 0)
    loaded(driver, 1_000)
    record = driver.plan(newest_tick=3, newest_event=77)
    plan = Fact("plan", 1, 1, {"salt": 1, "of": [[97.0, 0.0, 2.0]], "tasks": 2}, FEEDBACK, 1, 77, 3)
    assert record.header.plans() == record.header.stamped == (plan,)
    assert record.segments[0].ordinal == plan.since
    assert driver.plan().header.plans() == (plan,)
    driver.go()
    loaded(driver, 2_000)
    assert driver.plan() is None, "a plan alone is no reason for a batch"
    driver.log.there += segments("d")
    driver.restart()  # the load of a driver is not kept, its plans are
    assert driver.plan().header.plans() == (plan,)


def test_a_plan_is_in_no_header_once_its_tuples_have_expired(tmp_path):
    driver = Driver(tmp_path, Log(*segments()), RunOptions(1, flush=False), kind=TOYS)
    driver.plan()
    for salt, event in ((1, 50), (2, 60), (3, 400)):
        loaded(driver, salt * 2_000)
        loaded(driver, salt * 2_000 + 1_000)
        assert driver.plan(newest_event=event).header.plans()[-1].value["salt"] == salt
    known = [[fact.version for fact in driver.plan(frontier=at).header.plans()] for at in (160, 161, 500, 501, 10**6)]
    assert known == [[1, 2, 3], [2, 3], [2, 3], [3], [3]]  # a tuple at 60 has partners up to 160


def sizes(driver: Driver, outputs: list[tuple[int, int]]) -> list[int]:
    """The number of rows of each batch; `outputs` gives the (partials, answers) per thousand rows of each."""
    row_counts = []
    for partials, answers in outputs:
        record = driver.plan()
        row_counts.append(sum(segment.rows for segment in record.segments))
        counts = row_counts[-1] * partials // 1000, row_counts[-1] * answers // 1000
        driver.planner.observe(metrics(row_counts[-1], *counts))
    return row_counts


MANY = [Segment("/in/many", 100_000 * part, 100_000) for part in range(300)]


@pytest.mark.parametrize(
    ("outputs", "rows"),
    [
        ([(10, 0)] * 4, [10, 20, 40, 40]),  # they double, up to `batch_rows`
        ([(1000, 0)] * 3, [10, 10, 10]),  # one partial per row, as with many keys
        ([(10, 0), (10, 5000), (10, 10)], [10, 20, 10]),  # five answers per row
        ([(10, 0), (10, 0), (400, 10), (10, 10)], [10, 20, 40, 25]),
    ],
)
def test_batches_grow_up_to_a_million_partials_or_answers(tmp_path, outputs, rows):
    driver = Driver(tmp_path, Log(*MANY), RunOptions())
    assert [n // 100_000 for n in sizes(driver, outputs)] == rows


def test_batches_come_to_no_more_partials_or_answers_than_a_run_may_have(tmp_path):
    driver = Driver(tmp_path, Log(*MANY), RunOptions(batch_answers=200_000))
    assert [n // 100_000 for n in sizes(driver, [(10, 0), (10, 100), (10, 1000), (1000, 10)])] == [2, 4, 8, 2]


class Wide(ToyJoin):
    row_weight = 25


@pytest.mark.parametrize(
    ("kind", "outputs", "rows"),
    [
        (TOYS, [(1000, 0)] * 4, [4, 8, 16, 32]),  # a join begins with few rows, which may meet many
        (TOYS, [(1000, 0), (1000, 900_000), (1000, 100_000), (1000, 0)], [4, 8, 4, 8]),
        (Wide(100), [(1000, 0)] * 7, [4, 8, 16, 32, 40, 40, 40]),  # a million rows of 64 bytes
        (Wide(100), [(10, 0)] * 8, [4, 8, 16, 32, 40, 100, 100, 100]),  # four million of them, by whole segments
    ],
)
def test_batches_of_a_join_begin_small_and_grow_by_what_they_come_to(tmp_path, kind, outputs, rows):
    driver = Driver(tmp_path, Log(*MANY), RunOptions(), kind=kind)
    assert [n // 1_000 for n in sizes(driver, outputs)] == rows


def test_the_first_batch_already_takes_no_more_than_batch_rows(tmp_path):
    driver = Driver(tmp_path, Log(*MANY), RunOptions(batch_rows=300_000))
    assert sizes(driver, [(0, 0)] * 4) == [300_000] * 4


def test_a_batch_without_rows_does_not_change_the_batch_size(tmp_path):
    driver = Driver(tmp_path, Log(*MANY), RunOptions())
    driver.planner.observe(metrics(0, 0, 5_000_000))
    assert sizes(driver, [(0, 0)]) == [1_000_000]


@pytest.mark.parametrize("is_written", [False, True])
def test_an_entry_of_which_nobody_can_tell_whether_it_was_written_is_the_next_one(tmp_path, monkeypatch, is_written):
    driver = Driver(tmp_path, Log(*segments()), LIVE)
    append = Journal.append

    def lose_the_reply(journal, entry):
        if is_written:
            append(journal, entry)
        raise OSError("the store is away")

    with monkeypatch.context() as away:
        away.setattr(Journal, "append", lose_the_reply)
        for _ in range(2):
            with pytest.raises(OSError, match="the store is away"):
                driver.plan()
            driver.time += 1000
    assert driver.planner.batches == 0
    driver.go()
    assert rows_read(tmp_path) == WHOLE


def test_a_driver_that_another_one_may_have_replaced_appends_nothing(tmp_path):
    driver = Driver(tmp_path, Log(*segments()), LIVE)

    def require_held():
        raise Busy([])

    driver.planner.writer.require_held = require_held
    with pytest.raises(Busy):
        driver.plan()
    assert not entries(tmp_path)
