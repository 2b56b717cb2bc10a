"""The batch planner over a live stream: its pace, its heartbeats, and when it is quiet; the same after any restart."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from kit.draws.kind_samples import kind_of
from kit.runs.planner_driver import (
    FILES,
    IDLE,
    LIVE,
    NONE,
    STREAM,
    TICK,
    WAITING,
    WHOLE,
    Driver,
    Log,
    entries,
    heartbeat,
    in_force,
    rows_read,
    said,
    segments,
)
from tailrace.disorder.policies import policy_from_json
from tailrace.engine.feedback import Feedback
from tailrace.engine.progress import Progress
from tailrace.sources.discovery.path_sources import ReplayFeed
from tailrace.sources.reading_progress import remaining
from tailrace.sources.segments import Segment
from tailrace.storage.journal import BatchRecord, Journal
from tailrace.stream.batch_planner import BatchPlanner
from tailrace.stream.entry_writer import EntryWriter
from tailrace.stream.run_options import RunOptions
from tailrace.stream.steady_clock import SteadyClock


class CountingLog(Log):
    """A feed that counts how often it is polled."""

    looks = 0

    def fresh(self) -> list[Segment]:
        self.looks += 1
        return super().fresh()


def test_a_source_with_a_long_backlog_is_not_polled_for_more(tmp_path, monkeypatch):
    monkeypatch.setattr("tailrace.stream.batch_planner.MOST_WAITING", 3)
    driver = Driver(tmp_path, log := CountingLog(), LIVE)
    log.there += segments("abd")
    waiting = []
    for _ in range(4):
        driver.plan(after=100)
        waiting.append((len(driver.planner.waiting[STREAM]), log.looks))
    assert waiting == [(5, 1), (4, 1), (3, 1), (2, 1)]
    driver.plan(after=100)
    assert log.looks == 2
    driver.go()
    assert rows_read(tmp_path) == WHOLE


def test_a_live_run_polls_at_its_pace_and_plans_all_that_arrived_meanwhile_as_one_batch(tmp_path):
    driver = Driver(tmp_path, log := CountingLog(), LIVE)
    assert driver.plan() is None
    log.there += segments("d")
    assert said(driver.plan(after=5)) == (None, False, 2)  # the first batch does not wait for the pace
    looks = log.looks
    log.there += segments("d")[:1]
    assert said(driver.plan(after=1)) is None
    log.there += segments("a")[:1]
    assert said(driver.plan(after=98)) is None
    assert (log.looks, driver.planner.rows_left) == (looks, 0)
    assert said(driver.plan(after=1)) == (None, False, 2)
    assert log.looks == looks + 1
    log.there += segments("b")
    assert [said(driver.plan(after=99)), said(driver.plan(after=1))] == [None, (None, False, 1)], (
        "a full batch waits, too"
    )


def test_rows_beyond_a_full_batch_are_planned_without_waiting_for_the_pace(tmp_path):
    driver = Driver(tmp_path, Log(*segments("a")), LIVE)
    plans = [said(driver.plan()) for _ in range(4)]
    assert plans == [*[(None, False, 1)] * 3, None]
    driver = Driver(tmp_path, driver.log, LIVE)
    driver.log.there += segments("a")
    driver.plan(after=LIVE.pace_ms)
    driver.restart()
    assert [said(driver.plan()), said(driver.plan())] == [(None, False, 1)] * 2


DAY = 86_400_000


@pytest.mark.parametrize("jump", [-DAY, -3_600_000, DAY])
@pytest.mark.parametrize("stamps", [False, True])
def test_a_wall_clock_that_jumps_for_seconds_changes_no_entry(tmp_path, stamps, jump):
    def entries_with(jump: int) -> list[BatchRecord]:
        (tmp_path / str(jump)).mkdir()
        driver = Driver(tmp_path / str(jump), Log(*segments("b")), LIVE, stamps=stamps)
        for second in range(30):
            driver.wall_ahead = jump if 5 <= second < 17 else 0
            driver.log.there += segments("d") if second in (6, 16, 18) else []
            for _ in range(10):
                driver.plan(after=100, committed=5_000)
        return entries(driver.directory)

    def without_bounds(records: list[BatchRecord]) -> list[BatchRecord]:
        return [replace(one, segments=tuple(replace(s, ingested_ms=None) for s in one.segments)) for one in records]

    steady, jumped = entries_with(0), entries_with(jump)
    assert len([one for one in steady if one.header.closes]) > 1, "the stream becomes quiet, and is so again"
    assert jumped == steady if stamps else without_bounds(jumped) == without_bounds(steady)


def test_the_wall_clock_of_a_new_driver_moves_stamps_ahead_and_never_back(tmp_path):
    driver = Driver(tmp_path, Log(*segments("d")), LIVE, stamps=True)
    stamps = []
    for ahead in (0, DAY, 0, -DAY):
        driver.wall_ahead = ahead
        driver.log.there += segments("d")
        driver.restart()
        stamps.append(driver.plan(after=1_000).segments[0].ingested_ms)
    assert [later - stamp for stamp, later in pairwise(stamps)] == [DAY + 1_000, 1_000, 1_000]


def test_arrival_is_bounded_by_the_later_one_of_the_clocks(tmp_path):
    driver = Driver(tmp_path, Log(*segments("d")), LIVE)
    bounds = []
    for ahead in (0, DAY, -DAY):
        driver.wall_ahead = ahead
        driver.log.there += segments("d")
        bounds += {segment.ingested_ms - driver.time for segment in driver.plan(after=1_000).segments}
    assert bounds == [1_000 - 1_000, DAY, 0]


@pytest.mark.parametrize(("ahead", "said"), [(DAY, "1 d ahead of"), (-7_200_000, "2 h behind"), (59_999, None)])
def test_a_wall_clock_that_is_apart_is_a_problem_of_the_status(tmp_path, ahead, said):
    driver = Driver(tmp_path, Log(*segments("d")), LIVE)
    assert driver.planner.problem is None
    driver.wall_ahead = ahead
    assert (driver.planner.problem is None) if said is None else (said in driver.planner.problem)


# What is ahead of arrival stays open when the stream becomes quiet; heartbeats may close it.
def test_heartbeats_of_a_quiet_stream_close_windows_while_some_are_open(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE)
    driver.plan()
    closes = []
    for newest_event, frontier in [(50, 100), (500, 100), (500, 100), (500, 600), (500, 500)]:
        record = driver.plan(after=IDLE, committed=5_000, newest_event=newest_event, frontier=frontier)
        closes.append(record.header.closes)
    assert closes == [True, True, True, False, True]


def test_a_live_run_never_ends_the_stream(tmp_path):
    driver = Driver(tmp_path, Log(*segments()), LIVE)
    for _ in range(100):
        driver.plan(after=100)
    assert rows_read(tmp_path) == WHOLE
    assert not any(record.header.ends for record in entries(tmp_path))
    assert sum(record.header.closes for record in entries(tmp_path)) == 1


# rows │ more than a tick and the pace │ idle       │ idle        each heartbeat carries the time of its planning
#      │ heartbeat                     │ quiet      │ heartbeat
def test_stamped_tuples_are_followed_by_a_heartbeat_then_quiet_then_a_heartbeat_each_idle(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=True)
    last_rows_ms = driver.time
    assert said(driver.plan()) == (None, False, 1)
    plans = {}
    for _ in range(4 * IDLE):
        record = driver.plan(after=1)
        if record is not None:
            plans[driver.time - last_rows_ms] = said(record)
    assert plans == {
        100: (last_rows_ms + 100, False, 0),  # the pace, which is more than a tick
        1_000: (last_rows_ms + 1_000, True, 0),
        2_000: (last_rows_ms + 2_000, False, 0),
        3_000: (last_rows_ms + 3_000, False, 0),
        4_000: (last_rows_ms + 4_000, False, 0),
    }


@pytest.mark.parametrize(("pace", "after"), [(1, TICK + 1), (TICK, TICK + 1), (TICK + 1, TICK + 1), (300, 300)])
def test_a_heartbeat_is_in_a_later_tick_than_the_rows_and_keeps_the_pace(tmp_path, pace, after):
    driver = Driver(tmp_path, Log(*segments("b")), replace(LIVE, pace_ms=pace), stamps=True)
    driver.plan()
    assert driver.plan(after=after - 1) is None
    assert said(driver.plan(after=1)) == (driver.time, False, 0)


# The heartbeat is the committed arrival time plus the length of the silence: nothing else is known of arrival.
def test_with_an_arrival_column_heartbeats_start_from_the_committed_arrival_time(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE)
    driver.plan()
    plans = {}
    for time in range(1, 3 * IDLE + 1):
        record = driver.plan(after=1, committed=5_000)
        if record is not None:
            plans[time] = said(record)
    # no heartbeat before it is quiet: the next tuples may have any arrival time
    assert plans == {1_000: (6_000, True, 0), 2_000: (7_000, False, 0), 3_000: (8_000, False, 0)}


def test_settings_that_change_during_silence_do_not_delay_its_heartbeats(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE)
    driver.plan()
    plans = {}
    for time in range(1, 3 * IDLE + 1):
        if time % 450 == 0:
            driver.settings = WAITING if driver.settings == NONE else NONE
        record = driver.plan(after=1, committed=5_000)
        if record is not None and said(record) != (None, False, 0):
            plans[time] = said(record)
    assert plans == {1_000: (6_000, True, 0), 2_000: (7_000, False, 0), 3_000: (8_000, False, 0)}


def test_with_nothing_committed_a_quiet_stream_closes_windows_but_has_no_heartbeat(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE)
    driver.plan()
    assert said(driver.plan(after=IDLE)) == (None, True, 0)  # as when all rows are in quarantine
    assert driver.plan(after=10 * IDLE) is None


def test_before_the_first_row_silence_plans_nothing(tmp_path):
    for stamps in (False, True):
        driver = Driver(tmp_path / str(stamps), Log(), LIVE, stamps=stamps)
        assert [driver.plan(after=IDLE, committed=5_000) for _ in range(5)] == [None] * 5


def test_the_state_is_streaming_while_rows_are_left_then_waiting_then_quiet(tmp_path):
    driver = Driver(tmp_path, Log(), LIVE)
    assert driver.planner.state == "waiting"  # before the first row no window can be closed
    driver.log.there += segments("bb")
    driver.plan()
    assert driver.planner.state == "streaming"  # unread segments are left
    driver.plan(after=LIVE.pace_ms)
    assert driver.planner.state == "waiting"
    driver.plan(after=IDLE)
    assert driver.planner.state == "quiet"
    driver.restart()
    assert driver.planner.state == "quiet"
    driver.log.there += segments("b")
    driver.plan(after=IDLE)
    assert driver.planner.state == "waiting"


def test_rows_end_a_silence_and_restart_its_measurement(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=True)
    driver.plan()
    assert said(driver.plan(after=IDLE)) == (driver.time, True, 0)
    driver.log.there += segments("d")
    assert said(driver.plan(after=IDLE - 1)) == (None, False, 2)
    assert said(driver.plan(after=IDLE - 1)) == (driver.time, False, 0)
    assert said(driver.plan(after=LIVE.pace_ms - 1)) is None  # it is idle, but polls once more before it closes windows
    assert said(driver.plan(after=1)) == (driver.time, True, 0)


@pytest.mark.parametrize("stamps", [False, True])
def test_silence_is_measured_across_restarts(tmp_path, stamps):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=stamps)
    driver.plan()
    last_rows_ms = driver.time
    driver.time += IDLE - LIVE.pace_ms
    driver.restart(started=0)
    assert said(driver.plan(committed=5_000)) == ((driver.time, False, 0) if stamps else None)
    driver.time += LIVE.pace_ms - 1
    driver.restart(started=0)
    assert driver.plan(committed=5_000) is None
    driver.time += 1
    driver.restart(started=0)
    record = driver.plan(committed=5_000)
    assert said(record) == (last_rows_ms + IDLE if stamps else 6_000, True, 0)
    driver.restart(started=0)
    assert driver.plan(after=IDLE - 1, committed=5_900) is None
    driver.restart(started=0)
    assert said(driver.plan(after=1, committed=5_900)) == (last_rows_ms + 2 * IDLE if stamps else 7_000, False, 0)


def test_downtime_of_the_driver_is_no_silence_if_rows_arrived_meanwhile(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=True)
    driver.plan()
    driver.time += 100 * IDLE
    driver.log.there += segments("d")
    driver.restart()
    assert said(driver.plan()) == (None, False, 2)


@pytest.mark.parametrize("quiet", [False, True])
def test_settings_that_change_during_silence_are_planned_at_once_and_do_not_end_it(tmp_path, quiet):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=True)
    driver.plan()
    if quiet:
        assert said(driver.plan(after=IDLE)) == (driver.time, True, 0)
    rows_ms = driver.planner.position.last_rows_ms
    driver.restart(settings=WAITING)
    record = driver.plan(after=1)
    assert (said(record), in_force(record)) == ((None, False, 0), WAITING)
    assert (record.position.streams[STREAM].last_rows_ms, record.position.quiet) == (rows_ms, quiet)
    closings = []
    for _ in range(4 * IDLE):
        record = driver.plan(after=1)
        closings += [driver.time - rows_ms] if record is not None and record.header.closes else []
    assert closings == ([] if quiet else [IDLE])


def test_changed_settings_do_not_wait_for_the_pace(tmp_path):
    driver = Driver(tmp_path, Log(*segments("d")), LIVE)
    driver.plan()
    driver.log.there += segments("d")
    driver.restart(settings=WAITING)
    assert said(driver.plan(after=1)) == (None, False, 2)


def test_a_bounded_run_records_no_silence(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=True)
    driver.plan()
    driver.restart(options=RunOptions(flush=False))
    assert driver.plan(after=100 * IDLE) is None
    driver.restart(options=RunOptions())
    assert said(driver.plan()) == (None, True, 0)


# ms since the start → the files that arrive then
SCRIPT = {0: "b", 150: "d", 160: "a", 420: "d", 2_000: "b", 2_010: "b", 7_000: "a"}


def scripted_journal(directory: Path, plan: RunOptions, stamps: bool, restart_at: set[int]) -> list[BatchRecord]:
    """The journal of a run whose rows arrive by `SCRIPT`: a poll each 10 ms, and a restart before some of them."""
    directory.mkdir()
    driver, start = Driver(directory, Log(), plan, stamps=stamps), 1_000_000
    for look in range(0, 9_000, 10):
        driver.log.there += segments(SCRIPT.get(look, ""))
        driver.time = start + look
        if look in restart_at:
            driver.restart(started=0)
        driver.plan(committed=40 * driver.planner.position.rows)
    return entries(directory)


ALL = [name for names in SCRIPT.values() for name in names for _ in range(sum(FILES[name]))]
ALWAYS, OFTEN = set(range(0, 9_000, 10)), set(range(0, 9_000, 170))


@pytest.mark.parametrize("stamps", [False, True])
def test_planning_is_deterministic_whenever_the_driver_is_killed(tmp_path, stamps):
    each_look = replace(LIVE, pace_ms=10)
    uninterrupted = scripted_journal(tmp_path / "never", each_look, stamps, set())
    assert sum(record.header.closes for record in uninterrupted) == 3
    assert [record for record in uninterrupted if heartbeat(record) is not None and not record.header.closes]
    assert scripted_journal(tmp_path / "always", each_look, stamps, ALWAYS) == uninterrupted
    assert scripted_journal(tmp_path / "often", each_look, stamps, OFTEN) == uninterrupted
    assert [name for name, _ in rows_read(tmp_path / "always")] == ALL


@pytest.mark.needs("long")
@pytest.mark.parametrize("restart_at", [ALWAYS, OFTEN], ids=["always", "often"])
@pytest.mark.parametrize("stamps", [False, True])
def test_a_restart_polls_before_the_pace_and_records_the_same_silences(tmp_path, stamps, restart_at):
    def silences(records: list[BatchRecord]) -> tuple[list[tuple[int, bool]], list[tuple[int, int]]]:
        silences_only = [record for record in records if not record.segments]
        times = [(record.position.planned_ms, heartbeat(record)) for record in silences_only]
        return [(record.position.rows, record.header.closes) for record in silences_only], times

    uninterrupted = scripted_journal(tmp_path / "never", LIVE, stamps, set())
    interrupted = scripted_journal(tmp_path / "killed", LIVE, stamps, restart_at)
    assert rows_read(tmp_path / "killed") == rows_read(tmp_path / "never")
    assert [name for name, _ in rows_read(tmp_path / "killed")] == ALL
    (kinds, times), (interrupted_kinds, interrupted_times) = silences(uninterrupted), silences(interrupted)
    assert kinds == interrupted_kinds
    assert np.abs(np.subtract(times, interrupted_times)).max() <= LIVE.pace_ms
    for record in interrupted:
        assert not record.header.closes or record.position.planned_ms - record.position.last_rows_ms >= IDLE


class Clock:
    """One clock for the driver, in ms (`ms`), and for the replay, in seconds (when called)."""

    ms = 1_000_000

    def __call__(self) -> float:
        return self.ms / 1000


@pytest.mark.parametrize("stamps", [False, True])
@pytest.mark.parametrize("down_at", [set(), {5}, {3, 4, 12, 27}, set(range(31))], ids=len)
def test_a_replay_is_not_quiet_before_its_end_however_long_the_driver_is_down(tmp_path, stamps, down_at):
    clock = Clock()
    start_clock = partial(SteadyClock, wall=lambda: clock.ms, steady_s=clock)

    def start_planner() -> BatchPlanner:
        read_count, rest = len(rows_read(tmp_path)), []
        for segment in segments():
            skip = min(read_count, segment.rows)
            rest += remaining([segment], segment.first_row + skip)
            read_count -= skip
        feed = ReplayFeed(Log(*rest), 0.5, clock)  # a row every 2 · IDLE
        settings = lambda: (policy_from_json(NONE), "declared")  # noqa: E731
        clocks = (TICK, IDLE, {STREAM} if stamps else set(), Feedback(kind_of("sum"), 1), LIVE, start_clock)
        return BatchPlanner(EntryWriter(Journal(tmp_path)), {STREAM: feed}, {STREAM: feed.fresh()}, settings, *clocks)

    planner, polls = start_planner(), 0
    while len(rows_read(tmp_path)) < len(WHOLE):
        if polls in down_at:
            clock.ms += 10 * IDLE
            planner = start_planner()
        planner.plan_batch(Progress(5_000, 0, False))
        clock.ms += IDLE
        polls += 1
        assert polls < 100
    assert polls > len(WHOLE), "the replay took longer than its rows, in silence"
    assert all(record.segments for record in entries(tmp_path)), "no silence is recorded"
    assert rows_read(tmp_path) == WHOLE
    assert said(planner.plan_batch(Progress(5_000, 0, False)))[1:] == (True, 0)  # now the stream is quiet
    assert not planner.feeds[STREAM].holds_back


@pytest.mark.parametrize("stamps", [False, True])
def test_a_feed_that_holds_rows_back_is_not_silent(tmp_path, stamps):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=stamps)
    driver.plan()
    driver.log.holds_back = True
    assert [driver.plan(after=IDLE, committed=5_000) for _ in range(5)] == [None] * 5
    driver.log.holds_back = False
    assert said(driver.plan(committed=5_000))[1:] == (True, 0)
    driver.log.holds_back = True
    assert driver.plan(after=IDLE, committed=5_000) is None
    driver.restart(settings=WAITING)
    assert said(driver.plan(after=1)) == (None, False, 0)  # changed settings are planned nevertheless
