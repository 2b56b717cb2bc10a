"""t_max, K and F tick by tick, and the facts in force."""

from __future__ import annotations

import json

import numpy as np
import pytest

from harness import again, stamp_settings
from tailrace.disorder.clock import Clock, Frontier
from tailrace.disorder.ticks import Ticks
from tailrace.ground.time_limits import BEFORE_ALL

NONE = '{"policy": "none"}'
MP = '{"policy": "mp_k_slack"}'


def k_slack(k: int) -> str:
    return json.dumps({"policy": "k_slack", "k": f"{k} ms"})


def ticks(*rows: tuple[int, int, int]) -> Ticks:
    """(tick, smallest, largest event time) of each; a tick is 10 ms."""
    tick, low, high = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return Ticks(tick, (tick + 1) * 10, np.ones(len(tick), np.int64), low, high)


def clock(settings: str = NONE) -> Clock:
    started = Clock()
    stamp_settings(started, settings, BEFORE_ALL)
    return started


# tick      0    1    3    4
# largest  100   80  130  110
# t_max    100  100  130  130
def test_t_max_is_the_largest_event_time_so_far() -> None:
    frontier = clock().advance(ticks((0, 100, 100), (1, 80, 80), (3, 130, 130), (4, 110, 110)))
    assert frontier.t_max.tolist() == [100, 100, 130, 130]


def test_f_is_t_max_less_k() -> None:
    frontier = clock(k_slack(30)).advance(ticks((0, 100, 100), (1, 140, 140)))
    assert (frontier.k_ms.tolist(), frontier.after.tolist()) == ([30, 30], [70, 110])


# tick       0    1    2
# events    100  40   105
# t_max     100  100  105
# K          0   60   60        105 less 60 = 45 < 100
# F         100  100  100
def test_f_never_falls_when_k_rises() -> None:
    frontier = clock(MP).advance(ticks((0, 100, 100), (1, 40, 40), (2, 105, 105)))
    assert (frontier.k_ms.tolist(), frontier.after.tolist()) == ([0, 60, 60], [100, 100, 100])


def test_f_never_falls_from_call_to_call() -> None:
    one = clock(MP)
    one.advance(ticks((0, 100, 100)))
    assert one.advance(ticks((1, 40, 40))).after.tolist() == [100]


def test_a_delay_is_measured_when_its_own_tick_has_moved_t_max() -> None:
    assert clock(MP).advance(ticks((0, 90, 130))).k_ms.tolist() == [40]


def test_the_clock_keeps_what_it_came_to() -> None:
    one = clock(k_slack(30))
    one.advance(ticks((0, 100, 100), (3, 60, 140)))
    assert (one.t_max, one.k_ms, one.frontier, one.end, one.largest) == (140, 30, 110, 40, 80)


def test_no_ticks_change_nothing() -> None:
    one = clock()
    one.advance(ticks((0, 100, 100)))
    before = one.pack()
    frontier = one.advance(ticks((0, 0, 0))[:0])
    assert (one.pack(), frontier.last, len(frontier)) == (before, 100, 0)


# tick     0      1      2      3
# fact     v1     v1     v2     v2     stamped when 1 was the newest tick
# K        0      0      30     30
def test_a_fact_stamped_midway_holds_from_the_next_tick() -> None:
    one = clock()
    fact = stamp_settings(one, k_slack(30), 1)
    frontier = one.advance(ticks((0, 100, 100), (1, 110, 110), (2, 150, 150), (3, 160, 160)))
    assert (fact.version, fact.since) == (2, 2)
    assert frontier.version.tolist() == [1, 1, 2, 2]
    assert frontier.k_ms.tolist() == [0, 0, 30, 30]


def test_a_fact_holds_from_the_first_tick_at_or_after_its_own() -> None:
    one = clock()
    stamp_settings(one, k_slack(30), 4)  # from tick 5, which has no tuples
    assert one.advance(ticks((4, 0, 0), (9, 0, 0))).version.tolist() == [1, 2]


def test_of_two_facts_from_the_same_tick_the_later_one_holds() -> None:
    one = clock()
    stamp_settings(one, k_slack(30), 1)
    stamp_settings(one, k_slack(50), 1)
    frontier = one.advance(ticks((1, 0, 0), (2, 0, 0)))
    assert (frontier.version.tolist(), frontier.k_ms.tolist()) == ([1, 3], [0, 50])


def test_facts_in_the_middle_of_one_call_and_back() -> None:
    one = clock(MP)
    stamp_settings(one, NONE, 1)
    stamp_settings(one, MP, 2)  # largest goes on being measured while another policy is in force
    frontier = one.advance(ticks((1, 100, 100), (2, 30, 30), (3, 100, 100)))
    assert frontier.k_ms.tolist() == [0, 0, 70]


def test_the_first_fact_holds_from_tick_0() -> None:
    assert clock().facts[0].since == 0


def test_bytes_and_back() -> None:
    one = clock(MP)
    one.advance(ticks((0, 60, 100)))
    stamp_settings(one, k_slack(5), 0)
    later = again(one)
    assert later == one
    assert later.advance(ticks((1, 120, 120))).k_ms.tolist() == [5]


@pytest.fixture
def frontier() -> Frontier:
    """Tick 2, 5, 6 with F at 100, 100, 130; before them it was 70."""
    one = clock()
    one.advance(ticks((0, 70, 70)))
    return one.advance(ticks((2, 100, 100), (5, 90, 90), (6, 130, 130)))


def test_start_is_f_before_the_first_tick(frontier: Frontier) -> None:
    assert (frontier.start, frontier.last) == (70, 130)
    assert clock().advance(ticks((0, 1, 1))).start == BEFORE_ALL


def test_before_is_f_as_each_tick_found_it(frontier: Frontier) -> None:
    place = frontier.index(np.array([6, 2, 5, 5]))
    assert frontier.before(place).tolist() == [100, 70, 100, 100]


# F      70 | 100  100  130 | 999
# tick      |  2    5    6  |  6
# end 100 closes at the first of the two ticks, 101 at the next that passes it, 999 where the stream is closed
def test_closing_is_the_first_tick_whose_f_reaches_the_end() -> None:
    one = clock()
    one.advance(ticks((0, 70, 70)))
    frontier = one.close(one.advance(ticks((2, 100, 100), (5, 90, 90), (6, 130, 130))), 999)
    assert frontier.closing(np.array([71, 100, 101, 130, 999])).tolist() == [0, 0, 2, 2, 3]


def test_a_close_is_the_last_tick_again_and_f_moves_on() -> None:
    one = clock(k_slack(30))
    frontier = one.close(one.advance(ticks((2, 100, 100), (5, 150, 150))), 400)
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
    assert (one.frontier, one.t_max, one.end, frontier.start, frontier.last) == (400, 150, 60, BEFORE_ALL, 400)


def test_the_tuples_of_a_tick_find_f_as_it_was_before_the_close(frontier: Frontier) -> None:
    closed = clock().close(frontier, 999)
    assert closed.before(closed.index(np.array([2, 6]))).tolist() == [70, 100]


# tick       2    | quiet |   3     4
# t_max    100    |       | 110   500
# F        100    |  400  | 400   500
def test_f_goes_on_from_a_close_and_does_not_fall() -> None:
    one = clock()
    one.close(one.advance(ticks((2, 100, 100))), 400)
    frontier = one.advance(ticks((3, 110, 110), (4, 500, 500)))
    assert (frontier.start, frontier.after.tolist()) == (400, [400, 500])


def test_a_close_does_not_move_f_back() -> None:
    one = clock()
    frontier = one.close(one.advance(ticks((2, 100, 100))), 50)
    assert (frontier.after.tolist(), one.frontier) == ([100, 100], 100)


def test_a_close_in_a_batch_without_ticks_has_what_was_in_force() -> None:
    one = clock(k_slack(30))
    one.advance(ticks((2, 100, 100)))
    stamp_settings(one, NONE, 2)  # from tick 3 on, and none came
    later = again(one)
    frontier = later.close(later.advance(ticks((0, 0, 0))[:0]), 400)
    found = (frontier.end, frontier.t_max, frontier.k_ms, frontier.after, frontier.version)
    assert [column.tolist() for column in found] == [[30], [100], [30], [400], [1]]
    assert (frontier.start, len(frontier)) == (70, 1)


def test_the_settings_in_force_are_those_of_the_last_complete_tick() -> None:
    one = Clock()
    assert one.in_force is None
    stamp_settings(one, NONE, BEFORE_ALL)
    stamp_settings(one, MP, 7)
    one.advance(ticks((7, 0, 0)))
    assert one.in_force.value == json.loads(NONE)
    one.advance(ticks((8, 0, 0)))
    assert one.in_force.value == again(one).in_force.value == json.loads(MP)


def test_the_version_is_that_of_the_last_complete_tick() -> None:
    one = clock()
    assert one.version == 0
    stamp_settings(one, MP, 3)
    one.advance(ticks((3, 0, 0)))
    assert one.version == 1
    one.advance(ticks((4, 0, 0)))
    assert one.version == 2
