"""Stalls of a stream: a driver that reports nothing, and a frontier that stands while rows come."""

from __future__ import annotations

from tailrace.drivers.driver_host import Driver
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.stalls import SILENT_S, STARTING_S, STILL_S, Stalls
from tailrace.storage.status import Status

DRIVER = Driver("readings", "running", 1, None, "")


def status(at_ms=1, state="streaming", pid=1, **reported):
    driver = Driver("readings", "running", pid, None, "")
    return DriverStatus(driver, None if state is None else Status(state, 1, 0, at_ms, 1, **reported), 10**9)


def seen(*looks):
    """The names of the stalls at each look, which has a status and its time in s."""
    stalls = Stalls(hang_after_s=90)
    return [sorted(stalls.observe(each, now_s)) for each, now_s in looks]


def test_a_driver_that_reports_nothing_is_silent_and_is_not_when_it_reports_again():
    looks = [(status(1), 0), (status(1), SILENT_S - 1), (status(1), SILENT_S), (status(2), SILENT_S + 5)]
    assert seen(*looks) == [[], [], ["silence"], []]


def test_the_clocks_of_other_machines_make_no_driver_silent():
    assert seen((status(-(10**12)), 0), (status(-(10**12) + 1), 10)) == [[], []]


def test_a_driver_that_starts_may_be_silent_for_longer():
    for starting in (status(1, "starting"), status(state=None)):
        assert seen((starting, 0), (starting, STARTING_S - 1), (starting, STARTING_S)) == [[], [], ["silence"]]


def test_a_driver_that_was_started_again_is_not_silent():
    assert seen((status(1), 0), (status(1, pid=2), SILENT_S)) == [[], []]


def test_the_text_says_when_a_silent_driver_is_replaced():
    for state, limit in (("streaming", 90), ("starting", 300)):
        stalls = Stalls(hang_after_s=90)
        stalls.observe(status(1, state), 0)
        assert stalls.observe(status(1, state), 80)["silence"].endswith(
            f"nothing for 80 s; after {limit} s it is replaced"
        )


def rows_come(frontiers, rows, step_s):
    looks = [(status(n, frontier=f, rows=r), n * step_s) for n, (f, r) in enumerate(zip(frontiers, rows, strict=True))]
    return ["frontier" in names for names in seen(*looks)]


def test_a_frontier_that_stands_while_rows_come_is_a_stall_until_it_moves():
    step_s = STILL_S / 10
    found = rows_come([5] * 12 + [6], range(13), step_s)
    assert found == [False] * 11 + [True, False], "the time begins with the first row that moves nothing"


def test_a_frontier_that_was_never_reached_is_a_stall_too():
    assert rows_come([None] * 12, range(1, 13), STILL_S / 10)[-1]


def test_a_frontier_that_stands_while_nothing_comes_is_no_stall():
    assert not any(rows_come([5] * 40, [3] * 40, STILL_S / 10))
    assert not any(rows_come([5] * 40, [3] + [4] * 39, STILL_S / 10)), "one row that came late, long ago"


def test_a_driver_that_was_started_again_and_counts_from_nothing_is_no_stall():
    assert not any(rows_come([5] * 13, [10, 11, 12, 13, 14, 15, 16, 17, 18, 0, 19, 20, 21], STILL_S / 10))


def test_the_text_says_how_many_rows_came_and_where_the_frontier_stands():
    stalls = Stalls(60)
    for n in range(12):
        found = stalls.observe(status(n, frontier=0, rows=n), n * 30)
    assert found["frontier"] == (
        "it closes no window: 11 rows came in 5 min, and the frontier stands at 1970-01-01T00:00:00.000Z"
    )
