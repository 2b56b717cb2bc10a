"""What the driver plans for a live stream: its pace, and what silence says, whenever the driver was killed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planning import FILES, IDLE, LIVE, TICK, WHOLE, Driver, Log, entries, rows_read, said, segments
from tailrace.spark.intake import Plan
from tailrace.spark.journal import Entry


def test_a_live_run_waits_for_its_pace_and_takes_a_full_batch_at_once(tmp_path):
    driver = Driver(tmp_path, Log(), LIVE)
    assert driver.plan() is None
    driver.log.there += segments("d")
    assert said(driver.plan(after=5)) == (None, False, 2)  # the first one has none before it
    driver.log.there += segments("a")[:1]
    assert [said(driver.plan(after=99)), said(driver.plan(after=1))] == [None, (None, False, 1)]
    driver.log.there += segments("b")
    assert said(driver.plan(after=1)) == (None, False, 1)
    driver.log.there += segments("a")[1:]
    assert said(driver.plan(after=1)) == (None, False, 1)  # five rows are more than a batch
    assert said(driver.plan(after=1)) is None  # two are not
    assert driver.intake.rows_left == 2
    assert said(driver.plan(after=98)) is None
    assert said(driver.plan(after=1)) == (None, False, 1)


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
    assert not any(entry.head.ends for entry in entries(tmp_path))
    assert sum(entry.head.closes for entry in entries(tmp_path)) == 1


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
    assert [said(driver.plan(after=IDLE - 1)), said(driver.plan(after=1))] == [
        (driver.time - 1, False, 0),
        (driver.time, True, 0),
    ]


@pytest.mark.parametrize("stamps", [False, True])
def test_silence_is_counted_on_over_a_restart(tmp_path, stamps):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=stamps)
    driver.plan()
    heard = driver.time
    driver.time += IDLE - 1
    driver.restart()
    driver.plan(committed=5_000)
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
    heard = driver.intake.standing.heard_ms
    driver.restart(settings='{"k": 1}')
    entry = driver.plan(after=1)
    assert (said(entry), entry.head.settings) == ((None, False, 0), '{"k": 1}')
    assert (entry.standing.heard_ms, entry.standing.quiet) == (heard, quiet)
    closings = []
    for _ in range(4 * IDLE):
        entry = driver.plan(after=1)
        closings += [driver.time - heard] if entry is not None and entry.head.closes else []
    assert closings == ([] if quiet else [IDLE])


def test_settings_that_change_do_not_wait_for_the_pace(tmp_path):
    driver = Driver(tmp_path, Log(*segments("d")), LIVE)
    driver.plan()
    driver.log.there += segments("d")
    driver.restart(settings='{"k": 1}')
    assert said(driver.plan(after=1)) == (None, False, 2)


def test_a_bounded_run_puts_down_no_silence(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), LIVE, stamps=True)
    driver.plan()
    driver.restart(plan_as=Plan(flush=False))
    assert driver.plan(after=100 * IDLE) is None
    driver.restart(plan_as=Plan())
    assert said(driver.plan()) == (None, True, 0)


SCRIPT = {0: "b", 150: "d", 160: "a", 420: "d", 2_000: "b", 2_010: "b", 7_000: "a"}


def scripted(directory: Path, stamps: bool, restart_at: set[int]) -> list[Entry]:
    """Rows that come by the script; the driver looks every 10 ms, and is killed before some of the looks."""
    directory.mkdir()
    driver, start = Driver(directory, Log(), LIVE, stamps=stamps), 1_000_000
    for look in range(0, 9_000, 10):
        driver.log.there += segments(SCRIPT.get(look, ""))
        driver.time = start + look
        if look in restart_at:
            driver.restart()
        driver.plan(committed=40 * driver.intake.standing.rows)
    return entries(directory)


@pytest.mark.parametrize("stamps", [False, True])
def test_a_driver_that_is_killed_at_any_time_plans_as_one_that_never_was(tmp_path, stamps):
    never = scripted(tmp_path / "never", stamps, set())
    assert sum(entry.head.closes for entry in never) == 3
    assert [entry for entry in never if entry.head.passed_ms is not None and not entry.head.closes]
    assert scripted(tmp_path / "always", stamps, set(range(0, 9_000, 10))) == never
    assert scripted(tmp_path / "often", stamps, set(range(0, 9_000, 170))) == never
    assert [name for name, _ in rows_read(tmp_path / "always")] == [
        name for names in SCRIPT.values() for name in names for _ in range(sum(FILES[name]))
    ]
