"""The kernels of calibration by two time scales, each beside its definition, tuple by tuple."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.calibration.two_scales.blocks import block_length, error_of_mean, exceeds, means, t_quantile
from tailrace.calibration.two_scales.estimator import cumulative_hazards
from tailrace.calibration.two_scales.expected_loss import Ages, losses, shortest_wait
from tailrace.calibration.two_scales.fits import WinnersFit
from tailrace.calibration.two_scales.hazard_ratio import HazardRatio
from tailrace.calibration.two_scales.level_change import newest_change
from tailrace.calibration.two_scales.sample import weights_by_key
from tailrace.calibration.two_scales.survival import DelayLevel

YEARS_MS = 20 * 365 * 86_400_000
DELAYS = st.lists(st.integers(0, 40) | st.just(YEARS_MS), min_size=1, max_size=12)
AGES = st.lists(st.integers(1, 30), min_size=1, max_size=8)


def level_of(delays: list[int], weights: list[int] | None = None) -> DelayLevel:
    weight = np.ones(len(delays)) if weights is None else np.array(weights, np.float64)
    return DelayLevel.from_delays(np.array(delays), weight, np.arange(len(delays)) % 3)


@drawn(40)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=14),
    st.integers(1, 5),
)
def test_a_cumulative_hazard_sums_the_shares_of_those_that_came_no_later_among_those_that_were_still_to_come(
    rows, size
):
    event, delay, weight = (np.array(column) for column in zip(*rows, strict=True))
    result = cumulative_hazards(event, delay, weight.astype(np.float64), size)
    by_event = sorted(range(len(rows)), key=lambda row: (rows[row][0], row))
    groups = max(len(rows) // size, 1)
    for number in range(groups):
        mine = by_event[number * size : (number + 1) * size if number < groups - 1 else None]
        ranked = sorted(mine, key=lambda row: (rows[row][1], row))
        hazards, total = {}, Fraction(0)
        for place, row in enumerate(ranked):
            total += Fraction(rows[row][2], sum(rows[other][2] for other in ranked[place:]))
            hazards[row] = total
        for row in mine:
            tied = [other for other in mine if rows[other][1] == rows[row][1]]
            mass = sum(rows[other][2] for other in tied)
            assert result[row] == pytest.approx(float(sum(hazards[other] * rows[other][2] for other in tied) / mass))
        assert np.average(result[mine], weights=weight[mine]) == pytest.approx(1.0), "of all tuples together it is 1"


@drawn(40)
@given(DELAYS, AGES, st.sampled_from([1.0, 0.5, 0.8, 1.3]), st.integers(0, 45))
def test_the_loss_is_the_mean_survival_of_wait_plus_age(delays, ages, ratio, wait):
    level = level_of(delays)
    steps = level.steps(np.array([ratio]))
    expected = [(sum(delay >= wait + age for delay in delays) / len(delays)) ** ratio for age in ages]
    (loss,) = losses(level.delays, steps, Ages.from_shares(np.array(ages), np.ones(len(ages))), np.array([wait]))[0]
    assert loss == pytest.approx(np.mean(expected), abs=1e-12)
    assert level.survival(np.array(ages) + wait) ** ratio == pytest.approx(expected)


@drawn(40)
@given(DELAYS, AGES, st.sampled_from([0.0, 0.05, 0.3, 0.9]))
def test_the_inversion_finds_the_shortest_wait(delays, ages, allowed):
    level, of_ages = level_of(delays), Ages.from_shares(np.array(ages), np.ones(len(ages)))

    def loss(wait: int) -> float:
        return sum(delay >= wait + age for delay in delays for age in ages) / (len(delays) * len(ages))

    found = shortest_wait(level.delays, level.steps(np.ones(1))[0], of_ages, allowed + 1e-9)
    candidates = sorted({0, *(max(delay - age + 1, 0) for delay in delays for age in ages)})
    assert found == next(wait for wait in candidates if loss(wait) <= allowed + 1e-9)


@drawn(40)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9), st.integers(1, 3)), min_size=1), st.floats(0, 0.99))
def test_winners_alone_give_the_shortest_wait_that_loses_no_more_of_them(winners, allowed):
    winners = sorted(winners)
    numbers = {window: number for number, window in enumerate(sorted({window for window, *_ in winners}))}
    window = np.array([numbers[window] for window, *_ in winners])
    total = Counter()
    for number, (_, _, share) in zip(window.tolist(), winners, strict=True):
        total[number] += share
    needed = [wait for _, wait, _ in winners]
    share = [share / total[number] for number, (*_, share) in zip(window.tolist(), winners, strict=True)]
    fit = WinnersFit(np.array(needed), window, np.array(share), 1)

    def loss(wait: int) -> float:
        return sum(part for part, least in zip(share, needed, strict=True) if least >= wait) / len(numbers)

    assert fit.loss(np.arange(12)) == pytest.approx([loss(wait) for wait in range(12)])
    assert fit.wait(allowed) == next(wait for wait in range(12) if loss(wait) <= allowed + 1e-9)


@drawn(40)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(5, 7)), max_size=20))
def test_the_keys_of_a_block_weigh_alike_and_so_do_blocks(rows):
    key, block = (np.array([row[side] for row in rows], np.int64) for side in (0, 1))
    counts = Counter(rows)
    keys = {number: len({key for key, block in rows if block == number}) for number in (5, 6, 7)}
    assert weights_by_key(key, block) == pytest.approx([1 / (counts[row] * keys[row[1]]) for row in rows])


def test_a_level_of_many_delays_stays_small_and_understates_none():
    rng = np.random.default_rng(1)
    delay = np.append(rng.exponential(6_000, 100_000).astype(np.int64), YEARS_MS)
    level = DelayLevel.from_delays(delay, np.ones(len(delay)), np.arange(len(delay)) % 40)
    assert len(level.delays) <= 2_000
    assert level.blocks == 40
    for wait in (0, 10, 1_000, 6_000, 30_000, 60_000, YEARS_MS):
        exact = (delay >= wait).mean()
        assert exact - 1e-9 <= level.survival(np.array([wait]))[0] <= exact + 1 / 1_000


def test_the_quantile_of_few_blocks_is_students():
    assert t_quantile(1.645, 5) == pytest.approx(2.132, rel=0.01)
    assert t_quantile(1.96, 11) == pytest.approx(2.228, rel=0.01)
    assert t_quantile(2.0, 1) == math.inf


def bursts(n: int, kept: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    series = rng.normal(size=n)
    for place in range(1, n):
        series[place] = kept * series[place - 1] + math.sqrt(1 - kept**2) * series[place]
    return series


def test_blocks_are_longer_than_a_burst():
    """The error of the mean of an autoregressive series is √((1 + r)/(1 − r)/n)."""
    series = [bursts(4_000, 0.9, seed) for seed in range(6)]
    lengths = [block_length(one) for one in series]
    assert min(lengths) >= 16
    errors = [error_of_mean(one, length) for one, length in zip(series, lengths, strict=True)]
    assert np.mean(errors) == pytest.approx(math.sqrt(19 / 4_000), rel=0.15)
    assert max(block_length(np.random.default_rng(seed).normal(size=1_000)) for seed in range(6)) <= 8


def test_two_blocks_say_little_and_one_says_nothing():
    series = np.array([1.0, 1.0, 1.0, 1.1, 1.1, 1.1])
    assert means(series, 3).tolist() == pytest.approx([1.0, 1.1])
    assert exceeds(series, 1, 2.0)
    assert not exceeds(series, 6, 2.0)
    assert error_of_mean(series, 6) == math.inf


@pytest.mark.parametrize("seed", range(3))
def test_a_hazard_ratio_counts_where_it_is_significant(seed):
    rng = np.random.default_rng(seed)
    same, later = (HazardRatio(rng.exponential(mean, 2_000), 14) for mean in (1.0, 1.5))
    assert later.value == pytest.approx(1 / 1.5, rel=0.1)
    assert later.resampled(200, rng).std() == pytest.approx(later.value / math.sqrt(2_000), rel=0.4)
    assert same.value == (1.0 if not same.is_significant else same.measured)
    few = HazardRatio(np.array([1.5, 1.6, 1.4]), 2)
    assert few.value == 1.0, "one block shows no significance"


@pytest.mark.parametrize("seed", range(3))
def test_a_jump_is_a_change_and_bursts_are_none(seed):
    rng = np.random.default_rng(seed)
    calm = rng.normal(size=500) / 5
    assert newest_change(calm) == 0
    assert abs(newest_change(np.append(calm, 2.3 + rng.normal(size=30) / 5)) - 500) <= 1
    twice = np.concatenate([calm, calm[:60] + 2.3, calm[:80] - 1])
    assert abs(newest_change(twice) - 560) <= 1, "the newest one of two"
    assert newest_change(bursts(1_500, 0.9, seed)) == 0
    assert newest_change(calm[:90] + np.repeat([0.0, 2.3], 45)) == 0, "too short to know what is usual"
    assert newest_change(np.ones(200)) == 0
