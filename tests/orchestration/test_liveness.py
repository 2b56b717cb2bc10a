"""The liveness judge: its verdict on sequences of observations, with the times of a simulated clock."""

from __future__ import annotations

import pytest

from tailrace.drivers.driver_host import Driver
from tailrace.drivers.liveness import GONE_S, ROWS_A_SECOND, SLOWER, START_S, LivenessJudge
from tailrace.storage.status import Status


def driver(state="running", pid=1, exit_code=None):
    return Driver("readings", state, pid, exit_code, "as its host says")


def report(at_ms, state="streaming"):
    return Status(state, 9, 0, at_ms, 0)


@pytest.fixture
def judge():
    return LivenessJudge(hang_after_s=60, patience_s=600)


def observe_reports_until(judge, until_s):
    """Observe a driver that makes a new report each 10 s; every observation is without a verdict."""
    for now in range(0, until_s + 1, 10):
        assert judge.observe(driver(), report(now * 1000), now) is None


def test_a_driver_that_reports_regularly_gets_no_verdict(judge):
    observe_reports_until(judge, 10_000)


def test_a_driver_hangs_once_it_has_been_silent_for_hang_after_s(judge):
    observe_reports_until(judge, 100)
    assert judge.observe(driver(), report(100_000), 159.9) is None
    verdict = judge.observe(driver(), report(100_000), 160)
    assert (verdict.kind, verdict.pid) == ("hung", 1)


def test_skewed_wall_clocks_make_no_driver_hang(judge):
    for now in range(0, 1000, 10):  # new reports, by a clock that is years behind and runs backwards
        assert judge.observe(driver(), report(1_000_000 - now), now) is None


def test_a_machine_that_slept_makes_no_driver_hang(judge):
    observe_reports_until(judge, 50)
    # The steady clock stops during the sleep, unlike the wall clock.
    assert judge.observe(driver(), report(50_000), 55) is None


@pytest.mark.parametrize("first", [None, report(5)])
def test_a_driver_without_a_new_report_has_the_time_of_a_start(judge, first):
    judge.observe(driver(), first, 0)
    assert judge.observe(driver(), first, START_S - 1) is None
    assert judge.observe(driver(), first, START_S).kind == "hung"


@pytest.mark.parametrize("state", ["drained", "ended", "failed"])
def test_a_driver_that_hangs_after_its_last_report_has_no_time_of_a_start(judge, state):
    observe_reports_until(judge, 100)
    assert judge.observe(driver(), report(101_000, state), 101) is None
    assert judge.observe(driver(), report(101_000, state), 161).kind == "hung"


def test_a_restarted_driver_has_the_time_of_a_start(judge):
    observe_reports_until(judge, 100)
    assert judge.observe(driver(pid=2), report(100_000), 105) is None
    assert judge.observe(driver(pid=2), report(100_000), 105 + START_S - 1) is None
    assert judge.observe(driver(pid=2), report(100_000), 105 + START_S).pid == 2


def test_a_restarted_driver_that_reported_its_start_has_the_time_of_a_start(judge):
    """Spark starts only after that report, and may have to fetch its jars first."""
    observe_reports_until(judge, 100)
    assert judge.observe(driver(pid=2), report(100_000), 105) is None
    assert judge.observe(driver(pid=2), report(110_000, "starting"), 110) is None
    assert judge.observe(driver(pid=2), report(110_000, "starting"), 110 + START_S - 1) is None
    assert judge.observe(driver(pid=2), report(110_000, "starting"), 110 + START_S).pid == 2


def test_a_driver_that_waited_for_its_first_record_then_has_the_time_of_a_start(judge):
    for now in range(0, 100, 10):
        assert judge.observe(driver(), report(now * 1000, "waiting"), now) is None
    assert judge.observe(driver(), report(100_000, "starting"), 100) is None
    assert judge.observe(driver(), report(100_000, "starting"), 100 + START_S - 1) is None
    assert judge.observe(driver(), report(100_000, "starting"), 100 + START_S).kind == "hung"


def test_after_its_start_a_driver_hangs_by_hang_after_s_again(judge):
    judge.observe(driver(), None, 0)
    judge.observe(driver(), report(5_000, "starting"), 5)
    assert judge.observe(driver(), report(200_000, "waiting"), 200) is None
    assert judge.observe(driver(), report(200_000, "waiting"), 259) is None
    assert judge.observe(driver(), report(200_000, "waiting"), 260).kind == "hung"


def report_at_batch(at_ms, batches=7, rows=1, batch_ms=600, committed_at_ms=1):
    """The report of a driver with a batch under way."""
    return Status("streaming", 9, 0, at_ms, batches, committed_at_ms, busy_ms=0, busy_rows=rows, batch_ms=batch_ms)


def observe_batch(judge, start_s, until_s, **batch):
    """Observe each 5 s a driver that reports the same batch under way; return the last verdict."""
    verdict = None
    for now in range(start_s, until_s + 1, 5):
        verdict = judge.observe(driver(), report_at_batch(now * 1000, **batch), now)
        if now < until_s:
            assert verdict is None, now
    return verdict


def test_a_driver_that_reports_but_ends_no_batch_hangs(judge):
    """For example because a Python worker, which reads its rows, was suspended."""
    observe_reports_until(judge, 100)
    verdict = observe_batch(judge, 105, 165, rows=3)
    assert (verdict.kind, verdict.pid) == ("hung", 1)
    assert verdict.detail == "its batch of 3 rows has not ended for 60 s, the longest one of late took 0.6 s"


def test_a_driver_whose_batches_end_does_not_hang(judge):
    observe_reports_until(judge, 100)
    for number in range(50):  # each of them just short of the limit
        assert observe_batch(judge, 105 + 60 * number, 160 + 60 * number, batches=number) is None


def test_a_driver_without_a_batch_under_way_does_not_hang(judge):
    observe_reports_until(judge, 100)
    assert observe_batch(judge, 105, 160) is None
    observe_reports_until(judge, 10_000)
    assert observe_batch(judge, 10_005, 10_060) is None


def test_a_driver_whose_batches_take_long_has_more_time_for_them(judge):
    """A slow machine alone makes no driver hang."""
    observe_reports_until(judge, 100)
    limit_s = SLOWER * 40
    assert observe_batch(judge, 105, 105 + int(limit_s) - 5, batch_ms=40_000) is None
    assert judge.observe(driver(), report_at_batch(1, batch_ms=40_000), 106 + limit_s).kind == "hung"


def test_a_large_batch_after_small_ones_has_more_time(judge):
    observe_reports_until(judge, 100)
    limit_s = SLOWER * 0.6 + 4_000_000 / ROWS_A_SECOND
    assert observe_batch(judge, 105, 105 + int(limit_s) // 5 * 5 - 5, rows=4_000_000) is None
    assert judge.observe(driver(), report_at_batch(1, rows=4_000_000), 105 + limit_s).kind == "hung"


def test_the_first_batch_after_a_start_has_the_time_of_a_start(judge):
    observe_reports_until(judge, 100)
    first = {"batch_ms": 0, "committed_at_ms": None}
    assert observe_batch(judge, 105, 105 + int(START_S) - 5, **first) is None
    verdict = judge.observe(driver(), report_at_batch(1, **first), 105 + START_S)
    assert (verdict.kind, verdict.detail) == ("hung", "its batch of 1 row has not ended for 300 s")


def test_an_earlier_starts_batch_does_not_count_for_a_restarted_driver(judge):
    """The earlier start's last report remains in the status file until the next start makes one."""
    observe_reports_until(judge, 100)
    assert observe_batch(judge, 105, 160) is None
    for now in range(165, 400, 5):
        assert judge.observe(driver(pid=2), report_at_batch(160_000), now) is None


def test_a_batch_without_rows_has_the_time_of_a_start(judge):
    """It may close all open windows, and the durations of batches with rows do not predict its own."""
    observe_reports_until(judge, 100)
    assert observe_batch(judge, 105, 105 + int(START_S) - 5, rows=0) is None
    assert judge.observe(driver(), report_at_batch(1, rows=0), 105 + START_S).kind == "hung"


def test_a_watch_that_begins_during_a_batch_times_it_from_its_first_observation(judge):
    judge.observe(driver(), report_at_batch(1), 1_000)
    assert judge.observe(driver(), report_at_batch(2), 1_005) is None
    assert judge.observe(driver(), report_at_batch(3), 1_064) is None
    assert judge.observe(driver(), report_at_batch(4), 1_065).kind == "hung"


def test_a_removed_report_does_not_count_as_a_new_one(judge):
    observe_reports_until(judge, 100)
    assert judge.observe(driver(), None, 159) is None
    assert judge.observe(driver(), None, 160).kind == "hung"


def test_a_driver_that_is_being_stopped_does_not_hang(judge):
    observe_reports_until(judge, 100)
    assert judge.observe(driver("stopping"), report(100_000), 500) is None


@pytest.mark.parametrize(
    ("state", "code", "kind"), [("ended", 0, "ended"), ("failed", 3, "failed"), ("failed", 2, "failed")]
)
def test_a_driver_that_is_over_is_judged_at_once(judge, state, code, kind):
    verdict = judge.observe(driver(state, None, code), None, 0)
    assert (verdict.kind, verdict.detail) == (kind, "as its host says")


@pytest.mark.parametrize(("state", "code"), [("absent", None), ("ended", 130), ("ended", -1)])
def test_a_stopped_or_removed_driver_is_gone_unless_it_is_deployed_again(judge, state, code):
    observe_reports_until(judge, 10)
    assert judge.observe(driver(state, None, code), None, 20) is None
    assert judge.observe(driver(pid=2), None, 30) is None  # another watch has replaced it: it is not gone
    assert judge.observe(driver(state, None, code), None, 40) is None
    assert judge.observe(driver(state, None, code), None, 40 + GONE_S - 1) is None
    assert judge.observe(driver(state, None, code), None, 40 + GONE_S).kind == "gone"


def test_a_host_that_is_down_is_unreachable_once_patience_s_has_passed(judge):
    observe_reports_until(judge, 10)
    assert judge.observe(None, None, 20) is None
    assert judge.observe(None, None, 619) is None
    assert judge.observe(driver(), report(1), 619.5) is None  # the host answers again, which resets the patience
    assert judge.observe(None, None, 620) is None
    assert judge.observe(None, None, 1219) is None
    assert judge.observe(None, None, 1220).kind == "unreachable"
