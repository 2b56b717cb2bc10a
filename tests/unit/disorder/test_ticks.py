"""Ticks of arrival time: numbered within a segment, and merged over segments."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.disorder.ticks import Ticks, concatenate, follow, number, summarise


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def rows(ticks: Ticks) -> list[tuple[int, ...]]:
    """(tick, end, count, smallest event time, largest event time) of each tick."""
    return list(zip(*(column.tolist() for column in (*ticks.columns(), *ticks.max_event)), strict=True))


def numbered(arrival: list[int], tick_ms: int, first: int = 0) -> tuple[list[int], list[int]]:
    tick, end = number(ints(*arrival), np.arange(first, first + len(arrival)), tick_ms)
    return tick.tolist(), end.tolist()


# arrival   0        99 100      199 200
#           |-- 0 ----| |-- 1 ----|  |-- 2
def test_a_tick_is_half_open_and_ends_where_the_next_begins() -> None:
    assert numbered([0, 99, 100, 199, 200], 100) == ([0, 0, 1, 1, 2], [100, 100, 200, 200, 300])


# arrival  250  40  199  300       40 and 199 come after 250, so they belong to its tick
def test_arrival_that_goes_backwards_is_in_the_largest_tick_so_far() -> None:
    assert numbered([250, 40, 199, 300], 100) == ([2, 2, 2, 3], [300, 300, 300, 400])


def test_with_tick_0_each_tuple_is_a_tick_that_ends_after_it() -> None:
    assert numbered([50, 50, 60], 0, first=7) == ([7, 8, 9], [51, 51, 61])


def test_with_tick_0_the_end_is_monotone() -> None:
    assert numbered([50, 20, 60], 0) == ([0, 1, 2], [51, 51, 61])


def test_no_tuples_give_no_ticks() -> None:
    for tick_ms in (0, 100):
        tick, end = number(ints(), ints(), tick_ms)
        assert rows(summarise(tick, end, ints())) == []


def test_statistics_of_each_tick() -> None:
    ticks = summarise(ints(3, 3, 5), ints(40, 40, 60), ints(-7, 31, 12))
    assert rows(ticks) == [(3, 40, 2, -7, 31), (5, 60, 1, 12, 12)]


def test_ticks_of_one_tuple_each() -> None:
    assert rows(summarise(ints(0, 1), ints(9, 9), ints(5, 4))) == [(0, 9, 1, 5, 5), (1, 9, 1, 4, 4)]


def test_ticks_before_the_largest_one_so_far_are_merged_into_it() -> None:
    segment = summarise(ints(2, 4, 6), ints(30, 50, 70), ints(1, 9, 3))
    assert rows(follow(segment, 5, 60)) == [(5, 60, 2, 1, 9), (6, 70, 1, 3, 3)]


def test_more_tuples_of_the_largest_tick_stay_in_it() -> None:
    assert rows(follow(summarise(ints(5), ints(60), ints(1)), 5, 60)) == [(5, 60, 1, 1, 1)]


def test_with_tick_0_only_the_ends_follow() -> None:
    assert rows(follow(summarise(ints(3, 4), ints(20, 90), ints(1, 2)), 2, 51)) == [(3, 51, 1, 1, 1), (4, 90, 1, 2, 2)]


def test_ticks_in_order_are_unchanged() -> None:
    segment = summarise(ints(6), ints(70), ints(1))
    assert follow(segment, 5, 60) is segment


def test_equal_ticks_of_two_segments_are_merged() -> None:
    one, two = summarise(ints(1, 2), ints(20, 30), ints(5, 6)), summarise(ints(2, 3), ints(30, 40), ints(-1, 8))
    assert rows(concatenate([one, two])) == [(1, 20, 1, 5, 5), (2, 30, 2, -1, 6), (3, 40, 1, 8, 8)]


def test_merging_empty_ticks() -> None:
    empty = summarise(ints(), ints(), ints())
    assert rows(concatenate([empty, empty])) == []


def test_ticks_survive_arrow() -> None:
    ticks = summarise(ints(1, 2), ints(20, 30), ints(5, 6))
    assert rows(Ticks.from_arrow(ticks.to_arrow())) == rows(ticks)


@drawn(30)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(-50, 50)), min_size=1, max_size=20),
    st.sampled_from([0, 1, 7, 100]),
    st.data(),
)
def test_ticks_do_not_depend_on_how_the_stream_is_cut(tuples: list[tuple[int, int]], tick_ms: int, data) -> None:
    arrival, event = (ints(*column) for column in zip(*tuples, strict=True))
    position = np.arange(len(arrival))

    def segment(a: int, b: int) -> Ticks:
        return summarise(*number(arrival[a:b], position[a:b], tick_ms), event[a:b])

    cuts = sorted(data.draw(st.lists(st.integers(0, len(arrival)), max_size=3), label="cuts"))
    parts: list[Ticks] = []
    newest = (-1, -1)
    for a, b in zip([0, *cuts], [*cuts, len(arrival)], strict=True):
        parts.append(follow(segment(a, b), *newest))
        if len(parts[-1]):
            newest = (int(parts[-1].tick[-1]), int(parts[-1].end[-1]))
    assert rows(concatenate(parts)) == rows(segment(0, len(arrival)))
