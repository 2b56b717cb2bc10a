"""What a supervisor makes of what it sees, on a clock of the test's own."""

from __future__ import annotations

import pytest

from tailrace.drivers.driver_host import Driver
from tailrace.drivers.liveness import GONE_S, ROWS_A_SECOND, SLOWER, START_S, LivenessJudge
from tailrace.storage.status import Status


def driver(state="running", pid=1, exit_code=None):
    return Driver("readings", state, pid, exit_code, "as its host says")


def said(at_ms, state="streaming"):
    return Status(state, 9, 0, at_ms, 0)


@pytest.fixture
def judge():
    return LivenessJudge(hang_after_s=60, patience_s=600)


def see_speaking(judge, until_s):
    """A driver that says something new each 10 s."""
    for now in range(0, until_s + 1, 10):
        assert judge.observe(driver(), said(now * 1000), now) is None


def test_a_driver_that_speaks_is_left_alone(judge):
    see_speaking(judge, 10_000)


def test_a_driver_hangs_once_it_was_silent_for_so_long(judge):
    see_speaking(judge, 100)
    assert judge.observe(driver(), said(100_000), 159.9) is None
    verdict = judge.observe(driver(), said(100_000), 160)
    assert (verdict.kind, verdict.pid) == ("hung", 1)


def test_the_wall_clocks_of_other_machines_make_no_driver_hang(judge):
    for now in range(0, 1000, 10):  # it speaks, by a clock that is years behind and runs backwards
        assert judge.observe(driver(), said(1_000_000 - now), now) is None


def test_a_machine_that_slept_makes_no_driver_hang(judge):
    see_speaking(judge, 50)
    assert (
        judge.observe(driver(), said(50_000), 55) is None
    )  # the steady clock stood still: for hours, by the wall clock


@pytest.mark.parametrize("first", [None, said(5)])
def test_a_driver_that_has_not_spoken_yet_has_time_to_start(judge, first):
    judge.observe(driver(), first, 0)
    assert judge.observe(driver(), first, START_S - 1) is None
    assert judge.observe(driver(), first, START_S).kind == "hung"


def test_a_restarted_driver_has_time_to_start_again(judge):
    see_speaking(judge, 100)
    assert judge.observe(driver(pid=2), said(100_000), 105) is None
    assert judge.observe(driver(pid=2), said(100_000), 105 + START_S - 1) is None
    assert judge.observe(driver(pid=2), said(100_000), 105 + START_S).pid == 2


def test_a_restarted_driver_that_only_said_that_it_starts_has_time_for_that(judge):
    """After that word Spark starts, and may have to fetch its jars first."""
    see_speaking(judge, 100)
    assert judge.observe(driver(pid=2), said(100_000), 105) is None
    assert judge.observe(driver(pid=2), said(110_000, "starting"), 110) is None
    assert judge.observe(driver(pid=2), said(110_000, "starting"), 110 + START_S - 1) is None
    assert judge.observe(driver(pid=2), said(110_000, "starting"), 110 + START_S).pid == 2


def test_a_driver_that_waited_for_its_first_record_has_time_to_start_spark_then(judge):
    for now in range(0, 100, 10):
        assert judge.observe(driver(), said(now * 1000, "waiting"), now) is None
    assert judge.observe(driver(), said(100_000, "starting"), 100) is None
    assert judge.observe(driver(), said(100_000, "starting"), 100 + START_S - 1) is None
    assert judge.observe(driver(), said(100_000, "starting"), 100 + START_S).kind == "hung"


def test_a_driver_that_has_started_is_watched_as_ever(judge):
    judge.observe(driver(), None, 0)
    judge.observe(driver(), said(5_000, "starting"), 5)
    assert judge.observe(driver(), said(200_000, "waiting"), 200) is None
    assert judge.observe(driver(), said(200_000, "waiting"), 259) is None
    assert judge.observe(driver(), said(200_000, "waiting"), 260).kind == "hung"


def busy(at_ms, batches=7, rows=1, batch_ms=600, committed_at_ms=1):
    """A driver that speaks and is at a batch."""
    return Status("streaming", 9, 0, at_ms, batches, committed_at_ms, busy_ms=0, busy_rows=rows, batch_ms=batch_ms)


def see_at_a_batch(judge, began_s, until_s, **batch):
    """Looks each 5 s at a driver that speaks on, and is at the same batch; the last verdict."""
    verdict = None
    for now in range(began_s, until_s + 1, 5):
        verdict = judge.observe(driver(), busy(now * 1000, **batch), now)
        if now < until_s:
            assert verdict is None, now
    return verdict


def test_a_driver_that_speaks_and_ends_no_batch_hangs(judge):
    """As when what reads for it, a worker of Python's, was stopped."""
    see_speaking(judge, 100)
    verdict = see_at_a_batch(judge, 105, 165, rows=3)
    assert (verdict.kind, verdict.pid) == ("hung", 1)
    assert verdict.detail == "its batch of 3 rows has not ended for 60 s, the longest one of late took 0.6 s"


def test_a_driver_whose_batches_end_does_not_hang(judge):
    see_speaking(judge, 100)
    for number in range(50):  # each of them just short of the limit
        assert see_at_a_batch(judge, 105 + 60 * number, 160 + 60 * number, batches=number) is None


def test_a_driver_that_waits_between_two_batches_does_not_hang(judge):
    see_speaking(judge, 100)
    assert see_at_a_batch(judge, 105, 160) is None
    see_speaking(judge, 10_000)
    assert see_at_a_batch(judge, 10_005, 10_060) is None


def test_a_driver_whose_batches_take_long_has_more_time_for_them(judge):
    """A machine that is merely busy makes no driver hang."""
    see_speaking(judge, 100)
    limit_s = SLOWER * 40
    assert see_at_a_batch(judge, 105, 105 + int(limit_s) - 5, batch_ms=40_000) is None
    assert judge.observe(driver(), busy(1, batch_ms=40_000), 106 + limit_s).kind == "hung"


def test_a_batch_of_many_rows_after_small_ones_has_more_time(judge):
    see_speaking(judge, 100)
    limit_s = SLOWER * 0.6 + 4_000_000 / ROWS_A_SECOND
    assert see_at_a_batch(judge, 105, 105 + int(limit_s) // 5 * 5 - 5, rows=4_000_000) is None
    assert judge.observe(driver(), busy(1, rows=4_000_000), 105 + limit_s).kind == "hung"


def test_the_first_batch_after_a_start_has_the_time_of_a_start(judge):
    see_speaking(judge, 100)
    first = {"batch_ms": 0, "committed_at_ms": None}
    assert see_at_a_batch(judge, 105, 105 + int(START_S) - 5, **first) is None
    verdict = judge.observe(driver(), busy(1, **first), 105 + START_S)
    assert (verdict.kind, verdict.detail) == ("hung", "its batch of 1 rows has not ended for 300 s")


def test_the_batch_of_an_earlier_start_makes_no_driver_hang(judge):
    """Its last words stand until the next start speaks."""
    see_speaking(judge, 100)
    assert see_at_a_batch(judge, 105, 160) is None
    for now in range(165, 400, 5):
        assert judge.observe(driver(pid=2), busy(160_000), now) is None


def test_a_batch_without_rows_has_as_long_as_a_start(judge):
    """It may close all that is open: by what batches with rows take, nothing is known of it."""
    see_speaking(judge, 100)
    assert see_at_a_batch(judge, 105, 105 + int(START_S) - 5, rows=0) is None
    assert judge.observe(driver(), busy(1, rows=0), 105 + START_S).kind == "hung"


def test_a_watch_that_begins_at_a_batch_measures_it_by_its_own_time(judge):
    judge.observe(driver(), busy(1), 1_000)
    assert judge.observe(driver(), busy(2), 1_005) is None
    assert judge.observe(driver(), busy(3), 1_064) is None
    assert judge.observe(driver(), busy(4), 1_065).kind == "hung"


def test_a_word_that_is_taken_away_is_no_new_one(judge):
    see_speaking(judge, 100)
    assert judge.observe(driver(), None, 159) is None
    assert judge.observe(driver(), None, 160).kind == "hung"


def test_a_driver_that_is_being_stopped_does_not_hang(judge):
    see_speaking(judge, 100)
    assert judge.observe(driver("stopping"), said(100_000), 500) is None


@pytest.mark.parametrize(
    ("state", "code", "kind"), [("ended", 0, "ended"), ("failed", 3, "failed"), ("failed", 2, "failed")]
)
def test_a_driver_that_is_over_is_judged_at_once(judge, state, code, kind):
    verdict = judge.observe(driver(state, None, code), None, 0)
    assert (verdict.kind, verdict.detail) == (kind, "as its host says")


@pytest.mark.parametrize(("state", "code"), [("absent", None), ("ended", 130), ("ended", -1)])
def test_a_driver_that_was_stopped_or_removed_is_gone_unless_it_is_deployed_again(judge, state, code):
    see_speaking(judge, 10)
    assert judge.observe(driver(state, None, code), None, 20) is None
    assert judge.observe(driver(pid=2), None, 30) is None  # another watch has replaced it
    assert judge.observe(driver(state, None, code), None, 40) is None
    assert judge.observe(driver(state, None, code), None, 40 + GONE_S - 1) is None
    assert judge.observe(driver(state, None, code), None, 40 + GONE_S).kind == "gone"


def test_a_host_that_is_down_is_waited_for(judge):
    see_speaking(judge, 10)
    assert judge.observe(None, None, 20) is None
    assert judge.observe(None, None, 619) is None
    assert judge.observe(driver(), said(1), 619.5) is None  # it is there again, and the patience is whole
    assert judge.observe(None, None, 620) is None
    assert judge.observe(None, None, 1219) is None
    assert judge.observe(None, None, 1220).kind == "unreachable"
