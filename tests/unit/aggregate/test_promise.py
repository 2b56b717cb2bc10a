"""Coverage thresholds by hand and against exact enumeration, and their limits. Simulations: tests/properties."""

from __future__ import annotations

from itertools import combinations
from math import ceil, comb, inf, log, nan

import numpy as np
import pytest

from tailrace.aggregate.simulation import SimulatedWindows, missing
from tailrace.aggregate.simulation import threshold_of as threshold
from tailrace.functions import promise, promise_rank
from tailrace.functions.population import Population
from tailrace.functions.promise import refusal, threshold_refusal
from tailrace.functions.promise_mean import chernoff
from tailrace.functions.promise_rank import Side
from tailrace.functions.registry import FUNCTIONS

EXPONENTIAL = tuple(-np.log1p(-(np.arange(1000) + 0.5) / 1000))
MODES = tuple(np.where(np.arange(100) < 58, 1.0, 5.0))
PROMISING = ("sum", "count", "avg", "min", "max", "median", "quantile")


def test_count_is_off_by_what_is_missing_and_exactly_the_error_is_too_much():
    share = threshold("count", 0.05, 0.3, Population(1000, 9.0))
    assert share == pytest.approx(0.95, abs=1e-6)
    assert missing(share, 1000) == 49
    assert missing(threshold("count", 0.9, 0.3, Population(10, 9.0)), 10) == 8  # 1 − 0.9 is below 0.1 in doubles


@pytest.mark.parametrize(("function", "q"), [("min", 0.5), ("max", 0.5), ("quantile", 0.0), ("quantile", 1.0)])
def test_an_extreme_is_received_with_the_probability_of_any_tuple(function, q):
    assert threshold(function, 0.01, 0.05, Population(1000, 9.0), q) == pytest.approx(0.95, abs=1e-12)


def test_sum_by_cantelli():
    error, risk, n, cv = 0.05, 0.05, 500, 1.0
    f = 1 - threshold("sum", error, risk, Population(n, cv))
    v = f * (1 - f) * cv**2 / (n - 1)
    assert v / (v + (error - f) ** 2) + v / (v + (error + f) ** 2) == pytest.approx(risk, rel=1e-2)
    assert 0.979 < 1 - f < 0.981


def test_sum_of_values_that_are_all_alike_errs_as_count_does():
    assert threshold("sum", 0.05, 0.05, Population(1000, 0.0)) == pytest.approx(0.95, abs=1e-4)
    assert threshold("sum", 0.05, 0.05, Population(1000, 0.0)) > 0.95


@pytest.mark.parametrize(("n", "cv"), [(500, 1.0), (10, 0.05)])
def test_avg_by_chebyshev(n, cv):
    share = threshold("avg", 0.05, 0.05, Population(n, cv))
    assert share == pytest.approx(1 / (1 + 0.05 * 0.05**2 * (n - 1) / cv**2), abs=1e-3)


@pytest.mark.parametrize(("function", "at_most"), [("sum", 0.976), ("avg", 0.89), ("median", 0.95), ("quantile", 0.98)])
def test_a_sample_of_values_lowers_the_threshold(function, at_most):
    with_sample = threshold(function, 0.05, 0.05, Population(500, 1.0, EXPONENTIAL), 0.9)
    assert with_sample < at_most < threshold(function, 0.05, 0.05, Population(500, 1.0), 0.9)


def test_chernoff_bounds_the_exact_tail():
    # Values are 0 or 2, equally likely: i of D's m = 12 values and j of R's r = 40 are 2, weighted by 0.8 and −0.4.
    def binomial(n: int, i: int) -> float:
        return comb(n, i) / 2**n

    exact = sum(
        binomial(12, i) * binomial(40, j) for i in range(13) for j in range(41) if 0.8 * 2 * i - 0.4 * 2 * j >= 0
    )
    bound = chernoff(Population(52, 1.0, (0.0, 2.0)), 0.8, 12, -0.4, 40)
    assert exact <= bound <= 6 * exact
    assert chernoff(Population(52, 1.0, (0.0, 2.0)), 0.8, 40, -0.4, 12) == 1  # the mean itself lies in this tail
    assert chernoff(Population(52, 1.0), 0.8, 12, -0.4, 40) == 1  # no sample


def test_chernoff_accounts_for_variation_that_the_sample_lacks():
    population = [Population(500, cv, EXPONENTIAL) for cv in (1.0, 2.0)]
    assert threshold("avg", 0.05, 0.05, population[0]) + 0.03 < threshold("avg", 0.05, 0.05, population[1])
    assert (
        chernoff(Population(500, 2.0, (7.0,) * 50), 0.95, 10, -0.05, 490) == 1
    )  # equal values can't represent a cv of 2


@pytest.mark.parametrize("q", [0.5, 0.9, 0.25])
@pytest.mark.parametrize(("n", "m"), [(9, 2), (9, 3), (10, 3), (10, 4), (11, 1)])
def test_rank_errors_against_all_choices_of_the_missing(n, m, q):
    # Values 0 … n−1, of which `below` are below the bound: an answer is off if its quantile is at or above the bound.
    logs = np.array([log(float(np.prod(np.arange(1, i + 1)))) for i in range(n + 1)])
    for below in range(int(q * (n - 1)) + 1, n + 1):
        off = [
            np.quantile(received, q) >= below and not np.quantile(np.arange(n), q) >= below
            for received in combinations(range(n), n - m)
        ]
        farther = [
            sum(value < below for value in received) <= ceil(q * (n - m - 1))
            for received in combinations(range(n), n - m)
        ]
        side = Side(q, n, np.array([float(below)]), np.ones(1), logs)
        assert np.mean(off) <= np.mean(farther) + 1e-12
        assert np.mean(farther) - 1e-12 <= side.off(m) <= min(1, 3 * np.mean(farther)) + 1e-12


@pytest.mark.parametrize("q", [0.5, 0.9, 0.3, 0.03])
def test_the_bound_on_rank_errors_covers_fewer_missing_tuples(q):
    side = Side.from_sample(np.sort(EXPONENTIAL), q, 0.1, 150)
    assert side.chance.sum() == pytest.approx(1, abs=1e-9)
    off = [side.off(m) for m in range(150)]
    assert all(side.worst(m) >= 0.95 * max(off[1 : m + 1]) for m in range(1, 150))


def test_the_size_of_huge_windows_is_capped(monkeypatch):
    monkeypatch.setattr(promise_rank, "MOST", 300)
    few, many = (threshold("median", 0.1, 0.05, Population(n, 1.0, EXPONENTIAL)) for n in (300, 10**12))
    assert few == many < 1


def test_a_few_values_are_not_the_population():
    assert threshold("median", 0.05, 0.05, Population(500, 0.0, (7.0,))) == 1
    assert threshold("median", 0.05, 0.05, Population(500, 0.0, (7.0,) * 1000)) < 0.05
    # 58 of 100 sampled values in one mode may stand for half of the population, whose median is then in either mode.
    assert threshold("median", 0.05, 0.05, Population(500, 1.0, MODES)) > 0.9
    assert threshold("median", 0.05, 0.05, Population(500, 1.0, MODES * 30)) < 0.5


@pytest.mark.parametrize("function", PROMISING)
@pytest.mark.parametrize("sample", [(), EXPONENTIAL], ids=["sums", "sample"])
def test_the_threshold_is_monotone_in_promise_and_population(function, sample):
    def share_of(error: float = 0.1, risk: float = 0.05, n: float = 400, cv: float = 1.0) -> float:
        return threshold(function, error, risk, Population(n, cv, sample), 0.8)

    for name, values in {
        "error": (0.9, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-6),
        "risk": (0.99, 0.5, 0.3, 0.1, 0.05, 0.02, 0.01, 1e-4, 1e-9),
        "cv": (0.0, 0.1, 0.5, 0.9, 1.0, 1.1, 2.0, 5.0, 30.0, inf),
        "n": (100_000, 5000, 1000, 400, 200, 50, 5, 1),
    }.items():
        shares = [share_of(**{name: value}) for value in values]
        assert all(0 < share <= 1 for share in shares)
        assert shares == sorted(shares), name
    assert share_of(error=1e-6, risk=1e-9) == share_of(n=1) == 1


@pytest.mark.parametrize("function", PROMISING)
def test_the_threshold_is_1_where_no_tuple_may_be_missing(function):
    share = threshold(function, 0.05, 0.05, Population(15, 1.0, EXPONENTIAL))
    assert share == 1


def test_one_of_ten_is_a_tenth_in_doubles():
    assert threshold("max", 0.05, 0.1, Population(10, 1.0)) == pytest.approx(0.9)


@pytest.mark.parametrize("function", ["avg", "median", "quantile"])
def test_at_least_one_tuple_must_be_received(function):
    assert missing(threshold(function, 0.5, 0.5, Population(40, 0.0, (7.0,) * 1000), 0.7), 40) == 39


@pytest.mark.parametrize(
    ("function", "error", "risk", "wrong"),
    [
        ("sum", 0, 0.05, "always ≥ 0"),
        ("sum", -0.1, 0.05, "always ≥ -0.1"),
        ("count", nan, 0.05, "always"),
        ("count", 1, 0.05, "missing is off by 1"),
        ("max", 0.05, 0, "no K waits"),
        ("avg", 0.05, nan, "no answer may be off"),
        ("median", 0.05, 1, "no promise"),
    ],
)
def test_a_promise_that_cannot_be_kept_is_refused(function, error, risk, wrong):
    problem = refusal(error, risk)
    assert problem is not None
    assert wrong in problem[0]
    assert problem[1]
    with pytest.raises(ValueError, match=wrong):
        promise.threshold(function, error, risk, Population(500, 1.0), {"q": 0.5} if function == "quantile" else {})


def test_functions_without_a_threshold_are_named_with_the_reason():
    promising = {name for name in FUNCTIONS if threshold_refusal(name, has_condition=False) is None}
    assert promising == {*PROMISING}
    of_part = {name for name in promising if threshold_refusal(name, has_condition=True) is None}
    assert of_part == {"sum", "count", "min", "max"}
    assert threshold_refusal("stddev", has_condition=False) == "no coverage threshold is known of stddev"
    assert "avg with a where" in threshold_refusal("avg", has_condition=True)
    with pytest.raises(ValueError, match="avg with a where"):
        promise.threshold("avg", 0.05, 0.05, Population(500, 1.0), of_part=True)
    with pytest.raises(ValueError, match="no coverage threshold is known of stddev"):
        promise.threshold("stddev", 0.05, 0.05, Population(500, 1.0))


@pytest.mark.parametrize(("error", "risk"), [(0.05, 0.05), (0.1, 0.01)])
def test_a_count_of_some_tuples_is_the_sum_of_ones_and_zeros(error, risk):
    tuples = np.full(4, 500.0)
    ones = np.array([300.0, 310.0, 290.0, 305.0])
    of_some = Population.estimate(tuples, ones, ones)
    of_part = promise.threshold("count", error, risk, of_some, of_part=True)
    assert of_part == threshold("sum", error, risk, of_some)
    assert of_part > threshold("count", error, risk, of_some)
    of_all = promise.threshold("count", error, risk, Population.estimate(*[tuples] * 3), of_part=True)
    assert of_all == pytest.approx(threshold("count", error, risk, of_some), abs=1e-4)


@pytest.mark.parametrize("function", PROMISING)
def test_any_other_promise_can_be_kept(function):
    assert refusal(1e-9, 1e-9) is None
    assert threshold(function, 1e-9, 1e-9, Population(500, inf)) == 1


def test_a_population_is_estimated_from_windows():
    #  values 1 3 │ 2 2 2 2      σ 1 at mean 2 │ σ 0
    population = Population.estimate(np.array([2.0, 4.0]), np.array([4.0, 8.0]), np.array([10.0, 16.0]))
    assert population.tuples == pytest.approx(1 / ((1 / 2 + 1 / 4) / 2))
    assert population.variation == pytest.approx(np.sqrt(1 / 4 / 2))
    negative = Population.estimate(np.array([2.0]), np.array([-4.0]), np.array([10.0]))
    assert negative.variation == pytest.approx(1 / 2)


def test_a_sum_of_zero_is_measured_against_1():
    assert Population.estimate(np.array([2.0]), np.array([0.0]), np.array([0.0])).variation == 0
    assert Population.estimate(np.array([2.0]), np.array([0.0]), np.array([18.0])).variation == pytest.approx(
        6
    )  # n σ, relative to 1


def test_values_that_overflow_give_a_threshold_and_no_error():
    population = Population.estimate(
        np.array([3.0]), np.array([1e200]), np.array([inf]), (1.0, 2.0, 1e300, -1e308, 1.7e308)
    )
    assert population.variation == inf
    assert {threshold(name, 0.1, 0.1, population) for name in ("sum", "avg")} == {1.0}
    known = Population(1000, 1.0, population.sample)
    assert threshold("sum", 0.1, 0.1, known) == threshold("sum", 0.1, 0.1, Population(1000, 1.0))
    assert threshold("median", 0.1, 0.1, known) <= 1
    assert chernoff(Population(1000, 1.0, (-1.0, 1.0)), 0.95, 10, -0.05, 990) == 1  # relative to a mean of 0


@pytest.mark.parametrize(("tuples", "variation"), [(0.5, 1.0), (nan, 1.0), (5, -1.0), (5, nan)])
def test_an_impossible_population_is_refused(tuples, variation):
    with pytest.raises(ValueError, match="at least"):
        Population(tuples, variation)


def test_the_simulation_measures_the_share_of_answers_that_are_off():
    values = np.array([[1.0, 1.0, 2.0, 6.0], [5.0, 0.0, 0.0, 0.0], [2.0, 2.0, 2.0, 2.0], [4.0, -4.0, 0.1, -0.1]])
    windows = SimulatedWindows(values, Population(4, 1.0))
    assert windows.off("sum", 0.25, 1) == 3 / 4  # errors 0.1, 1, 0.25 and 4, the last one absolute
    assert windows.off("avg", 0.2, 1) == 3 / 4  # for example 3 for 2.5, 0 for 1.25, −4/3 for 0
    assert windows.off("count", 0.25, 1) == 1
    assert windows.off("count", 0.26, 1) == 0
    assert windows.off("max", 0.05, 1) == 2 / 4
    assert windows.off("min", 0.05, 2) == 2 / 4
    assert windows.off("avg", 0.9, 4) == 1  # no tuple is received
