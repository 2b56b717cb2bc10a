"""The window sample: the slack that each answer would have required, against a scan of every tuple."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.policy_ticks import Arrival, model_of, statistics_of
from kit.suite.examples import drawn
from tailrace.disorder.quantile.key_sketch import GROUPS
from tailrace.disorder.quantile.window_sample import WindowSample
from tailrace.windows.sliding import Sliding

pytestmark = pytest.mark.slow

WINDOWS = Sliding(30, 10)
COUNT = model_of("count").promised(None)
#                     tick                event time          key
TUPLES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 400), st.integers(-30, 30)), min_size=1, max_size=60).map(
    lambda rows: [Arrival(*row) for row in sorted(rows, key=lambda row: row[0])]
)


def before_of(tuples: list[Arrival]) -> dict[int, int]:
    """t_max before each tick; for the first tick, its own."""
    t_max_before, t_max = {}, None
    for tick, tick_tuples in itertools.groupby(tuples, lambda item: item.tick):
        events = [item.event for item in tick_tuples]
        t_max_before[tick] = max(events) if t_max is None else t_max
        t_max = max(events) if t_max is None else max(t_max, *events)
    return t_max_before


def sample_of(tuples: list[Arrival], cuts: list[int] = (), ends: list[int] = ()) -> WindowSample:
    """The sample after all ticks, taken in at `cuts`.

    Its state goes through checkpoints that retain the windows at `ends` and those not complete yet.
    """
    stream, before, state = statistics_of(tuples, WINDOWS), before_of(tuples), {}
    at = np.array([before[tick] for tick in stream.ticks.tick])
    for first, end in itertools.pairwise([0, *cuts, len(stream)]):
        piece = stream.between(first, end, 0)
        window_sample = WindowSample.restore(WINDOWS, COUNT, state, piece.sample, at[first:end][piece.sample.at])
        newest = int(stream.t_max[end - 1]) if end else -(10**9)
        state = window_sample.checkpoint(np.array(ends, np.int64), newest)
    return window_sample


def expected_hashes(tuples: list[Arrival], stretch: int) -> set[int]:
    """The smallest hashes of the keys with a tuple in a stretch of eight windows of event time."""
    return set(sorted({item.group % 2**64 for item in tuples if item.event // 240 == stretch})[:GROUPS])


def expected_slacks(tuples: list[Arrival], ends: list[int], error: float) -> list[list[int]]:
    """For each window, the slack that each of its answers requires, by a scan of every tuple."""
    before, slacks = before_of(tuples), []
    for end in ends:
        hashes, key_slacks = expected_hashes(tuples, (end - 30) // 240) & expected_hashes(tuples, (end - 1) // 240), []
        for group in sorted(hashes):
            key_tuples = [item for item in tuples if item.group % 2**64 == group and end - 30 <= item.event < end]
            if key_tuples:
                lateness = [max(0, before[item.tick] - end + 1) for item in key_tuples]
                key_slacks.append(min(k for k in lateness if sum(ms > k for ms in lateness) / len(lateness) < error))
        slacks.append(key_slacks)
    return slacks


def required_slacks(window_sample: WindowSample, ends: list[int], error: float, tick: int = 99) -> list[list[int]]:
    return [window_sample.required_slack(end, tick, error)[0].tolist() for end in ends]


@drawn(100)
@given(TUPLES, st.sampled_from([0.1, 0.5, 0.9]), st.lists(st.integers(-2, 42).map(lambda i: 10 * i), unique=True))
def test_the_required_slack_of_each_answer(tuples, error, ends):
    ends = sorted(ends)
    assert required_slacks(sample_of(tuples), ends, error) == expected_slacks(tuples, ends, error)


@drawn(60)
@given(TUPLES, st.data())
def test_the_required_slack_does_not_depend_on_how_ticks_are_cut_into_calls(tuples, data):
    stream = statistics_of(tuples, WINDOWS)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=3)))
    ends = [10 * i for i in range(42)]
    whole, pieces = (required_slacks(sample_of(tuples, cut, ends), ends, 0.3) for cut in ([], cuts))
    assert whole == pieces


def test_only_tuples_up_to_the_tick_count():
    tuples = [Arrival(0, 5), Arrival(1, 100), Arrival(2, 5), Arrival(2, 5)]
    window_sample = sample_of(tuples)
    for tick, need in ((1, 0), (2, 71)):
        assert required_slacks(window_sample, [30], 0.5, tick) == [[need]]


def test_with_very_many_tuples_the_required_slack_is_rounded_up():
    count = 4_000
    tuples = [Arrival(0, 5) for _ in range(count)] + [Arrival(1 + i, 40 + i) for i in range(count)]
    tuples += [Arrival(1 + i, 5) for i in range(count)]
    tuples.sort(key=lambda item: item.tick)
    (exact,), (coarse,) = expected_slacks(tuples, [30], 0.1), required_slacks(sample_of(tuples), [30], 0.1, 10**6)
    assert exact[0] <= coarse[0] <= exact[0] + 20


def test_panes_of_no_retained_window_are_dropped():
    tuples = [Arrival(i, 10 * i) for i in range(40)]
    state = sample_of(tuples).checkpoint(np.array([100, 110]), 390)
    assert state["row_pane"].tolist() == [
        70,
        80,
        90,
        100,
        370,
        380,
        390,
    ]  # of the two, and of windows that end after 390
