"""The oracle itself, held to cases worked by hand from the contract.

In the timelines a tuple is written e@a: event time @ arrival time; `|` stands where a tick ends. Events of silence: ^t
is a heartbeat (the source has passed t), Qt is one by which the query is quiet.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.streams import DAY, EARLIEST, cuts, disordered, pieces
from kit.oracles.oracle import (
    Answer,
    Corrected,
    Outcome,
    Passed,
    Settings,
    Tick,
    Truth,
    Tuple,
    aggregate,
    batch,
    close,
    corrected,
    distinct,
    latest,
    missed,
    quantile,
    stream,
    ticks_of,
    windows_of,
)
from kit.suite.examples import drawn

pytestmark = pytest.mark.slow


def many(*rows: tuple) -> list[Tuple]:
    """(event, arrival[, value[, key[, id]]]): the value is 1.0, the key 'a' and the id the position, if not given."""
    made = []
    for position, (event, arrival, *rest) in enumerate(rows):
        value = rest[0] if rest else 1.0
        key = rest[1] if len(rest) > 1 else "a"
        name = rest[2] if len(rest) > 2 else f"t{position}"
        made.append(Tuple(event, arrival, name, key, value))
    return made


def short(outcome: Outcome) -> dict:
    """(start, end) -> (value, tuples, as_of), of key 'a'."""
    return {(s, e): (x.value, x.tuples, x.as_of) for (key, s, e), x in outcome.answers.items() if key == "a"}


# ---------------------------------------------------------------- windows


def test_windows_are_half_open_and_aligned_to_the_epoch() -> None:
    #      0         10        20
    #      [---------)[--------)
    #      0        9 10
    assert windows_of(0, 10, 10) == [(0, 10)]
    assert windows_of(9, 10, 10) == [(0, 10)]
    assert windows_of(10, 10, 10) == [(10, 20)]  # on the border: the next one only
    assert windows_of(-1, 10, 10) == [(-10, 0)]  # j = -1


def test_windows_whose_slide_does_not_divide_the_size() -> None:
    # size 10, slide 4:   -8 [---------) 2
    #                        -4 [---------) 6
    #                            0 [---------) 10
    #                                4 [---------) 14
    assert windows_of(5, 10, 4) == [(-4, 6), (0, 10), (4, 14)]
    assert windows_of(3, 10, 4) == [(-4, 6), (0, 10)]  # 3 >= 2, so no longer in [-8, 2)
    assert windows_of(-1, 10, 4) == [(-8, 2), (-4, 6)]
    assert windows_of(6, 10, 4) == [(0, 10), (4, 14)]  # 6 is the (open) end of [-4, 6)


# ---------------------------------------------------------------- ticks


def test_tick_numbers_and_where_arrival_goes_backwards() -> None:
    # arrivals    3   12 | 9   20      tick 10
    # largest     3   12   12  20
    # tick        0   1    1   2
    # end         10  20   20  30
    assert ticks_of(many((0, 3), (0, 12), (0, 9), (0, 20)), 10) == [(0, 10), (1, 20), (1, 20), (2, 30)]


def test_tick_zero_numbers_by_position_and_ends_just_after_the_largest_arrival() -> None:
    # arrivals    5   5   3   8        each is a tick of its own
    # largest     5   5   5   8
    # end         6   6   6   9
    assert ticks_of(many((0, 5), (0, 5), (0, 3), (0, 8)), 0) == [(0, 6), (1, 6), (2, 6), (3, 9)]


# ---------------------------------------------------------------- closing


def test_a_window_closes_at_the_end_of_the_tick_at_which_the_frontier_reaches_its_end() -> None:
    # arrival  0            10          20
    #          1@2  9@9     | 10@15     |  (end of the run)
    # t_max          9          10
    # F              9          10            [0,10): 10 <= 9 no; 10 <= 10 yes, at the end of tick 1, 20
    tuples = many((1, 2, 1.0), (9, 9, -2.0), (10, 15, 4.0))
    query = Settings(10, 10, 10)
    outcome = stream(tuples, query)
    assert outcome.answers == {
        ("a", 0, 10): Answer(value=-1.0, tuples=2, k_ms=0, as_of=20, facts_version=1, sum_abs=3.0),
        ("a", 10, 20): Answer(value=4.0, tuples=1, k_ms=0, as_of=20, facts_version=1, sum_abs=4.0),  # flushed
    }
    assert outcome.late == {}
    assert outcome.trace == [Tick(0, 10, 9, 0, 9, 1), Tick(1, 20, 10, 0, 10, 1)]
    assert outcome.as_of == 20
    assert outcome.frontier == 20  # the flush moves F to the end of [10, 20)


def test_keep_open_leaves_the_newest_tick_incomplete_and_flushes_nothing() -> None:
    # the same stream: tick 1 is not completed, so 10@15 is not taken in, and F stays 9
    tuples = many((1, 2), (9, 9), (10, 15))
    outcome = stream(tuples, Settings(10, 10, 10), flush=False)
    assert outcome.answers == {}
    assert outcome.pending == tuples[2:]
    assert (outcome.as_of, outcome.frontier) == (10, 9)
    # one more tuple, a tick later, completes tick 1: [0,10) closes at 20, [10,20) stays open
    outcome = stream([*tuples, Tuple(11, 21, "x", "a", 1.0)], Settings(10, 10, 10), flush=False)
    assert short(outcome) == {(0, 10): (2.0, 2, 20)}
    assert outcome.closed(10)
    assert not outcome.closed(20)


def test_an_empty_run_answers_nothing() -> None:
    for flush in (True, False):
        outcome = stream([], Settings(10, 10, 10), flush)
        assert (outcome.answers, outcome.late, outcome.as_of, outcome.frontier) == ({}, {}, None, None)
    assert not stream([], Settings(10, 10, 10)).closed(-1000)
    # keep-open with a single tick: nothing has been completed
    outcome = stream(many((5, 5)), Settings(10, 10, 10), flush=False)
    assert (outcome.trace, len(outcome.pending)) == ([], 1)


def test_what_comes_in_the_same_tick_as_the_closing_is_in_time_and_the_next_tick_is_late() -> None:
    # arrival  0               10        20
    #          10@1    3@2     | 4@12    |
    # F before -       -         10
    # F after  10                10
    # [0,10) closes at 10 with 3@2 in it; 4@12 misses it.
    outcome = stream(many((10, 1, 1.0), (3, 2, 2.0), (4, 12, 4.0)), Settings(10, 10, 10))
    assert short(outcome) == {(0, 10): (2.0, 1, 10), (10, 20): (1.0, 1, 20)}
    assert outcome.late == {("a", 0, 1): 1}
    [late] = outcome.late_tuples
    assert (late.position, late.tick, late.frontier, late.end, late.windows) == (2, 1, 10, 20, ((0, 10),))


def test_an_empty_window_closes_too_and_a_late_tuple_counts_in_its_open_windows() -> None:
    # size 10, slide 5, tick 10; pane 5
    # arrival  0        10        20
    #          12@5     | 7@15    |
    # F        12         12
    #   [0,10)   closed at F = 12, empty          7 misses it: late
    #   [5,15)   open                             7 counts
    #   [10,20)  open
    outcome = stream(many((12, 5, 1.0), (7, 15, 2.0)), Settings(10, 5, 10))
    assert short(outcome) == {(5, 15): (3.0, 2, 20), (10, 20): (1.0, 1, 20)}  # no answer for [0, 10)
    assert outcome.late == {("a", 5, 1): 1}
    assert outcome.late_tuples[0].windows == ((0, 10),)


def test_another_key_moves_the_frontier() -> None:
    # t_max is the query's: b's 20@5 closes a's windows
    # arrival  0                10       20
    #          1@1 a   20@5 b   | 2@11 a |
    outcome = stream(many((1, 1, 1.0, "a"), (20, 5, 2.0, "b"), (2, 11, 4.0, "a")), Settings(10, 10, 10))
    assert {w: x.value for w, x in outcome.answers.items()} == {("a", 0, 10): 1.0, ("b", 20, 30): 2.0}
    assert outcome.late == {("a", 0, 1): 1}


def test_no_key_is_one_group() -> None:
    outcome = stream(many((1, 1, 1.0, None), (2, 2, 2.0, None)), Settings(10, 10, 10))
    assert outcome.answers == {(None, 0, 10): Answer(3.0, 2, 0, 10, 1, 3.0)}


def test_late_counts_a_tuple_once_however_many_windows_it_missed() -> None:
    # size 10, slide 4, so pane 2; tick 10
    # arrival  0        10               20
    #          30@1     | 5@11  4@12  6@13 |
    # F        30          (all of the windows of 4, 5 and 6 end by 14)
    #   5: missed [-4,6) [0,10) [4,14)   pane [4,6)
    #   4: missed [-4,6) [0,10) [4,14)   pane [4,6)
    #   6: missed        [0,10) [4,14)   pane [6,8)
    outcome = stream(many((30, 1), (5, 11), (4, 12), (6, 13)), Settings(10, 4, 10))
    assert outcome.late == {("a", 4, 1): 2, ("a", 6, 1): 1}
    assert [late.windows for late in outcome.late_tuples] == [
        ((-4, 6), (0, 10), (4, 14)),
        ((-4, 6), (0, 10), (4, 14)),
        ((0, 10), (4, 14)),
    ]


def test_panes_and_windows_before_the_epoch() -> None:
    # size 6, slide 4, so pane 2; tick 10; -3 lies in pane [-4,-2)
    # arrival  0       10        20
    #          1@1     | -3@11   |
    # F        1
    #   windows of -3: [-8,-2) and [-4,2):  -2 <= 1 closed, 2 <= 1 no
    outcome = stream(many((1, 1, 1.0), (-3, 11, 2.0)), Settings(6, 4, 10))
    assert outcome.late == {("a", -4, 1): 1}
    assert outcome.late_tuples[0].windows == ((-8, -2),)
    assert short(outcome) == {(-4, 2): (3.0, 2, 20), (0, 6): (1.0, 1, 20)}


# ---------------------------------------------------------------- K


def test_k_slack_waits() -> None:
    # k = 5; size = slide = tick = 10
    # arrival  0       10              20       30        40
    #          10@1    | 14@11   3@12  | 15@21  | 4@31    |
    # t_max    10        14              15       15
    # F        5         9               10       10
    # [0,10) closes at the end of tick 2, 30, with 3@12; 4@31 is late.
    query = Settings(10, 10, 10, policy=("k_slack", 5))
    outcome = stream(many((10, 1), (14, 11), (3, 12, 2.0), (15, 21), (4, 31)), query)
    assert outcome.answers[("a", 0, 10)] == Answer(2.0, 1, k_ms=5, as_of=30, facts_version=1, sum_abs=2.0)
    assert [x.frontier for x in outcome.trace] == [5, 9, 10, 10]
    assert outcome.late == {("a", 0, 3): 1}


def test_mp_k_slack_takes_delays_against_t_max_of_their_own_tick_and_k_holds_at_once() -> None:
    # size = slide = tick = 10
    # arrival  0               10       20
    #          4@1     11@2    | 13@11  |
    # t_max            11        13
    # delays   7 (11-4)  0       0           4@1 came before 11@2, yet in its tick t_max is 11
    # K                7         7
    # F                4         6           with K = 0, [0,10) would have closed at the end of tick 0
    outcome = stream(many((4, 1), (11, 2), (13, 11)), Settings(10, 10, 10, policy="mp_k_slack"))
    assert outcome.trace == [Tick(0, 10, 11, 7, 4, 1), Tick(1, 20, 13, 7, 6, 1)]
    # by the flush
    assert outcome.answers[("a", 0, 10)] == Answer(1.0, 1, k_ms=7, as_of=20, facts_version=1, sum_abs=1.0)


def test_the_frontier_never_falls_when_k_grows() -> None:
    # mp_k_slack, size = slide = tick = 10
    # arrival  0       10       20       30
    #          25@1    | 3@11   | 4@21   |
    # t_max    25        25       25
    # K        0         22       22
    # F        25        25       25        (25 - 22 = 3 < 25)
    # [0,10), [10,20) closed at the end of tick 0: 3@11 and 4@21 are late though K would now have waited.
    outcome = stream(many((25, 1), (3, 11), (4, 21)), Settings(10, 10, 10, policy="mp_k_slack"))
    assert [(x.k_ms, x.frontier) for x in outcome.trace] == [(0, 25), (22, 25), (22, 25)]
    assert outcome.late == {("a", 0, 1): 1, ("a", 0, 2): 1}
    # the flush at the end has the K then in force
    assert outcome.answers == {("a", 20, 30): Answer(1.0, 1, k_ms=22, as_of=30, facts_version=1, sum_abs=1.0)}


def test_arrival_that_goes_backwards_joins_the_largest_tick_so_far() -> None:
    # size = slide = tick = 10
    # position 0      1        2      3
    #          1@2    10@15    2@8    3@22
    # tick     0      1        1 (8 < 10, but tick 1 is the largest so far)   2
    # F        1      10       10
    # 2@8 is of the tick in which [0,10) closes: in time.  3@22 is late.
    outcome = stream(many((1, 2, 1.0), (10, 15, 8.0), (2, 8, 2.0), (3, 22, 4.0)), Settings(10, 10, 10))
    assert short(outcome)[(0, 10)] == (3.0, 2, 20)
    assert outcome.late == {("a", 0, 2): 1}
    assert [(x.tick, x.end) for x in outcome.trace] == [(0, 10), (1, 20), (2, 30)]


def test_an_event_after_its_arrival_has_no_delay() -> None:
    # 50@1: the event lies ahead; F = 50 closes all before it, and K stays 0
    outcome = stream(many((50, 1), (55, 12)), Settings(10, 10, 10, policy="mp_k_slack"))
    assert [(x.t_max, x.k_ms, x.frontier) for x in outcome.trace] == [(50, 0, 50), (55, 0, 55)]


def test_ticks_without_tuples_do_not_exist() -> None:
    # arrival  0     10    ...    990   1000
    #          9@9   |            | 10@995 |
    outcome = stream(many((9, 9), (10, 995)), Settings(10, 10, 10))
    assert [(x.tick, x.end) for x in outcome.trace] == [(0, 10), (99, 1000)]
    assert short(outcome)[(0, 10)] == (1.0, 1, 1000)


# ---------------------------------------------------------------- tick 0


def test_tick_zero_closes_after_each_tuple() -> None:
    # size = slide = 10, tick 0
    # position 0     1      2     3      4
    #          1@5   10@5   2@5   3@4    20@9
    # end      6     6      6     6      10
    # F        1     10     10    10     20
    # [0,10) closes at tick 1 with 1@5 alone: 2@5 (same arrival) and 3@4 (backwards) are late, at ticks 2 and 3.
    # [10,20) closes at tick 4, as_of 10; [20,30) is flushed.
    tuples = many((1, 5, 1.0), (10, 5, 8.0), (2, 5, 2.0), (3, 4, 4.0), (20, 9, 16.0))
    query = Settings(10, 10, 0)
    outcome = stream(tuples, query)
    assert short(outcome) == {(0, 10): (1.0, 1, 6), (10, 20): (8.0, 1, 10), (20, 30): (16.0, 1, 10)}
    assert outcome.late == {("a", 0, 2): 1, ("a", 0, 3): 1}
    assert [x.end for x in outcome.late_tuples] == [6, 6]
    # arrived in [5, 6): both; the correction ties with the answer (as_of 6), and wins
    assert missed(outcome, 5, 6) == {("a", 0, 10)}
    assert missed(outcome, 6, 10) == set()
    assert corrected(outcome, tuples, query, 5, 6) == {("a", 0, 10): Corrected(7.0, 3, 6, 7.0)}
    assert latest(outcome, tuples, query, [(5, 6)])[("a", 0, 10)] == Corrected(7.0, 3, 6, 7.0)
    # keep-open: the last tuple is a tick of its own, which stays incomplete
    outcome = stream(tuples, query, flush=False)
    assert short(outcome) == {(0, 10): (1.0, 1, 6)}
    assert outcome.pending == tuples[4:]


# ---------------------------------------------------------------- facts


def test_a_change_of_policy_holds_from_the_first_tick_with_tuples_at_or_after_its_own() -> None:
    # size = slide = tick = 10; version 1: k = 100; version 2: none, from tick 2; version 3: k = 3, from tick 4
    # arrival  0       10       (no tick 2)  30       40         50
    #          5@1     | 12@11  |            | 21@31  | 32@41    |
    # tick     0         1                     3        4
    # K        100       100                   0        3
    # F        -95       -88                   21       29
    # version  1         1                     2        3
    # [0,10), [10,20) close at the end of tick 3, 40; [20,30) and [30,40) by the flush at 50 (29 < 30)
    query = Settings(10, 10, 10, policy=("k_slack", 100), changes=((2, "none"), (4, ("k_slack", 3))))
    outcome = stream(many((5, 1), (12, 11), (21, 31), (32, 41)), query)
    assert outcome.trace == [
        Tick(0, 10, 5, 100, -95, 1),
        Tick(1, 20, 12, 100, -88, 1),
        Tick(3, 40, 21, 0, 21, 2),
        Tick(4, 50, 32, 3, 29, 3),
    ]
    found = {w[1:]: (x.k_ms, x.as_of, x.facts_version) for w, x in outcome.answers.items()}
    assert found == {(0, 10): (0, 40, 2), (10, 20): (0, 40, 2), (20, 30): (3, 50, 3), (30, 40): (3, 50, 3)}


def test_the_largest_delay_counts_what_came_before_the_change_to_mp_k_slack() -> None:
    # arrival  0       10      20        30
    #          20@1    | 5@11  | 21@21   |      mp_k_slack from tick 2
    # delay    0         15      0
    # K        0         0       15
    query = Settings(10, 10, 10, changes=((2, "mp_k_slack"),))
    outcome = stream(many((20, 1), (5, 11), (21, 21)), query)
    assert [(x.k_ms, x.frontier) for x in outcome.trace] == [(0, 20), (0, 20), (15, 20)]


# ---------------------------------------------------------------- functions, duplicates, batch


@pytest.mark.parametrize(
    ("function", "value"),
    [("sum", -1.0), ("count", 3.0), ("avg", -1 / 3), ("min", -3.0), ("max", 2.0), ("median", 0.0), ("quantile", -1.5)],
)
def test_functions(function: str, value: float) -> None:
    tuples = many((1, 1, 2.0), (2, 2, -3.0), (3, 3, 0.0))
    query = Settings(10, 10, 10, function, q=0.25)
    assert stream(tuples, query).answers[("a", 0, 10)] == Answer(value, 3, 0, 10, 1, 5.0)
    assert batch(tuples, query) == {("a", 0, 10): Truth(value, 3, 5.0)}


@pytest.mark.parametrize(
    ("values", "q", "value"),
    [
        ([5.0], 0.9, 5.0),
        ([1.0, 3.0], 0.5, 2.0),
        ([4.0, 1.0, 2.0, 3.0], 0.5, 2.5),
        ([4.0, 1.0, 2.0, 3.0], 0.75, 3.25),  # at place 2.25: a quarter of the way from 3 to 4
        ([10.0, 0.0, 20.0], 0.5, 10.0),
        ([2.0, 2.0, 2.0], 1 / 3, 2.0),
        ([-8e307, 8e307], 0.5, 0.0),
    ],
)
def test_a_quantile_lies_between_the_values_at_its_place(values: list[float], q: float, value: float) -> None:
    assert quantile(values, Fraction(q)) == value
    assert aggregate("quantile", values, q).value == value
    if q == 0.5:
        assert aggregate("median", values).value == value


@pytest.mark.parametrize(
    ("function", "total"), [("sum", (2.0, 8.0)), ("count", (2, 1)), ("avg", (None, None)), ("max", (None, None))]
)
def test_late_rows_have_what_amends_an_answer(function: str, total: tuple[float | None, float | None]) -> None:
    # arrival  0            10                20       30
    #          11@1 a 1     | 2@11 a 4   3@12 a -2 | 4@21 a 8     F = 11 from 10 on
    tuples = many((11, 1, 1.0), (2, 11, 4.0), (3, 12, -2.0), (4, 21, 8.0))
    outcome = stream(tuples, Settings(10, 10, 10, function))
    assert outcome.late == {("a", 0, 1): 2, ("a", 0, 2): 1}
    assert outcome.late_totals["a", 0, 1] == (total[0], 6.0)
    assert outcome.late_totals["a", 0, 2] == (total[1], 8.0)


def test_same_is_within_the_sum_of_absolute_values() -> None:
    assert close(1.0 + 1e-6, 1.0, 1e4)
    assert not close(1.0 + 1e-6, 1.0, 1.0)
    assert close(0.0, 0.0, 0.0)


def test_batch_takes_what_arrived_before_and_every_window_of_it() -> None:
    # size 10, slide 5, tick 10
    # arrival  0       10             20       30
    #          12@5    | 7@15   1@8   | 8@29   |      1@8 is of tick 1: arrived at 20
    tuples = many((12, 5, 1.0), (7, 15, 2.0), (1, 8, 4.0), (8, 29, 8.0))
    query = Settings(10, 5, 10)
    assert batch(tuples, query, before=9) == {}
    assert batch(tuples, query, before=10) == {("a", 5, 15): Truth(1.0, 1, 1.0), ("a", 10, 20): Truth(1.0, 1, 1.0)}
    assert batch(tuples, query, before=20) == {
        ("a", -5, 5): Truth(4.0, 1, 4.0),
        ("a", 0, 10): Truth(6.0, 2, 6.0),
        ("a", 5, 15): Truth(3.0, 2, 3.0),
        ("a", 10, 20): Truth(1.0, 1, 1.0),
    }
    assert batch(tuples, query) == batch(tuples, query, before=30)
    assert batch(tuples, query)[("a", 0, 10)] == Truth(14.0, 3, 14.0)


def test_the_stream_keeps_repeats_and_the_batch_drops_them_whatever_they_hold() -> None:
    # id x comes three times, with other keys, times and values: the first stays
    # arrival  0                               10               20
    #          1@1 x a 1    2@2 x a 2    3@3 y a 4  | 11@12 x b 8    |
    tuples = many((1, 1, 1.0, "a", "x"), (2, 2, 2.0, "a", "x"), (3, 3, 4.0, "a", "y"), (11, 12, 8.0, "b", "x"))
    query = Settings(10, 10, 10)
    assert {w: x.value for w, x in stream(tuples, query).answers.items()} == {("a", 0, 10): 7.0, ("b", 10, 20): 8.0}
    assert batch(tuples, query) == {("a", 0, 10): Truth(5.0, 2, 5.0)}


def test_the_first_in_order_of_arrival_is_by_tick_then_arrival_then_position() -> None:
    # position 0       1        2        3       4
    # arrival  5       19       12       2       12
    # tick     0       1        1        1       1
    # order    0       4        2        1       3     (3 is of tick 1, so it comes after position 0)
    tuples = many((0, 5), (0, 19), (0, 12), (0, 2), (0, 12))
    assert [x.id for x in distinct(tuples, 10)] == ["t0", "t3", "t2", "t4", "t1"]
    assert [x.id for x in distinct(tuples, 0)] == ["t0", "t1", "t2", "t3", "t4"]  # each its own tick, by position
    same = [x._replace(id="x") for x in tuples[1:]]
    assert distinct(same, 10) == [same[2]]


# ---------------------------------------------------------------- corrections


def test_a_correction_takes_the_late_of_its_interval_and_all_that_arrived_before_its_end() -> None:
    # size = slide = tick = 10
    # arrival  0                10            20           30            40
    #          1@1      10@2    | 2@11        | 3@21       | 13@31  25@32 |
    #          v=1      v=16      v=2           v=4          v=32   v=64
    # F        10                 10            10           25
    # [0,10) closes at 10 with 1.  2@11 late (arrives at 20), 3@21 late (arrives at 30).
    # [10,20) closes at 40 with 10@2 and 13@31; [20,30) is flushed at 40.
    tuples = many((1, 1, 1.0), (10, 2, 16.0), (2, 11, 2.0), (3, 21, 4.0), (13, 31, 32.0), (25, 32, 64.0))
    query = Settings(10, 10, 10)
    outcome = stream(tuples, query)
    assert short(outcome) == {(0, 10): (1.0, 1, 10), (10, 20): (48.0, 2, 40), (20, 30): (64.0, 1, 40)}

    window = ("a", 0, 10)
    assert missed(outcome, 0, 10) == set()
    assert missed(outcome, 10, 20) == {window}  # the tick [10, 20) lies in it
    assert missed(outcome, 20, 30) == {window}
    assert missed(outcome, 30, 40) == set()
    assert corrected(outcome, tuples, query, 10, 20) == {window: Corrected(3.0, 2, 20, 3.0)}
    assert corrected(outcome, tuples, query, 20, 30) == {window: Corrected(7.0, 3, 30, 7.0)}
    assert corrected(outcome, tuples, query, 30, 40) == {}

    # readers: the greatest as_of, whatever the order and however often they ran
    assert latest(outcome, tuples, query, [])[window] == Corrected(1.0, 1, 10, 1.0)
    assert latest(outcome, tuples, query, [(10, 20)])[window] == Corrected(3.0, 2, 20, 3.0)
    for order in ([(10, 20), (20, 30)], [(20, 30), (10, 20)], [(20, 30), (10, 20), (20, 30)]):
        assert latest(outcome, tuples, query, order)[window] == Corrected(7.0, 3, 30, 7.0)
    assert latest(outcome, tuples, query, [(0, 40)])[window] == Corrected(7.0, 3, 40, 7.0)
    assert latest(outcome, tuples, query, [(0, 40)])[("a", 10, 20)] == Corrected(48.0, 2, 40, 48.0)


def test_a_correction_answers_a_window_that_the_stream_did_not_and_not_the_ones_still_open() -> None:
    # size 10, slide 5, tick 10, as above: 7@15 misses [0,10), which the stream never answered, and counts in [5,15)
    tuples = many((12, 5, 1.0), (7, 15, 2.0))
    query = Settings(10, 5, 10)
    outcome = stream(tuples, query)
    assert corrected(outcome, tuples, query, 10, 20) == {("a", 0, 10): Corrected(2.0, 1, 20, 2.0)}


def test_a_correction_retracts_what_is_left_without_tuples() -> None:
    # size = slide = tick = 10
    # arrival  0                          10          20
    #          21@1 x b   1@2 x a  30@3 z b | 2@11 x a  |
    # The stream answers a [0,10) with the repeat 1@2, and 2@11, the next repeat, is late there.
    # The first x is 21@1 of b: nothing is left for a.
    tuples = many((21, 1, 1.0, "b", "x"), (1, 2, 2.0, "a", "x"), (30, 3, 4.0, "b", "z"), (2, 11, 8.0, "a", "x"))
    query = Settings(10, 10, 10)
    outcome = stream(tuples, query)
    assert outcome.answers[("a", 0, 10)] == Answer(2.0, 1, 0, 10, 1, 2.0)
    assert corrected(outcome, tuples, query, 10, 20) == {("a", 0, 10): None}
    assert set(latest(outcome, tuples, query, [(10, 20)])) == {("b", 20, 30), ("b", 30, 40)}


# ---------------------------------------------------------------- heartbeats


def test_a_heartbeat_completes_the_smaller_ticks_and_leaves_its_own_open() -> None:
    # size = slide = tick = 10, live
    # arrival  0       10        20
    #          1@1     | 10@12   |                  ^19 stands in tick 1, ^20 in tick 2
    # F        1         10
    tuples = many((1, 1), (10, 12))
    query = Settings(10, 10, 10)

    without = stream(tuples, query, flush=False)
    assert (short(without), without.pending, without.committed) == ({}, tuples[1:], 10)
    at_19 = stream(tuples, query, flush=False, passed=[Passed(2, 19)])
    assert (short(at_19), at_19.pending, at_19.committed) == ({}, tuples[1:], 10)

    at_20 = stream(tuples, query, flush=False, passed=[Passed(2, 20)])
    assert short(at_20) == {(0, 10): (1.0, 1, 20)}
    assert (at_20.pending, at_20.as_of, at_20.frontier, at_20.committed) == ([], 20, 10, 20)
    # much later: [10,20) is open still, as F follows t_max; committed follows the heartbeats
    at_95 = stream(tuples, query, flush=False, passed=[Passed(2, 20), Passed(2, 95)])
    assert (short(at_95), at_95.frontier, at_95.committed) == (short(at_20), 10, 90)


def test_after_a_heartbeat_a_tuple_s_tick_is_at_least_the_heartbeat_s() -> None:
    # arrivals       3   ^35   4   31   37   41
    # own tick       0         0   3    3    4
    # tick           0         3   3    3    4       as if arrival had gone backwards from 35
    # end            10        40  40   40   50
    tuples = many((0, 3), (0, 4), (0, 31), (0, 37), (0, 41))
    assert ticks_of(tuples, 10, [Passed(1, 35)]) == [(0, 10), (3, 40), (3, 40), (3, 40), (4, 50)]
    # one that is behind what came already changes nothing, nor does one in the tick of the tuple before it
    assert ticks_of(tuples, 10, [Passed(5, 12)]) == ticks_of(tuples, 10)
    assert ticks_of(tuples, 10, [Passed(3, 39)]) == ticks_of(tuples, 10)
    # before the first tuple
    assert ticks_of(tuples[:2], 10, [Passed(0, 25), Passed(1, 18)]) == [(2, 30), (2, 30)]


def test_what_a_heartbeat_made_late_arrived_in_the_heartbeat_s_tick() -> None:
    # size = slide = tick = 10
    # arrival  0              10        20    ...    30             40
    #          1@1    10@2    | 3@11    |            ^33   2@8      |        2@8 would be of tick 1, like 3@11
    # v        1      8         4                          2
    # F        10               10                         10
    tuples = many((1, 1, 1.0), (10, 2, 8.0), (3, 11, 4.0), (2, 8, 2.0))
    query = Settings(10, 10, 10)
    silence = [Passed(3, 33)]
    assert stream(tuples, query).late == {("a", 0, 1): 2}
    outcome = stream(tuples, query, passed=silence)
    assert short(outcome) == {(0, 10): (1.0, 1, 10), (10, 20): (8.0, 1, 40)}
    assert outcome.late == {("a", 0, 1): 1, ("a", 0, 3): 1}
    assert [x.end for x in outcome.late_tuples] == [20, 40]

    window = ("a", 0, 10)
    assert [missed(outcome, *cut) for cut in [(0, 10), (10, 20), (20, 30), (30, 40)]] == [
        set(),
        {window},
        set(),
        {window},
    ]
    assert batch(tuples, query, 30, silence)[window] == Truth(5.0, 2, 5.0)
    assert batch(tuples, query, 40, silence)[window] == Truth(7.0, 3, 7.0)
    assert corrected(outcome, tuples, query, 10, 20, silence) == {window: Corrected(5.0, 2, 20, 5.0)}
    assert corrected(outcome, tuples, query, 30, 40, silence) == {window: Corrected(7.0, 3, 40, 7.0)}
    assert latest(outcome, tuples, query, [(10, 20)], silence)[window] == Corrected(5.0, 2, 20, 5.0)
    assert latest(outcome, tuples, query, [(30, 40), (10, 20)], silence)[window] == Corrected(7.0, 3, 40, 7.0)


def test_the_first_in_order_of_arrival_goes_by_the_ticks_that_heartbeats_gave() -> None:
    # position   0        1            2
    # arrival    19  ^25  3            12
    # tick       1        2 (3 < 25)   2
    tuples = [x._replace(id="x") for x in many((0, 19), (0, 3), (0, 12))]
    assert distinct(tuples, 10) == [tuples[1]]  # all of tick 1
    assert distinct(tuples, 10, passed=[Passed(1, 25)]) == [tuples[0]]
    assert distinct(tuples, 10, before=20, passed=[Passed(0, 25)]) == []  # all of tick 2, so nothing arrived before 20


def test_a_fact_holds_from_the_heartbeat_s_tick_for_what_it_moved_there() -> None:
    # arrival  0       10          30          40
    #          20@1    |   ^31     | 25@12     |        version 2, k = 7, from tick 3
    # F        20                    20 (25 - 7 = 18)
    query = Settings(10, 10, 10, changes=((3, ("k_slack", 7)),))
    outcome = stream(many((20, 1), (25, 12)), query, passed=[Passed(1, 31)])
    assert outcome.trace == [Tick(0, 10, 20, 0, 20, 1), Tick(3, 40, 25, 7, 20, 2)]


def test_heartbeats_alone_commit_and_answer_nothing() -> None:
    query = Settings(10, 10, 10)
    assert stream([], query, flush=False).committed is None
    for quiet in (False, True):  # no tuple came, so there is nothing that could be quiet
        outcome = stream([], query, flush=False, passed=[Passed(0, 57, quiet)])
        assert (outcome.answers, outcome.trace, outcome.frontier, outcome.committed) == ({}, [], None, 50)


def test_committed_is_the_end_at_a_flush_and_else_the_start_of_the_newest_tick() -> None:
    tuples = many((1, 1), (10, 12), (2, 47))
    for tick, ended, going in [(10, 50, 40), (100, 100, 0), (0, 48, 47)]:
        query = Settings(10, 10, tick)
        assert stream(tuples, query).committed == ended
        assert stream(tuples, query, flush=False).committed == going


# ---------------------------------------------------------------- quiet


def test_a_quiet_closes_the_open_windows_and_what_comes_for_them_is_late() -> None:
    # size = slide = tick = 10, live
    # arrival  0       10             20    ...    120          130
    #          1@1     | 10@12 12@13  |            Q120  11@121 20@122  |
    # v        1         2     4                         8      16
    # F        1         12                        20    20
    # [0,10)  closes at the end of tick 1, 20.
    # [10,20) by the quiet: as_of is the end of the last tick with tuples, 20 as well. 11@121 is late.
    tuples = many((1, 1, 1.0), (10, 12, 2.0), (12, 13, 4.0), (11, 121, 8.0), (20, 122, 16.0))
    query = Settings(10, 10, 10)
    silence = [Passed(3, 120, quiet=True)]

    then = stream(tuples[:3], query, flush=False, passed=silence)
    assert short(then) == {(0, 10): (1.0, 1, 20), (10, 20): (6.0, 2, 20)}
    assert (then.pending, then.as_of, then.frontier, then.committed) == ([], 20, 20, 120)
    assert [x.frontier for x in then.trace] == [1, 12]  # those of the ticks

    outcome = stream(tuples, query, passed=silence)
    assert short(outcome) == short(then) | {(20, 30): (16.0, 1, 130)}
    assert outcome.late == {("a", 10, 12): 1}
    assert (outcome.late_tuples[0].frontier, outcome.late_tuples[0].end) == (20, 130)
    assert corrected(outcome, tuples, query, 120, 130, silence) == {("a", 10, 20): Corrected(14.0, 3, 130, 14.0)}


def test_a_quiet_within_the_newest_tick_completes_it_and_later_tuples_get_the_next() -> None:
    # tick 100, longer than idle
    # arrival  0                                    200
    #          1@1  5@30   Q45     7@50  12@60      |        their own tick is 0, and so is that of the quiet's time
    # tick     0    0              1     1
    # F                    10            12
    tuples = many((1, 1, 1.0), (5, 30, 2.0), (7, 50, 4.0), (12, 60, 8.0))
    query = Settings(10, 10, 100)
    silence = [Passed(2, 45, quiet=True)]
    then = stream(tuples[:2], query, flush=False, passed=silence)
    assert short(then) == {(0, 10): (3.0, 2, 100)}
    assert (then.pending, then.as_of, then.committed) == ([], 100, 100)
    assert ticks_of(tuples, 100, silence) == [(0, 100), (0, 100), (1, 200), (1, 200)]
    outcome = stream(tuples, query, passed=silence)
    assert outcome.late == {("a", 0, 1): 1}
    assert short(outcome)[(10, 20)] == (8.0, 1, 200)


def test_a_quiet_moves_the_frontier_to_the_last_end_of_the_windows_that_hold_t_max() -> None:
    # size 10, slide 4, so pane 2; tick 10; t_max = 9
    #             0 [---------) 10
    #                 4 [---------) 14
    #                     8 [---------) 18           9 lies in it: F = 18 after the quiet
    #                        12 [---------) 22       the first one that is open then
    # arrival  0       10     80               90
    #          9@1     |      Q80  11@81 17@82 |     11: missed [4,14) [8,18)   17: missed [8,18)
    tuples = many((9, 1, 1.0), (11, 81, 2.0), (17, 82, 4.0))
    outcome = stream(tuples, Settings(10, 4, 10), passed=[Passed(1, 80, quiet=True)])
    assert stream(tuples[:1], Settings(10, 4, 10), False, [Passed(1, 80, quiet=True)]).frontier == 18
    assert outcome.late == {("a", 10, 8): 1, ("a", 16, 8): 1}
    assert [x.windows for x in outcome.late_tuples] == [((4, 14), (8, 18)), ((8, 18),)]
    assert short(outcome) == {
        (0, 10): (1.0, 1, 10),
        (4, 14): (1.0, 1, 10),
        (8, 18): (1.0, 1, 10),
        (12, 22): (4.0, 1, 90),
        (16, 26): (4.0, 1, 90),
    }


def test_a_quiet_answers_with_the_k_and_the_facts_of_the_last_tick_with_tuples() -> None:
    # size = slide = tick = 10, mp_k_slack; version 2, none, from tick 5: the quiet comes in tick 9, with no tuple since
    # arrival  0               10    90               100
    #          4@1     11@2    |     Q90    24@91     |
    # K                7                    0
    # F                4             20     24
    query = Settings(10, 10, 10, policy="mp_k_slack", changes=((5, "none"),))
    outcome = stream(many((4, 1), (11, 2), (24, 91)), query, flush=False, passed=[Passed(2, 90, quiet=True)])
    assert outcome.answers == {
        ("a", 0, 10): Answer(1.0, 1, k_ms=7, as_of=10, facts_version=1, sum_abs=1.0),
        ("a", 10, 20): Answer(1.0, 1, k_ms=7, as_of=10, facts_version=1, sum_abs=1.0),
    }
    outcome = stream(many((4, 1), (11, 2), (24, 91)), query, passed=[Passed(2, 90, quiet=True)])
    assert outcome.trace == [Tick(0, 10, 11, 7, 4, 1), Tick(9, 100, 24, 0, 24, 2)]
    assert outcome.answers[("a", 20, 30)] == Answer(1.0, 1, 0, 100, facts_version=2, sum_abs=1.0)


def test_the_frontier_stays_where_the_quiet_put_it_until_t_max_less_k_is_beyond() -> None:
    # size = slide = tick = 10, k = 15
    # arrival  0      10    90            100       110
    #          5@1    |     Q90   12@91   | 30@101  |
    # F        -10          10    10        15             12 - 15 < 10: F waits for 12@91 as ever
    query = Settings(10, 10, 10, policy=("k_slack", 15))
    outcome = stream(many((5, 1), (12, 91), (30, 101)), query, False, [Passed(1, 90, True), Passed(3, 110)])
    assert [x.frontier for x in outcome.trace] == [-10, 10, 15]
    assert (short(outcome), outcome.frontier) == ({(0, 10): (1.0, 1, 10)}, 15)


def test_a_quiet_twice_in_a_row_closes_once() -> None:
    tuples = many((1, 1), (10, 12), (3, 95))
    query = Settings(10, 10, 10)
    once = stream(tuples, query, passed=[Passed(2, 80, True)])
    assert once == stream(tuples, query, passed=[Passed(2, 80, True), Passed(2, 80, True)])
    assert once == stream(
        tuples, query, passed=[Passed(2, 30), Passed(2, 80, True), Passed(2, 85), Passed(2, 85, True)]
    )
    # the second is a heartbeat all the same: 3@12 comes after 90
    late = stream(many((1, 1), (3, 12)), query, passed=[Passed(1, 80, True), Passed(1, 90, True)])
    assert late.late == {("a", 0, 9): 1}


def test_the_windows_of_each_stretch_close_at_its_quiet() -> None:
    # size = slide = tick = 10
    # arrival  0      10    80           90    180
    #          5@1    |     Q80   25@81  |     Q180
    # F        5            10    25           30
    tuples = many((5, 1), (25, 81))
    outcome = stream(tuples, Settings(10, 10, 10), False, [Passed(1, 80, True), Passed(2, 180, True)])
    assert short(outcome) == {(0, 10): (1.0, 1, 10), (20, 30): (1.0, 1, 90)}
    assert (outcome.frontier, outcome.committed) == (30, 180)


# ---------------------------------------------------------------- silence with tick 0


def test_tick_zero_a_heartbeat_stands_before_the_next_tuple_and_completes_all_so_far() -> None:
    # position 0     1     2     3     4
    # arrival  5     5 ^40 7     40    41
    # own end  6     6     8     41    42
    # end      6     6     40    41    42        after ^40 nothing ends before 40
    tuples = many((1, 5, 1.0), (10, 5, 2.0), (2, 7, 4.0), (3, 40, 8.0), (20, 41, 16.0))
    assert ticks_of(tuples, 0, [Passed(2, 40)]) == [(0, 6), (1, 6), (2, 40), (3, 41), (4, 42)]
    assert ticks_of(tuples, 0, [Passed(2, 3)]) == ticks_of(tuples, 0)  # behind what came
    assert ticks_of(tuples[:2], 0, [Passed(0, 9)]) == [(0, 9), (1, 9)]

    # [0,10) closes when position 1 is complete
    query = Settings(10, 10, 0)
    waiting = stream(tuples[:2], query, flush=False)
    assert (short(waiting), waiting.pending, waiting.committed) == ({}, tuples[1:2], 5)
    told = stream(tuples[:2], query, flush=False, passed=[Passed(2, 40)])
    assert (short(told), told.pending, told.committed) == ({(0, 10): (1.0, 1, 6)}, [], 39)
    behind = stream(tuples[:2], query, flush=False, passed=[Passed(2, 3)])
    assert (short(behind), behind.pending, behind.committed) == ({(0, 10): (1.0, 1, 6)}, [], 5)


def test_tick_zero_what_comes_after_a_quiet_arrives_later_than_what_it_closed() -> None:
    # position 0          1     2     3
    # arrival  5    Q5    5     4     9
    # end      6          7     7     10         6 is the as_of of what the quiet closed
    # F        1    10    10    10    12
    tuples = many((1, 5, 1.0), (2, 5, 2.0), (3, 4, 4.0), (12, 9, 8.0))
    query = Settings(10, 10, 0)
    silence = [Passed(1, 5, quiet=True)]
    assert ticks_of(tuples, 0, silence) == [(0, 6), (1, 7), (2, 7), (3, 10)]
    outcome = stream(tuples, query, passed=silence)
    assert short(outcome) == {(0, 10): (1.0, 1, 6), (10, 20): (8.0, 1, 10)}
    assert outcome.late == {("a", 0, 1): 1, ("a", 0, 2): 1}
    assert missed(outcome, 5, 6) == set()
    assert corrected(outcome, tuples, query, 6, 7, silence) == {("a", 0, 10): Corrected(7.0, 3, 7, 7.0)}
    then = stream(tuples[:1], query, flush=False, passed=silence)
    assert (short(then), then.pending, then.frontier, then.committed) == ({(0, 10): (1.0, 1, 6)}, [], 10, 6)
    # idle later, as it is: what comes next ends after it
    assert ticks_of(tuples, 0, [Passed(1, 60, quiet=True)]) == [(0, 6), (1, 60), (2, 60), (3, 60)]


# ---------------------------------------------------------------- the strategies, and laws that need no engine


@drawn(200)
@given(disordered(changes=True, duplicates=True))
def test_drawn_streams_are_valid(case: tuple[list[Tuple], Settings]) -> None:
    tuples, query = case
    assert 0 < query.slide <= query.size
    for item in tuples:
        assert EARLIEST <= item.event_time < item.arrival_time + DAY


@drawn(200)
@given(disordered(changes=True))
def test_corrected_wholly_the_answers_are_the_batch_answers(case: tuple[list[Tuple], Settings]) -> None:
    tuples, query = case
    outcome = stream(tuples, query)
    if not tuples:
        return
    end = outcome.as_of
    assert end is not None
    start = min(item.arrival_time for item in tuples) // max(query.tick, 1) * max(query.tick, 1)
    final = latest(outcome, tuples, query, [(start, end)])
    truth = batch(tuples, query)
    assert {w: (x.value, x.tuples) for w, x in final.items()} == {w: (x.value, x.tuples) for w, x in truth.items()}


@drawn(200)
@given(st.data())
def test_a_longer_input_only_adds_to_what_was_answered(data: st.DataObject) -> None:
    tuples, query = data.draw(disordered(changes=True, duplicates=True))
    at = data.draw(cuts(len(tuples)))
    assert [x for piece in pieces(tuples, at) for x in piece] == tuples
    whole = stream(tuples, query)
    for cut in at:
        part = stream(tuples[:cut], query, flush=False)
        assert part.answers.items() <= whole.answers.items()
        assert part.late.items() <= whole.late.items()
        assert part.trace == whole.trace[: len(part.trace)]


@st.composite
def silences(draw: st.DrawFn, tuples: list[Tuple], at_end: bool = True) -> list[Passed]:
    """Events of silence in a log: at any positions, some of them behind what came, some far ahead, some quiet."""
    found = []
    most = len(tuples) if at_end else len(tuples) - 1
    for position in sorted(draw(st.lists(st.integers(0, max(most, 0)), max_size=6))):
        near = tuples[min(position, len(tuples) - 1)].arrival_time if tuples else 0
        offset = draw(st.one_of(st.integers(-300, 300), st.sampled_from([0, 1, -1, 60_000])))
        found.append(Passed(position, near + offset, draw(st.booleans())))
    return found


@drawn(200)
@given(st.data())
def test_with_silences_too_corrected_wholly_the_answers_are_the_batch_answers(data: st.DataObject) -> None:
    tuples, query = data.draw(disordered(changes=True))
    passed = data.draw(silences(tuples))
    outcome = stream(tuples, query, passed=passed)
    if not tuples:
        return
    start = min(item.end for item in outcome.trace) - max(query.tick, 1)
    assert outcome.committed is not None
    final = latest(outcome, tuples, query, [(start, outcome.committed)], passed)
    truth = batch(tuples, query)
    assert {w: (x.value, x.tuples) for w, x in final.items()} == {w: (x.value, x.tuples) for w, x in truth.items()}


@drawn(200)
@given(st.data())
def test_with_silences_too_a_longer_input_only_adds(data: st.DataObject) -> None:
    tuples, query = data.draw(disordered(changes=True, duplicates=True))
    passed = data.draw(silences(tuples))
    whole = stream(tuples, query, passed=passed)
    before: int | None = None
    for cut in [*data.draw(cuts(len(tuples))), len(tuples)]:
        told = [x for x in passed if x.position <= cut]
        part = stream(tuples[:cut], query, flush=False, passed=told)
        assert part.answers.items() <= whole.answers.items()
        assert part.late.items() <= whole.late.items()
        assert part.trace == whole.trace[: len(part.trace)]
        # What is committed stays as it is: nothing ever arrives before it any more.
        if part.committed is not None:
            assert before is None or before <= part.committed
            before = part.committed
            assert batch(tuples[:cut], query, before, told) == batch(tuples, query, before, passed)
            assert all(before is not None and x.end > before for x in whole.trace[len(part.trace) :])


@drawn(200)
@given(disordered(changes=True, duplicates=True), st.integers(0, 100_000))
def test_a_quiet_at_the_end_answers_what_a_flush_does(case: tuple[list[Tuple], Settings], wait: int) -> None:
    tuples, query = case
    if not tuples:
        return
    time = max(item.arrival_time for item in tuples) + wait
    flushed = stream(tuples, query)
    quiet = stream(tuples, query, flush=False, passed=[Passed(len(tuples), time, quiet=True)])
    assert quiet.pending == []
    assert (quiet.answers, quiet.late, quiet.trace) == (flushed.answers, flushed.late, flushed.trace)
    assert quiet.frontier == flushed.frontier
    assert quiet.as_of is not None
    assert quiet.committed is not None
    assert quiet.as_of <= quiet.committed


@drawn(200)
@given(st.data())
def test_a_heartbeat_that_no_tuple_comes_behind_changes_no_answer(data: st.DataObject) -> None:
    tuples, query = data.draw(disordered(changes=True, duplicates=True))
    passed = []
    for silence in data.draw(silences(tuples, at_end=False)):
        so_far = [item.arrival_time for item in tuples[: silence.position + 1]]
        if so_far:  # no later than what comes next, or came before it
            passed.append(Passed(silence.position, min(silence.time, max(so_far))))
    assert stream(tuples, query, passed=passed) == stream(tuples, query)
    assert batch(tuples, query, passed=passed) == batch(tuples, query)
