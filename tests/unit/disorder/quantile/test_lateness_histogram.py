"""The lateness histograms and the slack K at each level, by hand and against a list of every weighted tuple."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.disorder.quantile.policy import GRID, MEMORIES, LatenessHistogram, cells

LEVELS = np.array([1.0, 0.5, 0.1, 0.02, 0.004, 0.0001])
DAY = 24 * 3_600_000


def histogram_after(*ticks: tuple[list[int], float]) -> tuple[LatenessHistogram, list[int]]:
    """The histograms after ticks of (lateness of each tuple, windows elapsed), and the K of `LEVELS`."""
    histogram = LatenessHistogram.restore({})
    for lateness, elapsed in ticks:
        totals = histogram.add(cells(np.array(lateness)), np.ones(len(lateness), np.int64), elapsed)
    return histogram, totals.at(LEVELS).tolist()


def test_the_grid_is_exact_to_20_ms_then_within_5_percent_up_to_two_days():
    assert GRID[:21].tolist() == list(range(21))
    assert np.all(np.diff(GRID) <= np.maximum(1, 0.05 * GRID[:-1] + 1))
    assert np.all(np.diff(GRID) > 0)
    assert GRID[-1] >= 2 * DAY


@pytest.mark.parametrize(("wait", "at_least"), [(0, 0), (1, 1), (20, 20), (21, 21), (1000, 1000), (3 * DAY, GRID[-1])])
def test_lateness_is_rounded_up_to_the_grid(wait, at_least):
    assert at_least <= GRID[cells(np.array([wait]))[0]] <= 1.05 * at_least + 1


# (lateness of each tuple in ms, windows elapsed since the tick before)
TICKS = st.lists(
    st.tuples(st.lists(st.sampled_from([0, 0, 0, 3, 30, 700, 9000]), min_size=1, max_size=30), st.floats(0, 3)),
    min_size=1,
    max_size=12,
)


@drawn(60)
@given(TICKS)
def test_a_level_is_the_share_of_tuples_later_than_its_k(ticks):
    weighted_tuples: list[list[tuple[int, float]]] = [[], [], []]
    for lateness, elapsed in ticks:
        for i, memory in enumerate((1_000, 10_000, 100_000)):
            age = min(len(lateness) / memory, elapsed / 2)
            weighted_tuples[i] = [(ms, weight * math.exp(-age)) for ms, weight in weighted_tuples[i]] + [
                (ms, 1.0) for ms in lateness
            ]
    expected = []
    for level in LEVELS:
        memory = 0 if level >= 5 / 1000 else 1 if level >= 5 / 10_000 else 2
        tuples = weighted_tuples[memory]
        whole = sum(weight for _, weight in tuples)
        candidates = [k for k in GRID if sum(v for ms, v in tuples if ms > k) <= level * whole * (1 + 1e-9)]
        expected.append(int(min(candidates)))
    assert histogram_after(*ticks)[1] == np.maximum.accumulate(expected).tolist()


def test_a_single_level_has_the_same_k_as_among_others():
    histogram = LatenessHistogram.restore({})
    totals = histogram.add(cells(np.arange(900)), np.ones(900, np.int64), 1.0)
    assert [totals.at_one(level) for level in LEVELS] == totals.at(LEVELS).tolist()


def test_one_very_late_tuple_moves_only_the_level_of_its_share():
    _, calm = histogram_after(([5] * 2000, 0.0))
    _, k_ms = histogram_after(([5] * 1000, 0.0), ([600_000], 0.0), ([5] * 1000, 5.0))
    assert calm[:5] == k_ms[:5] == [0, 5, 5, 5, 5]
    assert k_ms[5] >= 600_000  # a level of one in ten thousand


def test_new_lateness_outweighs_the_old_after_a_thousand_tuples():
    halves = [histogram_after(([5] * 3000, 1.0), ([50] * n, 5.0))[1][1] for n in (900, 1100)]
    assert halves == [5, GRID[cells(np.array([50]))[0]]]  # the weight left of 3000 is e^(−0.9): 1220, or e^(−1.1): 999


def test_no_memory_is_shorter_than_two_windows():
    histogram, _ = histogram_after(([5] * 100_000, 1.0), ([50] * 100_000, 0.5))
    assert histogram.weights[0, 5] == pytest.approx(100_000 * math.exp(-0.25))
    histogram, _ = histogram_after(([5] * 100_000, 1.0), ([50] * 100, 0.5))
    assert histogram.weights[0, 5] == pytest.approx(100_000 * math.exp(-100 / 1000))


def test_the_histograms_survive_a_checkpoint():
    histogram, k_ms = histogram_after(([5] * 10 + [70], 1.0), ([3], 1.0))
    restored = LatenessHistogram.restore(histogram.checkpoint())
    assert restored.weights.tolist() == histogram.weights.tolist()
    restored.add(cells(np.array([9])), np.ones(1, np.int64), 1.0)
    assert histogram.weights.sum() != restored.weights.sum()  # a checkpoint is a copy
    assert len(MEMORIES) == len(histogram.weights)
    assert k_ms == sorted(k_ms)
