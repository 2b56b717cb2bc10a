"""What the driver plans for a live stream: its pace, and what silence says, whenever the driver was killed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planning import (
    FILES,
    IDLE,
    LIVE,
    NONE,
    TICK,
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
from tailrace.disorder.policies import policy_from_json
from tailrace.sources.feeds import ReplayFeed, remaining
from tailrace.sources.segments import Segment
from tailrace.storage.journal import BatchRecord, Journal
from tailrace.storage.progress import Progress
from tailrace.stream.batch_planner import BatchPlanner, RunOptions


class Counted(Log):
    """Counts how often it is looked at."""

    looks = 0

    def fresh(self) -> list[Segment]:
        self.looks += 1
        return super().fresh()


def test_a_live_run_looks_at_its_pace_and_what_came_meanwhile_comes_together(tmp_path):
    driver = Driver(tmp_path, log := Counted(), LIVE)
    assert driver.plan() is None
    log.there += segments("d")
    assert said(driver.plan(after=5)) == (None, False, 2)  # the first one has none before it
    looks = log.looks
    log.there += segments("d")[:1]
    assert said(driver.plan(after=1)) is None
    log.there += segments("a")[:1]
    assert said(driver.plan(after=98)) is None
    assert (log.looks, driver.intake.rows_left) == (looks, 0)
    assert said(driver.plan(after=1)) == (None, False, 2)
    assert log.looks == looks + 1
    log.there += segments("b")
    assert [said(driver.plan(after=99)), said(driver.plan(after=1))] == [None, (None, False, 1)], "a full one, too"


def test_what_a_batch_has_left_is_planned_at_once(tmp_path):
    driver = Driver(tmp_path, Log(*segments("a")), LIVE)
    found = [said(driver.plan()) for _ in range(4)]
    assert found == [*[(None, False, 1)] * 3, None]
    driver = Driver(tmp_path, driver.log, LIVE)
    driver.log.there += segments("a")
    driver.plan(after=LIVE.pace_ms)
    driver.restart()
    assert [said(driver.plan()), said(driver.plan())] == [(None, False, 1)] * 2


def test_a_wall_clock_that_is_set_back_does_not_hold_up_rows(tmp_path):
    driver = Driver(tmp_path, Log(*segments("d")), LIVE)
    driver.plan()
    driver.log.there += segments("d")
    assert said(driver.plan(after=-3_600_000)) == (None, False, 2)


def test_a_live_run_ends_nothing(tmp_path):
    driver = Driver(tmp_path, Log(*segments()), LIVE)
    for _ in range(100):
        driver.plan(after=100)
    assert rows_read(tmp_path) == WHOLE
    assert not any(entry.header.ends for entry in entries(tmp_path))
    assert sum(entry.header.closes for entry in entries(tmp_path)) == 1


# rows │ more than a tick and the pace │ idle       │ idle        each heartbeat is the time at which it is planned
#      │ heartbeat                     │ quiet      │ heartbeat
def test_where_tuples_get_stamps_silence_is_told_after_a_tick_then_quiet_then_each_idle(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=True)
    heard = driver.time
    assert said(driver.plan()) == (None, False, 1)
    found = {}
    for _ in range(4 * IDLE):
        entry = driver.plan(after=1)
        if entry is not None:
            found[driver.time - heard] = said(entry)
    assert found == {
        100: (heard + 100, False, 0),  # the pace, which is more than a tick
        1_000: (heard + 1_000, True, 0),
        2_000: (heard + 2_000, False, 0),
        3_000: (heard + 3_000, False, 0),
        4_000: (heard + 4_000, False, 0),
    }


@pytest.mark.parametrize(("pace", "after"), [(1, TICK + 1), (TICK, TICK + 1), (TICK + 1, TICK + 1), (300, 300)])
def test_a_heartbeat_is_in_a_later_tick_than_the_rows_and_keeps_the_pace(tmp_path, pace, after):
    driver = Driver(tmp_path, Log(*segments("b")), replace(LIVE, pace_ms=pace), stamps=True)
    driver.plan()
    assert driver.plan(after=after - 1) is None
    assert said(driver.plan(after=1)) == (driver.time, False, 0)


# committed is what the stream has; from there on only the length of the silence is known
def test_where_tuples_bring_their_arrival_silence_is_told_from_what_is_committed(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE)
    driver.plan()
    found = {}
    for time in range(1, 3 * IDLE + 1):
        entry = driver.plan(after=1, committed=5_000)
        if entry is not None:
            found[time] = said(entry)
    # no heartbeat before it is quiet: the next tuples may bring any arrival time
    assert found == {1_000: (6_000, True, 0), 2_000: (7_000, False, 0), 3_000: (8_000, False, 0)}


def test_settings_that_change_in_the_silence_do_not_put_it_off(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE)
    driver.plan()
    found = {}
    for time in range(1, 3 * IDLE + 1):
        if time % 450 == 0:
            driver.settings = WAITING if driver.settings == NONE else NONE
        entry = driver.plan(after=1, committed=5_000)
        if entry is not None and said(entry) != (None, False, 0):
            found[time] = said(entry)
    assert found == {1_000: (6_000, True, 0), 2_000: (7_000, False, 0), 3_000: (8_000, False, 0)}


def test_where_nothing_is_committed_quiet_knows_no_time_and_there_is_no_heartbeat(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE)
    driver.plan()
    assert said(driver.plan(after=IDLE)) == (None, True, 0)  # all of them are in quarantine
    assert driver.plan(after=10 * IDLE) is None


def test_before_the_first_row_silence_says_nothing(tmp_path):
    for stamps in (False, True):
        driver = Driver(tmp_path / str(stamps), Log(), LIVE, stamps=stamps)
        assert [driver.plan(after=IDLE, committed=5_000) for _ in range(5)] == [None] * 5


def test_it_streams_what_is_there_then_waits_and_is_quiet_from_the_closing_on(tmp_path):
    driver = Driver(tmp_path, Log(), LIVE)
    assert driver.intake.state == "waiting"  # before the first row, nothing is closed
    driver.log.there += segments("bb")
    driver.plan()
    assert driver.intake.state == "streaming"  # there is more
    driver.plan(after=LIVE.pace_ms)
    assert driver.intake.state == "waiting"
    driver.plan(after=IDLE)
    assert driver.intake.state == "quiet"
    driver.restart()
    assert driver.intake.state == "quiet"
    driver.log.there += segments("b")
    driver.plan(after=IDLE)
    assert driver.intake.state == "waiting"


def test_rows_end_the_silence_and_it_is_counted_anew(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=True)
    driver.plan()
    assert said(driver.plan(after=IDLE)) == (driver.time, True, 0)
    driver.log.there += segments("d")
    assert said(driver.plan(after=IDLE - 1)) == (None, False, 2)
    assert said(driver.plan(after=IDLE - 1)) == (driver.time, False, 0)
    assert said(driver.plan(after=LIVE.pace_ms - 1)) is None  # it is idle, and looks once more before it says so
    assert said(driver.plan(after=1)) == (driver.time, True, 0)


@pytest.mark.parametrize("stamps", [False, True])
def test_silence_is_counted_on_over_a_restart(tmp_path, stamps):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=stamps)
    driver.plan()
    heard = driver.time
    driver.time += IDLE - LIVE.pace_ms
    driver.restart()
    assert said(driver.plan(committed=5_000)) == ((driver.time, False, 0) if stamps else None)
    driver.time += LIVE.pace_ms - 1
    driver.restart()
    assert driver.plan(committed=5_000) is None
    driver.time += 1
    driver.restart()
    entry = driver.plan(committed=5_000)
    assert said(entry) == (heard + IDLE if stamps else 6_000, True, 0)
    driver.restart()
    assert driver.plan(after=IDLE - 1, committed=5_900) is None
    driver.restart()
    assert said(driver.plan(after=1, committed=5_900)) == (heard + 2 * IDLE if stamps else 7_000, False, 0)


def test_a_long_time_without_a_driver_is_silence_only_where_nothing_came(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=True)
    driver.plan()
    driver.time += 100 * IDLE
    driver.log.there += segments("d")
    driver.restart()
    assert said(driver.plan()) == (None, False, 2)


@pytest.mark.parametrize("quiet", [False, True])
def test_settings_that_change_in_silence_are_told_at_once_and_it_goes_on(tmp_path, quiet):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=True)
    driver.plan()
    if quiet:
        assert said(driver.plan(after=IDLE)) == (driver.time, True, 0)
    heard = driver.intake.position.last_rows_ms
    driver.restart(settings=WAITING)
    entry = driver.plan(after=1)
    assert (said(entry), in_force(entry)) == ((None, False, 0), WAITING)
    assert (entry.position.last_rows_ms, entry.position.quiet) == (heard, quiet)
    closings = []
    for _ in range(4 * IDLE):
        entry = driver.plan(after=1)
        closings += [driver.time - heard] if entry is not None and entry.header.closes else []
    assert closings == ([] if quiet else [IDLE])


def test_settings_that_change_do_not_wait_for_the_pace(tmp_path):
    driver = Driver(tmp_path, Log(*segments("d")), LIVE)
    driver.plan()
    driver.log.there += segments("d")
    driver.restart(settings=WAITING)
    assert said(driver.plan(after=1)) == (None, False, 2)


def test_a_bounded_run_puts_down_no_silence(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=True)
    driver.plan()
    driver.restart(options=RunOptions(flush=False))
    assert driver.plan(after=100 * IDLE) is None
    driver.restart(options=RunOptions())
    assert said(driver.plan()) == (None, True, 0)


SCRIPT = {0: "b", 150: "d", 160: "a", 420: "d", 2_000: "b", 2_010: "b", 7_000: "a"}


def scripted(directory: Path, plan: RunOptions, stamps: bool, restart_at: set[int]) -> list[BatchRecord]:
    """Rows that come by the script; the driver looks every 10 ms, and is killed before some of the looks."""
    directory.mkdir()
    driver, start = Driver(directory, Log(), plan, stamps=stamps), 1_000_000
    for look in range(0, 9_000, 10):
        driver.log.there += segments(SCRIPT.get(look, ""))
        driver.time = start + look
        if look in restart_at:
            driver.restart()
        driver.plan(committed=40 * driver.intake.position.rows)
    return entries(directory)


ALL = [name for names in SCRIPT.values() for name in names for _ in range(sum(FILES[name]))]
ALWAYS, OFTEN = set(range(0, 9_000, 10)), set(range(0, 9_000, 170))


@pytest.mark.parametrize("stamps", [False, True])
def test_a_driver_that_is_killed_at_any_time_plans_as_one_that_never_was(tmp_path, stamps):
    each_look = replace(LIVE, pace_ms=10)
    never = scripted(tmp_path / "never", each_look, stamps, set())
    assert sum(entry.header.closes for entry in never) == 3
    assert [entry for entry in never if entry.header.heartbeat_ms is not None and not entry.header.closes]
    assert scripted(tmp_path / "always", each_look, stamps, ALWAYS) == never
    assert scripted(tmp_path / "often", each_look, stamps, OFTEN) == never
    assert [name for name, _ in rows_read(tmp_path / "always")] == ALL


@pytest.mark.parametrize("restart_at", [ALWAYS, OFTEN], ids=["always", "often"])
@pytest.mark.parametrize("stamps", [False, True])
def test_a_restart_looks_before_the_pace_and_says_the_same_of_silence(tmp_path, stamps, restart_at):
    def silences(entries: list[BatchRecord]) -> tuple[list[tuple[int, bool]], list[tuple[int, int]]]:
        silent = [entry for entry in entries if not entry.segments]
        times = [(entry.position.planned_ms, entry.header.heartbeat_ms) for entry in silent]
        return [(entry.position.rows, entry.header.closes) for entry in silent], times

    never = scripted(tmp_path / "never", LIVE, stamps, set())
    killed = scripted(tmp_path / "killed", LIVE, stamps, restart_at)
    assert rows_read(tmp_path / "killed") == rows_read(tmp_path / "never")
    assert [name for name, _ in rows_read(tmp_path / "killed")] == ALL
    (what, times), (same, earlier) = silences(never), silences(killed)
    assert what == same
    assert np.abs(np.subtract(times, earlier)).max() <= LIVE.pace_ms
    for entry in killed:
        assert not entry.header.closes or entry.position.planned_ms - entry.position.last_rows_ms >= IDLE


class Clock:
    """The time of a driver, in ms, and of a replay, in seconds."""

    ms = 1_000_000

    def __call__(self) -> float:
        return self.ms / 1000


@pytest.mark.parametrize("stamps", [False, True])
@pytest.mark.parametrize("down_at", [set(), {5}, {3, 4, 12, 27}, set(range(31))], ids=len)
def test_a_replay_that_is_down_for_longer_than_idle_is_not_quiet_until_all_is_given_out(tmp_path, stamps, down_at):
    clock = Clock()

    def begin() -> BatchPlanner:
        done, rest = len(rows_read(tmp_path)), []
        for segment in segments():
            skip = min(done, segment.rows)
            rest += remaining([segment], segment.first_row + skip)
            done -= skip
        feed = ReplayFeed(Log(*rest), 0.5, clock)  # a row each two idles
        wanted = lambda: (policy_from_json(NONE), "declared")  # noqa: E731
        return BatchPlanner(Journal(tmp_path), feed, feed.fresh(), wanted, TICK, IDLE, stamps, LIVE, lambda: clock.ms)

    intake, looks = begin(), 0
    while len(rows_read(tmp_path)) < len(WHOLE):
        if looks in down_at:
            clock.ms += 10 * IDLE
            intake = begin()
        intake.plan(Progress(5_000, 0, False))
        clock.ms += IDLE
        looks += 1
        assert looks < 100
    assert looks > len(WHOLE), "it was silent meanwhile"
    assert all(entry.segments for entry in entries(tmp_path)), "and said nothing of it"
    assert rows_read(tmp_path) == WHOLE
    assert said(intake.plan(Progress(5_000, 0, False)))[1:] == (True, 0)  # now it is quiet
    assert not intake.feed.holds_back


@pytest.mark.parametrize("stamps", [False, True])
def test_what_a_feed_holds_back_is_no_silence(tmp_path, stamps):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=stamps)
    driver.plan()
    driver.log.holds_back = True
    assert [driver.plan(after=IDLE, committed=5_000) for _ in range(5)] == [None] * 5
    driver.log.holds_back = False
    assert said(driver.plan(committed=5_000))[1:] == (True, 0)
    driver.log.holds_back = True
    assert driver.plan(after=IDLE, committed=5_000) is None
    driver.restart(settings=WAITING)
    assert said(driver.plan(after=1)) == (None, False, 0)  # settings are told all the same
