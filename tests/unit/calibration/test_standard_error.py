"""The standard errors of measured accuracies, against the spread of many measurements."""

from __future__ import annotations

import numpy as np
import pytest

from tailrace.calibration.standard_error import LossOverlap, standard_errors
from tailrace.windows.sliding import Sliding

SIZE, SLIDE, RATE, K = 60_000, 5_000, 10, 5
WINDOWS = Sliding(SIZE, SLIDE)
PANES = SIZE // SLIDE


def hit_rates(tau_ms: int, wait_ms: int, n: int, runs: int, seed: int) -> np.ndarray:
    """The shares of the k best tuples of each of n windows that came by its end plus a wait; shape (runs, n).

    Paper 001's windows; scores are independent of the delays, which are exponential.
    """
    random = np.random.default_rng(seed)
    shape = runs * (n + PANES), RATE * SLIDE // 1000
    event = (np.arange(shape[0])[:, None] + random.random(shape)) * SLIDE
    columns = random.random(shape), event + random.exponential(tau_ms, shape)
    best = np.argpartition(-columns[0], K, axis=1)[:, :K]
    of_panes = [np.take_along_axis(column, best, axis=1) for column in columns]
    first = np.arange(runs)[:, None] * (n + PANES) + np.arange(n)
    score, arrival = (column[first[..., None] + np.arange(PANES)].reshape(runs, n, -1) for column in of_panes)
    best = np.argpartition(-score, K, axis=2)[..., :K]
    end = (first + PANES) * SLIDE
    return (np.take_along_axis(arrival, best, axis=2) <= end[..., None] + wait_ms).mean(axis=2)


def reported(wait_ms: int, quality: np.ndarray, delays: np.ndarray) -> np.ndarray:
    """The standard error that each run reports."""
    runs, n = quality.shape
    ends = SIZE + SLIDE * np.arange(n)
    return standard_errors(WINDOWS, np.full(runs, wait_ms), ends, quality, LossOverlap.from_delays(delays))


@pytest.mark.parametrize("n", [30, 120])
@pytest.mark.parametrize(("tau_s", "wait_s"), [(1, 0), (3, 0), (6, 0), (6, 4), (10, 0), (10, 12), (30, 0), (30, 60)])
def test_the_reported_error_is_the_spread_of_measurements(tau_s, wait_s, n):
    """Beside the wait of 0 the one that keeps an accuracy of about 0.95."""
    quality = hit_rates(1000 * tau_s, 1000 * wait_s, n, runs=30_000 // n, seed=tau_s)
    delays = np.random.default_rng(n).exponential(1000 * tau_s, 20_000).astype(np.int64)
    errors, true = reported(1000 * wait_s, quality, delays), quality.mean(axis=1).std()
    assert 0.8 <= errors.mean() / true <= 1.25
    assert 0.8 <= np.sqrt((errors**2).mean()) / true <= 1.25


def test_what_windows_have_in_common_for_another_reason_is_in_the_error_too():
    """Outages of some windows' length, of which the delays alone say nothing."""
    random, n, lasts = np.random.default_rng(4), 300, 6
    starts = random.random((2000, n + lasts)) < 0.05
    lost = np.lib.stride_tricks.sliding_window_view(starts, lasts, axis=1)[:, :n].any(axis=2)
    quality = 1 - 0.5 * lost
    errors = reported(0, quality, np.zeros(10, np.int64))
    assert 0.8 <= errors.mean() / quality.mean(axis=1).std() <= 1.1
    alone = quality.std(axis=1, ddof=1) / np.sqrt(n)
    assert errors.mean() > 1.5 * alone.mean(), "it is not that of independent windows"


def test_the_overlap_is_the_share_of_losses_that_another_window_has_too():
    """Tuples of 1 s, 3 s, 8 s and 100 s that are lost without a wait: each age in its window is as frequent."""
    delays = np.array([3_000, 100_000, 1_000, 8_000])
    ages = np.arange(SIZE)
    found = LossOverlap.from_delays(delays).shares(
        np.array([0, 2_000, 200_000]), np.array([0, 2_500, 60_000, 70_000]), SIZE
    )
    for wait, shares in zip((0, 2_000), found.tolist(), strict=False):
        is_lost = delays[:, None] > ages + wait
        for apart, share in zip((0, 2_500, 60_000, 70_000), shares, strict=True):
            both = is_lost & (delays[:, None] > ages + apart + wait) & (ages + apart < SIZE)
            assert share == pytest.approx(both.sum() / is_lost.sum(), abs=1e-3)
    assert found[2].tolist() == [0, 0, 0, 0], "nothing is lost"


def test_windows_that_are_all_exact_have_no_error():
    assert reported(0, np.ones((3, 30)), np.array([5, 10])).tolist() == [0, 0, 0]
    assert reported(0, np.ones((1, 2)), np.full(9, 10**12)).tolist() == [0]


def test_windows_far_apart_count_as_independent():
    """Of windows between which there are gaps no loss is in two."""
    random = np.random.default_rng(8)
    quality, ends = 1 - random.random((2000, 40)), SIZE + 3 * SIZE * np.arange(40)
    errors = standard_errors(
        WINDOWS, np.zeros(2000, np.int64), ends, quality, LossOverlap.from_delays(np.full(3, 10**9))
    )
    assert errors.mean() == pytest.approx(np.sqrt(1 / 12 / 40), rel=0.1)
