"""Waits by hand and against a list of every tuple with its weight."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.disorder.quantile.lateness_histogram import GRID, MEMORIES, LatenessHistogram, cells

LEVELS = np.array([1.0, 0.5, 0.1, 0.02, 0.004, 0.0001])
DAY = 24 * 3_600_000


def added(*ticks: tuple[list[int], float]) -> tuple[LatenessHistogram, list[int]]:
    """After ticks of (waits, windows elapsed): the histograms, and the K of `LEVELS`."""
    waits = LatenessHistogram.restore({})
    for wait, elapsed in ticks:
        totals = waits.add(cells(np.array(wait)), np.ones(len(wait), np.int64), elapsed)
    return waits, totals.at(LEVELS).tolist()


def test_the_grid_is_fine_and_long():
    assert GRID[:21].tolist() == list(range(21))
    assert np.all(np.diff(GRID) <= np.maximum(1, 0.05 * GRID[:-1] + 1))
    assert np.all(np.diff(GRID) > 0)
    assert GRID[-1] >= 2 * DAY


@pytest.mark.parametrize(("wait", "at_least"), [(0, 0), (1, 1), (20, 20), (21, 21), (1000, 1000), (3 * DAY, GRID[-1])])
def test_waits_are_rounded_up(wait, at_least):
    assert at_least <= GRID[cells(np.array([wait]))[0]] <= 1.05 * at_least + 1


# (waits, windows since the tick before)
TICKS = st.lists(
    st.tuples(st.lists(st.sampled_from([0, 0, 0, 3, 30, 700, 9000]), min_size=1, max_size=30), st.floats(0, 3)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(TICKS)
def test_a_level_is_the_share_that_waited_longer(ticks):
    weighed: list[list[tuple[int, float]]] = [[], [], []]
    for wait, elapsed in ticks:
        for i, memory in enumerate((1_000, 10_000, 100_000)):
            age = min(len(wait) / memory, elapsed / 2)
            weighed[i] = [(w, weight * math.exp(-age)) for w, weight in weighed[i]] + [(w, 1.0) for w in wait]
    expected = []
    for level in LEVELS:
        memory = 0 if level >= 5 / 1000 else 1 if level >= 5 / 10_000 else 2
        tuples = weighed[memory]
        whole = sum(weight for _, weight in tuples)
        fits = [k for k in GRID if sum(v for w, v in tuples if w > k) <= level * whole * (1 + 1e-9)]
        expected.append(int(min(fits)))
    assert added(*ticks)[1] == np.maximum.accumulate(expected).tolist()


def test_one_level_is_that_level():
    waits = LatenessHistogram.restore({})
    totals = waits.add(cells(np.arange(900)), np.ones(900, np.int64), 1.0)
    assert [totals.at_one(level) for level in LEVELS] == totals.at(LEVELS).tolist()


def test_one_tuple_of_a_thousand_is_one_of_a_thousand():
    _, calm = added(([5] * 2000, 0.0))
    _, k_ms = added(([5] * 1000, 0.0), ([600_000], 0.0), ([5] * 1000, 5.0))
    assert calm[:5] == k_ms[:5] == [0, 5, 5, 5, 5]
    assert k_ms[5] >= 600_000  # a level of one in ten thousand


def test_what_is_new_takes_over_after_a_thousand_tuples():
    halves = [added(([5] * 3000, 1.0), ([50] * n, 5.0))[1][1] for n in (900, 1100)]
    assert halves == [5, GRID[cells(np.array([50]))[0]]]  # of 3000 e^(−0.9) = 1220 are left, e^(−1.1) = 999


def test_no_memory_is_shorter_than_two_windows():
    waits, _ = added(([5] * 100_000, 1.0), ([50] * 100_000, 0.5))
    assert waits.weights[0, 5] == pytest.approx(100_000 * math.exp(-0.25))
    waits, _ = added(([5] * 100_000, 1.0), ([50] * 100, 0.5))
    assert waits.weights[0, 5] == pytest.approx(100_000 * math.exp(-100 / 1000))


def test_it_is_kept():
    waits, k_ms = added(([5] * 10 + [70], 1.0), ([3], 1.0))
    again = LatenessHistogram.restore(waits.checkpoint())
    assert again.weights.tolist() == waits.weights.tolist()
    again.add(cells(np.array([9])), np.ones(1, np.int64), 1.0)
    assert waits.weights.sum() != again.weights.sum()  # what is kept is not what goes on
    assert len(MEMORIES) == len(waits.weights)
    assert k_ms == sorted(k_ms)
