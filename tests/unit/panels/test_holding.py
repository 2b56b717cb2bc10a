"""What holds the ticks or the frontier back."""

from __future__ import annotations

from tailrace.panels.holding import Holding, StreamWait, what_holds

SECOND = 1_000


def _pair(left: tuple, right: tuple, idle: str = "") -> dict[str, StreamWait]:
    return {name: StreamWait(*state, name == idle) for name, state in (("left", left), ("right", right))}


def test_ticks_wait_for_the_stream_that_has_reached_the_least_arrival_time():
    holding = what_holds(_pair((5 * SECOND, 9 * SECOND), (3 * SECOND, 99 * SECOND)), 4, False)
    assert holding.stream == "right"
    assert holding.reason == (
        "the ticks wait for stream right: it has reached arrival 1970-01-01T00:00:03.000Z, 2 s behind stream left; "
        "4 rows wait"
    )


def test_a_stream_without_a_tuple_holds_the_ticks():
    holding = what_holds(_pair((None, None), (3, 3)), 1, False)
    assert holding == Holding("left", "the ticks wait for stream left, which has brought no tuple yet; 1 row waits")


def test_where_arrival_has_come_as_far_the_frontier_follows_the_least_event_time():
    holding = what_holds(_pair((5, 2 * SECOND), (5, SECOND)), 0, False)
    assert holding.stream == "right"
    assert holding.reason == (
        "the frontier waits for stream right: its newest event time is 1970-01-01T00:00:01.000Z, 1 s behind stream left"
    )


def test_an_idle_stream_holds_nothing():
    assert what_holds(_pair((5, 2), (3, 1), idle="right"), 0, False) == Holding(None, None)


def test_where_all_are_idle_they_are_compared_all_the_same():
    states = {name: state._replace(is_idle=True) for name, state in _pair((5, 2), (3, 1)).items()}
    assert what_holds(states, 0, False).stream == "right"


def test_quiet_streams_and_streams_that_bring_alike_hold_nothing():
    assert what_holds(_pair((5, 2), (3, 1)), 3, True) == Holding(None, None)
    assert what_holds(_pair((5, 2), (5, 2)), 0, False) == Holding(None, None)
    assert what_holds(_pair((None, None), (None, None)), 0, False) == Holding(None, None)


def test_the_newest_tick_of_a_single_stream_waits_for_what_comes():
    holding = what_holds({"readings": StreamWait(SECOND, SECOND, False)}, 2, False)
    assert holding.stream is None
    assert holding.reason == (
        "2 rows wait for a later arrival or a heartbeat, which completes their tick; arrival has reached "
        "1970-01-01T00:00:01.000Z"
    )
