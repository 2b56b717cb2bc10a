"""What answers would have needed, against looking at every tuple."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.aggregate.promised import AggregateErrorModel
from tailrace.disorder.quantile.key_sketch import GROUPS
from tailrace.disorder.quantile.window_sample import WindowSample
from tailrace.windows.sliding import Sliding
from ticking import Came, seen

WINDOWS = Sliding(30, 10)
COUNT = AggregateErrorModel("count", None)
#                     tick                event time          key
CAME = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 400), st.integers(-30, 30)), min_size=1, max_size=60).map(
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


def evidence(came: list[Came], cuts: list[int] = (), ends: list[int] = ()) -> WindowSample:
    """After all ticks, given in pieces; between these what windows need that are not over, or are among `ends`."""
    stream, before, kept = seen(came, WINDOWS), before_of(came), {}
    at = np.array([before[tick] for tick in stream.ticks.tick])
    for first, end in itertools.pairwise([0, *cuts, len(stream)]):
        piece = stream.between(first, end, 0)
        found = WindowSample.restore(WINDOWS, kept, piece.sample, at[first:end][piece.sample.at])
        newest = int(stream.t_max[end - 1]) if end else -(10**9)
        kept = found.checkpoint(np.array(ends, np.int64), newest)
    return found


def counting(came: list[Came], stretch: int) -> set[int]:
    """The keys with the smallest hashes of those that have come to a stretch of eight windows of event time."""
    return set(sorted({each.group % 2**64 for each in came if each.event // 240 == stretch})[:GROUPS])


def looked_at(came: list[Came], ends: list[int], error: float) -> list[list[int]]:
    """For each window what each of its answers needs, by looking at every tuple."""
    before, found = before_of(came), []
    for end in ends:
        counted, needs = counting(came, (end - 30) // 240) & counting(came, (end - 1) // 240), []
        for group in sorted(counted):
            mine = [each for each in came if each.group % 2**64 == group and end - 30 <= each.event < end]
            if mine:
                waits = [max(0, before[each.tick] - end + 1) for each in mine]
                needs.append(min(k for k in waits if sum(wait > k for wait in waits) / len(waits) < error))
        found.append(needs)
    return found


def needs(found: WindowSample, ends: list[int], error: float, tick: int = 99) -> list[list[int]]:
    return [found.required_slack(end, tick, error, COUNT).tolist() for end in ends]


@settings(max_examples=100, deadline=None)
@given(CAME, st.sampled_from([0.1, 0.5, 0.9]), st.lists(st.integers(-2, 42).map(lambda i: 10 * i), unique=True))
def test_each_answer_needs_what_it_would_have_lacked(came, error, ends):
    ends = sorted(ends)
    assert needs(evidence(came), ends, error) == looked_at(came, ends, error)


@settings(max_examples=60, deadline=None)
@given(CAME, st.data())
def test_it_is_the_same_in_pieces(came, data):
    stream = seen(came, WINDOWS)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=3)))
    ends = [10 * i for i in range(42)]
    whole, pieces = (needs(evidence(came, cut, ends), ends, 0.3) for cut in ([], cuts))
    assert whole == pieces


def test_only_what_has_come_by_the_tick_counts():
    came = [Came(0, 5), Came(1, 100), Came(2, 5), Came(2, 5)]
    one = evidence(came)
    for tick, need in ((1, 0), (2, 71)):
        assert needs(one, [30], 0.5, tick) == [[need]]


def test_very_many_waits_are_rounded_up():
    many = 4_000
    came = [Came(0, 5) for _ in range(many)] + [Came(1 + i, 40 + i) for i in range(many)]
    came += [Came(1 + i, 5) for i in range(many)]
    came.sort(key=lambda each: each.tick)
    (exact,), (coarse,) = looked_at(came, [30], 0.1), needs(evidence(came), [30], 0.1, 10**6)
    assert exact[0] <= coarse[0] <= exact[0] + 20


def test_what_nobody_asks_for_any_more_is_forgotten():
    came = [Came(i, 10 * i) for i in range(40)]
    kept = evidence(came).checkpoint(np.array([100, 110]), 390)
    assert kept["row_pane"].tolist() == [70, 80, 90, 100, 370, 380, 390]  # of the two, and of windows that end later
