"""The clock: t_max, slack K and frontier F (the watermark) at each tick, and the facts in force."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from kit.runs.harness import again, stamp_settings
from tailrace.disorder.clock import Frontier, StreamClock
from tailrace.disorder.ticks import Ticks, unite
from tailrace.ground.time_limits import BEFORE_ALL

NONE = '{"policy": "none"}'
MP = '{"policy": "mp_k_slack"}'


def k_slack(k: int) -> str:
    return json.dumps({"policy": "k_slack", "k": f"{k} ms"})


def ticks(*rows: tuple[int, int, int]) -> Ticks:
    """Ticks of 10 ms from rows of (tick, smallest event time, largest event time)."""
    tick, smallest, largest = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return Ticks(tick, (tick + 1) * 10, np.ones(len(tick), np.int64), smallest, largest[None, :])


def make_clock(settings: str = NONE) -> StreamClock:
    clock = StreamClock()
    stamp_settings(clock, settings, BEFORE_ALL)
    return clock


# tick      0    1    3    4
# largest  100   80  130  110
# t_max    100  100  130  130
def test_t_max_is_the_largest_event_time_so_far() -> None:
    frontier = make_clock().advance(ticks((0, 100, 100), (1, 80, 80), (3, 130, 130), (4, 110, 110)))
    assert frontier.t_max.tolist() == [100, 100, 130, 130]


def test_f_is_t_max_minus_k() -> None:
    frontier = make_clock(k_slack(30)).advance(ticks((0, 100, 100), (1, 140, 140)))
    assert (frontier.k_ms.tolist(), frontier.after.tolist()) == ([30, 30], [70, 110])


# tick       0    1    2
# events    100  40   105
# t_max     100  100  105
# K          0   60   60        105 less 60 = 45 < 100
# F         100  100  100
def test_f_is_monotone_when_k_rises() -> None:
    frontier = make_clock(MP).advance(ticks((0, 100, 100), (1, 40, 40), (2, 105, 105)))
    assert (frontier.k_ms.tolist(), frontier.after.tolist()) == ([0, 60, 60], [100, 100, 100])


def test_f_is_monotone_across_calls() -> None:
    clock = make_clock(MP)
    clock.advance(ticks((0, 100, 100)))
    assert clock.advance(ticks((1, 40, 40))).after.tolist() == [100]


def test_a_delay_is_measured_from_t_max_with_its_own_tick() -> None:
    assert make_clock(MP).advance(ticks((0, 90, 130))).k_ms.tolist() == [40]


def test_the_clock_holds_the_state_after_the_newest_tick() -> None:
    clock = make_clock(k_slack(30))
    clock.advance(ticks((0, 100, 100), (3, 60, 140)))
    assert (clock.t_max, clock.k_ms, clock.frontier, clock.end, clock.largest) == (140, 30, 110, 40, 80)


def test_a_call_without_ticks_changes_nothing() -> None:
    clock = make_clock()
    clock.advance(ticks((0, 100, 100)))
    before = clock.pack()
    frontier = clock.advance(ticks((0, 0, 0))[:0])
    assert (clock.pack(), frontier.last, len(frontier)) == (before, 100, 0)


# tick     0      1      2      3
# fact     v1     v1     v2     v2     stamped when 1 was the newest tick
# K        0      0      30     30
def test_a_fact_stamped_midway_holds_from_the_next_tick() -> None:
    clock = make_clock()
    fact = stamp_settings(clock, k_slack(30), 1)
    frontier = clock.advance(ticks((0, 100, 100), (1, 110, 110), (2, 150, 150), (3, 160, 160)))
    assert (fact.version, fact.since) == (2, 2)
    assert frontier.version.tolist() == [1, 1, 2, 2]
    assert frontier.k_ms.tolist() == [0, 0, 30, 30]


def test_a_fact_holds_from_the_first_tick_at_or_after_its_own() -> None:
    clock = make_clock()
    stamp_settings(clock, k_slack(30), 4)  # holds from tick 5, which has no tuples
    assert clock.advance(ticks((4, 0, 0), (9, 0, 0))).version.tolist() == [1, 2]


def test_of_two_facts_from_the_same_tick_the_later_one_holds() -> None:
    clock = make_clock()
    stamp_settings(clock, k_slack(30), 1)
    stamp_settings(clock, k_slack(50), 1)
    frontier = clock.advance(ticks((1, 0, 0), (2, 0, 0)))
    assert (frontier.version.tolist(), frontier.k_ms.tolist()) == ([1, 3], [0, 50])


def test_a_policy_replaced_and_restored_within_one_call() -> None:
    clock = make_clock(MP)
    stamp_settings(clock, NONE, 1)
    stamp_settings(clock, MP, 2)  # the largest delay is measured under every policy
    frontier = clock.advance(ticks((1, 100, 100), (2, 30, 30), (3, 100, 100)))
    assert frontier.k_ms.tolist() == [0, 0, 70]


def test_the_first_fact_holds_from_tick_0() -> None:
    assert make_clock().facts[0].since == 0


def test_a_clock_survives_serialisation() -> None:
    clock = make_clock(MP)
    clock.advance(ticks((0, 60, 100)))
    stamp_settings(clock, k_slack(5), 0)
    restored = again(clock)
    assert restored == clock
    assert restored.advance(ticks((1, 120, 120))).k_ms.tolist() == [5]


def of_two(*left_and_right: tuple[int, int | None, int | None]) -> Ticks:
    """Ticks of two streams: (tick, event time of the left stream, of the right one), a tuple of each or None."""
    streams = []
    for side in (1, 2):
        mine = [(row[0], row[side], row[side]) for row in left_and_right if row[side] is not None]
        streams.append(ticks(*mine) if mine else Ticks.none())
    return unite(streams)


def test_f_does_not_move_before_both_streams_have_brought_a_tuple_though_one_be_idle() -> None:
    clock = replace(make_clock(), idle_ms=100)
    frontier = clock.advance(of_two((0, 50, None), (30, 60, None), (31, 65, 40), (60, 90, None)))
    assert frontier.t_max.tolist() == [BEFORE_ALL, BEFORE_ALL, 40, 90]
    assert frontier.after.tolist() == [BEFORE_ALL, BEFORE_ALL, 40, 90]


@pytest.fixture
def frontier() -> Frontier:
    """Ticks 2, 5 and 6 with F = 100, 100 and 130; F = 70 before them."""
    clock = make_clock()
    clock.advance(ticks((0, 70, 70)))
    return clock.advance(ticks((2, 100, 100), (5, 90, 90), (6, 130, 130)))


def test_start_is_f_before_the_first_tick(frontier: Frontier) -> None:
    assert (frontier.start, frontier.last) == (70, 130)
    assert make_clock().advance(ticks((0, 1, 1))).start == BEFORE_ALL


def test_before_is_f_at_the_start_of_each_tick(frontier: Frontier) -> None:
    indices = frontier.index(np.array([6, 2, 5, 5]))
    assert frontier.before(indices).tolist() == [100, 70, 100, 100]


# F      70 | 100  100  130 | 999
# tick      |  2    5    6  |  6
# End 100 closes at the first of the two ticks with F = 100, 101 at the next one with a larger F, 999 at the close.
def test_closing_is_the_first_tick_whose_f_reaches_the_end() -> None:
    clock = make_clock()
    clock.advance(ticks((0, 70, 70)))
    frontier = clock.close(clock.advance(ticks((2, 100, 100), (5, 90, 90), (6, 130, 130))), 999)
    assert frontier.closing(np.array([71, 100, 101, 130, 999])).tolist() == [0, 0, 2, 2, 3]


def test_a_close_repeats_the_last_tick_with_a_larger_f() -> None:
    clock = make_clock(k_slack(30))
    frontier = clock.close(clock.advance(ticks((2, 100, 100), (5, 150, 150))), 400)
    columns = (frontier.tick, frontier.end, frontier.t_max, frontier.k_ms, frontier.after, frontier.version)
    assert [column.tolist() for column in columns] == [
        [2, 5, 5],
        [30, 60, 60],
        [100, 150, 150],
        [30, 30, 30],
        [70, 120, 400],
        [1, 1, 1],
    ]
    assert {column.dtype for column in columns} == {np.dtype(np.int64)}
    assert (clock.frontier, clock.t_max, clock.end, frontier.start, frontier.last) == (400, 150, 60, BEFORE_ALL, 400)


def test_a_close_does_not_change_f_at_the_start_of_a_tick(frontier: Frontier) -> None:
    closed = make_clock().close(frontier, 999)
    assert closed.before(closed.index(np.array([2, 6]))).tolist() == [70, 100]


# tick       2    | quiet |   3     4
# t_max    100    |       | 110   500
# F        100    |  400  | 400   500
def test_f_is_monotone_after_a_close() -> None:
    clock = make_clock()
    clock.close(clock.advance(ticks((2, 100, 100))), 400)
    frontier = clock.advance(ticks((3, 110, 110), (4, 500, 500)))
    assert (frontier.start, frontier.after.tolist()) == (400, [400, 500])


def test_a_close_does_not_move_f_back() -> None:
    clock = make_clock()
    frontier = clock.close(clock.advance(ticks((2, 100, 100))), 50)
    assert (frontier.after.tolist(), clock.frontier) == ([100, 100], 100)


def test_a_close_in_a_batch_without_ticks_uses_the_facts_of_the_last_tick() -> None:
    clock = make_clock(k_slack(30))
    clock.advance(ticks((2, 100, 100)))
    stamp_settings(clock, NONE, 2)  # holds from tick 3 on, which does not exist
    restored = again(clock)
    frontier = restored.close(restored.advance(ticks((0, 0, 0))[:0]), 400)
    columns = (frontier.end, frontier.t_max, frontier.k_ms, frontier.after, frontier.version)
    assert [column.tolist() for column in columns] == [[30], [100], [30], [400], [1]]
    assert (frontier.start, len(frontier)) == (70, 1)


def test_the_settings_in_force_are_those_of_the_last_complete_tick() -> None:
    clock = StreamClock()
    assert clock.in_force is None
    stamp_settings(clock, NONE, BEFORE_ALL)
    stamp_settings(clock, MP, 7)
    clock.advance(ticks((7, 0, 0)))
    assert clock.in_force.value == json.loads(NONE)
    clock.advance(ticks((8, 0, 0)))
    assert clock.in_force.value == again(clock).in_force.value == json.loads(MP)


def test_the_version_is_that_of_the_last_complete_tick() -> None:
    clock = make_clock()
    assert clock.version == 0
    stamp_settings(clock, MP, 3)
    clock.advance(ticks((3, 0, 0)))
    assert clock.version == 1
    clock.advance(ticks((4, 0, 0)))
    assert clock.version == 2
