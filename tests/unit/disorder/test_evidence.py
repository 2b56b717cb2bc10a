"""What answers would have needed, against looking at every tuple."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.aggregate.promised import Promised
from tailrace.disorder.evidence import Evidence
from tailrace.disorder.groups import GROUPS
from tailrace.windows.sliding import Sliding
from ticking import Came, seen

WINDOWS = Sliding(30, 10)
COUNT = Promised("count", None)
#                     tick                event time          key
CAME = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 120), st.integers(-30, 30)), min_size=1, max_size=60).map(
    lambda came: [Came(*each) for each in sorted(came, key=lambda each: each[0])]
)


def before_of(came: list[Came]) -> dict[int, int]:
    """t_max before each tick; before the first, that of the first."""
    found, t_max = {}, None
    for tick, of_it in itertools.groupby(came, lambda each: each.tick):
        events = [each.event for each in of_it]
        found[tick] = max(events) if t_max is None else t_max
        t_max = max(events) if t_max is None else max(t_max, *events)
    return found


def evidence(came: list[Came], cuts: list[int] = (), ends: list[int] = ()) -> Evidence:
    """After all ticks, given in pieces; between these what windows need that are not over, or are among `ends`."""
    stream, before, kept = seen(came, WINDOWS), before_of(came), {}
    at = np.array([before[tick] for tick in stream.ticks.tick])
    for first, end in itertools.pairwise([0, *cuts, len(stream)]):
        piece = stream.among(first, end, 0)
        found = Evidence.restore(WINDOWS, kept, piece.sample, at[first:end][piece.sample.at])
        found.reach(end - first)
        newest = int(stream.t_max[end - 1]) if end else -(10**9)
        kept = found.kept(np.array(ends, np.int64), newest)
    return found


def looked_at(came: list[Came], ends: list[int], error: float) -> list[tuple[int, int]]:
    """For each answer its window's place and what it needs, by looking at every tuple."""
    before, found = before_of(came), []
    counted = sorted({each.group % 2**64 for each in came})[:GROUPS]
    for place, end in enumerate(ends):
        for group in counted:
            mine = [each for each in came if each.group % 2**64 == group and end - 30 <= each.event < end]
            if mine:
                waits = [max(0, before[each.tick] - end + 1) for each in mine]
                enough = [k for k in waits if sum(wait > k for wait in waits) / len(waits) < error]
                found.append((place, min(enough)))
    return found


@settings(max_examples=100, deadline=None)
@given(CAME, st.sampled_from([0.1, 0.5, 0.9]), st.lists(st.integers(-2, 14).map(lambda i: 10 * i), unique=True))
def test_each_answer_needs_what_it_would_have_lacked(came, error, ends):
    ends = sorted(ends)
    window, need = evidence(came).needs(np.array(ends, np.int64), 99, error, COUNT)
    assert list(zip(window.tolist(), need.tolist(), strict=True)) == looked_at(came, ends, error)


@settings(max_examples=60, deadline=None)
@given(CAME, st.data())
def test_it_is_the_same_in_pieces(came, data):
    stream = seen(came, WINDOWS)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=3)))
    ends = [10 * i for i in range(14)]
    whole, pieces = (evidence(came, cut, ends).needs(np.array(ends), 99, 0.3, COUNT) for cut in ([], cuts))
    assert [part.tolist() for part in whole] == [part.tolist() for part in pieces]


def test_only_what_has_come_by_the_tick_counts():
    came = [Came(0, 5), Came(1, 100), Came(2, 5), Came(2, 5)]
    one = evidence(came)
    for tick, need in ((1, 0), (2, 91)):
        assert one.needs(np.array([10]), tick, 0.5, COUNT)[1].tolist() == [need]


@pytest.mark.parametrize("tick", [0, 1])
def test_keys_count_until_smaller_ones_come(tick):
    first = [Came(0, 5, group) for group in range(10, 10 + GROUPS)]
    stream = seen([*first, Came(1, 6, 3)], WINDOWS)
    one = Evidence.restore(WINDOWS, {}, stream.sample, np.zeros(len(stream.sample.at), np.int64))
    one.reach(tick)
    assert one.groups.tolist() == ([3, *range(10, 25)] if tick else list(range(10, 26)))


def test_hashes_are_without_sign():
    came = [Came(0, 5, group) for group in (*range(GROUPS), -1)]
    assert evidence(came).groups.tolist() == list(range(GROUPS))


def test_what_nobody_asks_for_any_more_is_forgotten():
    came = [Came(i, 10 * i) for i in range(40)]
    kept = evidence(came).kept(np.array([100, 110]), 390)
    assert kept["row_pane"].tolist() == [70, 80, 90, 100, 370, 380, 390]  # of the two, and of windows that end later
