"""The candidate lists, against sorting the content of each window; the example of paper 001 (figures 4 and 5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.topk.candidates import CandidateList, Waiting
from tailrace.topk.skyband import Skyband

LISTS = pytest.mark.parametrize("kind", [CandidateList, Waiting, Skyband])
# (slide of arrival, delay in panes, score); a window has four panes, so a tuple of pane p is in windows p-3 … p
ARRIVALS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 20)), max_size=50)


@LISTS
@drawn(150)
@given(arrivals=ARRIVALS, k=st.integers(1, 4))
def test_every_window_has_its_k_best_when_it_closes(kind, arrivals, k):
    """Window w has the panes w … w+3, and closes after the arrivals of slide w+3 and of the next slide."""
    ranking, entries = kind(k), []
    for slide in range(14):
        last_closed = slide - 5  # windows up to this one have closed
        for name, (arrival_slide, delay, score) in enumerate(arrivals):
            if arrival_slide == slide:
                pane = arrival_slide - delay
                first, last = max(pane - 3, last_closed + 1), pane
                if first <= last:
                    ranking.insert((-score, name), first, last)
                    entries.append(((-score, name), first, last))
        expected = sorted(place for place, first, last in entries if first <= last_closed + 1 <= last)[:k]
        assert ranking.top(last_closed + 1) == expected
        ranking.slide(last_closed + 1)


#        s0: 1 … 5      s1: 6 … 10      s2: 11 … 15      s3: 16 … 20      s4: 21 … 25
SCORES = [30, 12, 5, 8, 3, 18, 11, 4, 6, 20, 25, 7, 9, 2, 17, 28, 14, 1, 16, 10, 13, 12, 6, 15, 27]
"""Scores of the tuples 1 to 25, chosen so that all statements of the text about figures 4 and 5 hold."""


def location_of(name: int) -> tuple[int, int]:
    return -SCORES[name - 1], name


def content(window: int, newest: int) -> list[tuple[int, int]]:
    """The content of a window among the tuples 1 … `newest`; W0 is s0 … s3, W1 is s1 … s4."""
    return sorted(location_of(name) for name in range(1, newest + 1) if window <= (name - 1) // 5 <= window + 3)


def windows_by_tuple(ranking) -> dict[int, tuple[int, int]]:
    return {one.rank_key[1]: (one.first, one.last) for one in ranking.candidates}


def test_the_example_of_the_paper():
    """Tuple 25 is compared with 17, 15 and 10, the smallest of W3, W2 and W1; it contributes to W1 … W4."""
    ranking = Waiting(3)
    for name in range(1, 21):
        ranking.insert(location_of(name), 0, (name - 1) // 5)
    assert [ranking.lowest[window][1] for window in (3, 2, 1)] == [17, 15, 10]
    for name in range(21, 26):  # while W0 waits
        ranking.insert(location_of(name), 1, 4)
    assert [one.rank_key[1] for one in ranking.later] == [21, 22, 23, 24, 25], "list D"
    assert ranking.top(0) == [one.rank_key for one in ranking.candidates[:3]] == content(0, 20)[:3]
    assert windows_by_tuple(ranking)[1] == (0, 0)
    ranking.slide(0)
    assert ranking.later == [], "D is merged into C"
    assert 1 not in windows_by_tuple(ranking), "its end is before its start"
    assert windows_by_tuple(ranking)[25] == (1, 4)
    for window in (1, 2, 3, 4):
        assert ranking.top(window) == content(window, 25)[:3]
        ranking.slide(window)
    assert ranking.candidates == []


@LISTS
def test_tuples_that_no_window_can_rank_are_dropped(kind):
    ranking = kind(2)
    for name in range(1000):
        ranking.insert((-(name * 7919 % 1000), name), 0, 3)
    assert len(ranking.candidates) <= 2 * 4


def test_tuples_of_later_windows_wait_in_list_d():
    ranking = Waiting(1)
    ranking.insert((-1, "a"), 0, 1)
    ranking.insert((-5, "b"), 1, 2)
    assert [one.rank_key[1] for one in ranking.candidates] == ["a"]
    assert [one.rank_key[1] for one in ranking.later] == ["b"]
    assert ranking.top(0) == [(-1, "a")]
    ranking.slide(0)
    assert ranking.later == []
    assert ranking.top(1) == [(-5, "b")]
