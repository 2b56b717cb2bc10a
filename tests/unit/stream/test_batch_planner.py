"""What the driver plans: each row is read once, in the order of the log, wherever planning stopped."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from planning import IDLE, LIVE, NONE, WAITING, WHOLE, Driver, Log, entries, in_force, rows_read, said, segments
from tailrace.engine.batch_header import BatchHeader
from tailrace.ground.facts import Fact
from tailrace.sources.segments import Segment
from tailrace.spark.source import share
from tailrace.storage.journal import BatchRecord, LogPosition
from tailrace.stream import batch_planner
from tailrace.stream.batch_planner import Ended, RunOptions

LIVE_LARGE = replace(LIVE, batch_rows=1_000_000)


@pytest.mark.parametrize("stop", range(6))
@pytest.mark.parametrize("batch_rows", [1, 4, 6, 100])
def test_planning_that_stops_anywhere_goes_on_with_the_next_row(tmp_path, stop, batch_rows):
    driver = Driver(tmp_path, Log(*segments()), RunOptions(batch_rows))
    for _ in range(stop):
        driver.plan()
    driver.restart()
    driver.go()
    assert rows_read(tmp_path) == WHOLE
    heads = [entry.header for entry in entries(tmp_path)]
    assert [(head.closes, head.ends) for head in heads] == [(False, False)] * (len(heads) - 1) + [(True, True)]
    assert [head.batch for head in heads] == list(range(len(heads)))
    assert driver.intake.batches == len(heads)


def test_a_batch_takes_segments_up_to_its_rows_and_cuts_one_that_has_more(tmp_path):
    driver = Driver(tmp_path, Log(*segments()), RunOptions(batch_rows=5))
    found = []
    while (entry := driver.plan()) is not None:
        found.append(([segment.rows for segment in entry.segments], driver.intake.rows_left))
    assert found == [([3], 11), ([3, 2], 6), ([4, 1], 1), ([1], 0)]
    larger = Driver(tmp_path / "larger", Log(*segments("ba")), RunOptions(batch_rows=3))
    larger.directory.mkdir()
    found = []
    while (entry := larger.plan()) is not None:
        found.append([(Path(part.path).name, part.first_row, part.rows) for part in entry.segments])
    assert found == [[("b", 0, 3)], [("b", 3, 1)], [("a", 0, 3)], [("a", 3, 3)], [("a", 6, 2)]]


def tiny(many: int) -> list[Segment]:
    return [Segment("/in/x", row, 1) for row in range(many)]


def test_a_batch_takes_no_more_than_ten_thousand_segments_however_small(tmp_path):
    driver = Driver(tmp_path, Log(*tiny(25_000)), LIVE_LARGE)
    found = [driver.plan() for _ in range(3)]
    assert [len(entry.segments) for entry in found] == [10_000, 10_000, 5_000], "at once, one after the other"
    assert driver.intake.rows_left == 0
    assert rows_read(tmp_path) == [("x", row) for row in range(25_000)]
    assert driver.plan() is None


def test_planning_takes_time_in_proportion_to_the_segments(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_planner, "_SEGMENTS", 10**9)
    driver = Driver(tmp_path, Log(*tiny(50_000)), LIVE_LARGE)
    begun = time.process_time()
    assert len(driver.plan().segments) == 50_000
    assert time.process_time() - begun < 20  # in proportion to their square it would take minutes


def test_settings_are_told_each_time_and_change_at_once(tmp_path):
    driver = Driver(tmp_path, Log(*segments("a")), RunOptions(4, flush=False))
    driver.go()
    assert [in_force(entry) for entry in entries(tmp_path)] == [NONE] * 3
    driver.restart()
    assert driver.plan() is None
    driver.restart(settings=WAITING)
    entry = driver.plan(newest_tick=8)
    facts = (Fact("settings", 1, 0, json.loads(NONE), "declared"),)
    facts += (Fact("settings", 2, 9, json.loads(WAITING), "declared", batch=3),)
    assert entry == BatchRecord(BatchHeader(3, facts), (), driver.intake.position)
    assert driver.plan() is None


def test_a_run_that_is_kept_open_ends_nothing_and_goes_on(tmp_path):
    driver = Driver(tmp_path, Log(*segments("ab")), RunOptions(4, flush=False))
    driver.go()
    assert not any(entry.header.closes or entry.header.ends for entry in entries(tmp_path))
    driver.log.there += segments("d")
    driver.restart(options=RunOptions(4))
    driver.go()
    assert rows_read(tmp_path) == WHOLE
    assert driver.intake.ended


def test_the_end_of_a_run_that_was_kept_open_may_come_alone(tmp_path):
    driver = Driver(tmp_path, Log(*segments()), RunOptions(100, flush=False))
    driver.go()
    driver.restart(options=RunOptions(100))
    assert said(driver.plan()) == (None, True, 0)
    assert driver.intake.ended


def test_nothing_to_read_is_one_batch_that_ends_the_stream(tmp_path):
    driver = Driver(tmp_path, Log(), RunOptions())
    entry = driver.plan()
    facts = (Fact("settings", 1, 0, json.loads(NONE), "declared"),)
    assert (entry.header, entry.segments) == (BatchHeader(0, facts, None, closes=True, ends=True), ())
    assert driver.plan() is None  # it has ended
    driver.restart()
    assert driver.plan() is None


@pytest.mark.parametrize("plan", [RunOptions(), LIVE])
def test_what_comes_after_the_end_was_planned_is_refused(tmp_path, plan):
    driver = Driver(tmp_path, Log(*segments("b")), RunOptions())
    assert driver.plan().header.ends
    with pytest.raises(Ended, match="its windows are closed"):
        driver.intake.refuse_ended()
    driver.log.there += segments("d")
    driver.restart(options=plan, settings=WAITING)
    with pytest.raises(Ended, match="/in/d came after its end, and would never be read"):
        driver.plan()
    assert len(entries(tmp_path)) == 1


def test_a_stream_that_has_not_ended_is_not_refused(tmp_path):
    driver = Driver(tmp_path, Log(*segments()), LIVE)
    driver.intake.refuse_ended()
    driver.go()
    driver.intake.refuse_ended()


@pytest.mark.parametrize("stamps", [False, True])
def test_rows_get_the_time_of_their_planning_where_they_bring_none(tmp_path, stamps):
    driver = Driver(tmp_path, Log(*segments("ab")), RunOptions(4), stamps=stamps)
    times = [driver.time + 7 * (i + 1) for i in range(3)]
    found = [{segment.ingested_ms for segment in driver.plan(after=7).segments} for _ in times]
    assert found == [{time if stamps else None} for time in times]


def test_a_bounded_run_does_not_wait(tmp_path):
    driver = Driver(tmp_path, Log(*segments("dd")), replace(LIVE, live=False, batch_rows=1))
    driver.go()
    assert len(entries(tmp_path)) == 4


def test_a_version_that_is_planned_in_part_is_not_yet_read(tmp_path):
    driver = Driver(tmp_path, Log(*segments("a", 3), *segments("b", 4)), LIVE)
    driver.log.version = 6  # 5 and 6 brought nothing
    found = []
    while (entry := driver.plan(after=LIVE.pace_ms)) is not None:
        found.append(([segment.version for segment in entry.segments], entry.position.version))
    assert found == [([3], 2), ([3], 2), ([3], 3), ([4], 6)]
    driver.log.version = 9
    assert driver.plan(after=IDLE, committed=1).position.version == 9


def test_an_empty_journal_stands_before_everything(tmp_path):
    driver = Driver(tmp_path, Log(), LIVE)
    assert (driver.intake.position, driver.intake.batches, driver.intake.ended) == (LogPosition(), 0, False)


@pytest.mark.parametrize("readers", [1, 2, 3, 8])
def test_readers_share_an_entry_in_order_and_one_tells_the_head(tmp_path, readers):
    entry = Driver(tmp_path, Log(*segments()), RunOptions(100)).plan()
    parts = share(entry, readers)
    assert [segment for _, _, part in parts for segment in part] == list(entry.segments)
    assert [header for header, _, _ in parts] == [entry.header.pack()] * len(parts)
    assert [first for _, first, _ in parts] == [True] + [False] * (len(parts) - 1)
    assert 1 <= len(parts) <= readers


def test_an_entry_without_segments_is_told_by_one_reader(tmp_path):
    entry = Driver(tmp_path, Log(), RunOptions()).plan()
    assert share(entry, 4) == [(entry.header.pack(), True, [])]


def sizes(driver: Driver, made: list[tuple[int, int]]) -> list[int]:
    """How many rows each batch has, after what those before it came to: (partials, answers) a thousand rows."""
    found = []
    for partials, answers in made:
        entry = driver.plan()
        found.append(sum(segment.rows for segment in entry.segments))
        driver.intake.adapt_batch_size(found[-1], found[-1] * partials // 1000, found[-1] * answers // 1000)
    return found


MANY = [Segment("/in/many", 100_000 * part, 100_000) for part in range(300)]


@pytest.mark.parametrize(
    ("made", "rows"),
    [
        ([(10, 0)] * 4, [10, 20, 40, 40]),  # they double, up to what a batch may have
        ([(1000, 0)] * 3, [10, 10, 10]),  # a partial a row, as where keys are many
        ([(10, 0), (10, 5000), (10, 10)], [10, 20, 10]),  # five answers a row
        ([(10, 0), (10, 0), (400, 10), (10, 10)], [10, 20, 40, 25]),
    ],
)
def test_batches_grow_as_far_as_they_come_to_a_million_partials_or_answers(tmp_path, made, rows):
    driver = Driver(tmp_path, Log(*MANY), RunOptions())
    assert [n // 100_000 for n in sizes(driver, made)] == rows


def test_what_a_batch_may_have_is_kept_from_the_first_one_on(tmp_path):
    driver = Driver(tmp_path, Log(*MANY), RunOptions(batch_rows=300_000))
    assert sizes(driver, [(0, 0)] * 4) == [300_000] * 4


def test_a_batch_without_rows_tells_nothing(tmp_path):
    driver = Driver(tmp_path, Log(*MANY), RunOptions())
    driver.intake.adapt_batch_size(0, 0, 5_000_000)
    assert sizes(driver, [(0, 0)]) == [1_000_000]
