"""P(error ≥ ε) ≤ δ at the coverage threshold, in simulation; and P > δ at a lower coverage, so the tests can fail."""

from __future__ import annotations

import numpy as np
import pytest

from tailrace.aggregate import simulation
from tailrace.aggregate.simulation import (
    ANSWERS,
    DISTRIBUTIONS,
    PROMISES,
    TUPLES,
    Q,
    SimulatedWindows,
    missing,
    simulate,
)
from tailrace.aggregate.simulation import threshold_of as threshold
from tailrace.functions.population import Population

pytestmark = pytest.mark.xdist_group("promises")

WINDOWS = 2500


@pytest.fixture(scope="module")
def table() -> list[dict]:
    return simulate(WINDOWS, seed=20261121)


def noise(risk: float, windows: int) -> float:
    """The standard error of a share that is `risk` in truth."""
    return float(np.sqrt(risk * (1 - risk) / windows))


@pytest.mark.needs("long")
def test_the_table_has_every_combination(table):
    assert len(table) == len(DISTRIBUTIONS) * len(TUPLES) * len(ANSWERS) * len(PROMISES)
    assert {row["windows"] for row in table} == {WINDOWS}
    for function in ANSWERS:  # a complete window keeps any promise, so some must lack tuples
        assert sum(row["missing"] > 0 for row in table if row["function"] == function) >= 20, function


@pytest.mark.parametrize("function", ["sum", "count", "avg"])
def test_bounds_of_means_hold_without_tolerance(table, function):
    violations = [row for row in table if row["function"] == function and row["off"] > row["risk"]]
    assert not violations


@pytest.mark.parametrize("function", ["median", "quantile"])
def test_rank_bounds_hold(table, function):
    # The bounds are nearly exact, so the measured share may exceed the risk by chance: two standard errors.
    rows = [row for row in table if row["function"] == function]
    assert not [row for row in rows if row["off"] > row["risk"] + 2 * noise(row["risk"], WINDOWS)]


@pytest.mark.parametrize("risk", [risk for _, risk in PROMISES])
def test_bounds_of_extremes_hold(table, risk):
    # The bounds are exact: half of the rows exceed the risk by chance, none of 54 by four standard errors,
    # and their mean not by two.
    rows = [row for row in table if row["function"] in ("min", "max") and row["risk"] == risk]
    assert not [row for row in rows if row["off"] > risk + 4 * noise(risk, WINDOWS)]
    assert np.mean([row["off"] for row in rows]) <= risk + 2 * noise(risk, WINDOWS * len(rows))


def test_the_table_is_deterministic_by_its_seed(monkeypatch):
    monkeypatch.setattr(simulation, "DISTRIBUTIONS", {"one": DISTRIBUTIONS["exponential"]})
    assert simulate(20, 5) == simulate(20, 5) != simulate(20, 6)


# `times`: the number of missing tuples, as a multiple of what λ_thr allows
@pytest.mark.parametrize(
    ("function", "times"),
    [("sum", 2), ("count", 1.1), ("avg", 3), ("min", 2), ("max", 2), ("median", 5), ("quantile", 8)],
)
@pytest.mark.parametrize("name", ["exponential", "lognormal(σ 0.8)"])
def test_the_promise_breaks_at_a_lower_coverage(function, times, name):
    windows = SimulatedWindows.draw(DISTRIBUTIONS[name], 500, WINDOWS, np.random.default_rng(3))
    lack = missing(threshold(function, 0.05, 0.05, windows.population, Q), 500)
    assert 0 < lack * times < 500
    assert windows.off(function, 0.05, int(np.ceil(lack * times))) > 0.05 + 4 * noise(0.05, WINDOWS)


@pytest.mark.parametrize("function", ANSWERS)
@pytest.mark.parametrize("name", ["exponential", "lognormal(σ 1.5)", "1 or 10, 60 : 40"])
def test_the_promise_holds_for_windows_of_any_coverage_above_the_threshold(function, name):
    # Each tuple is missing independently with 1 − λ_thr; the half of the windows below λ_thr is not counted.
    rng = np.random.default_rng(8)
    tuples, error, risk = 500, 0.05, 0.05
    windows = SimulatedWindows.draw(DISTRIBUTIONS[name], tuples, 2 * WINDOWS, rng)
    share = threshold(function, error, risk, windows.population, Q)
    lack = rng.binomial(tuples, 1 - share, 2 * WINDOWS)
    off = [
        SimulatedWindows(windows.values[lack == count], windows.population).off(function, error, count)
        * np.sum(lack == count)
        for count in np.unique(lack[lack <= missing(share, tuples)])
    ]
    window_count = np.sum(lack <= missing(share, tuples))
    assert window_count > WINDOWS / 2
    assert sum(off) / window_count <= risk + 2 * noise(risk, window_count)


@pytest.mark.parametrize("function", ["sum", "avg"])
@pytest.mark.parametrize(("error", "risk"), PROMISES)
def test_without_a_sample_nothing_is_assumed_of_the_values(function, error, risk):
    # Windows of different levels, spreads and lengths, half of them negative, one in ten with a single huge value.
    rng = np.random.default_rng(13)
    sizes = rng.integers(200, 2000, 40)
    samples = []
    for tuples in sizes:
        level, spread = rng.choice([-1, 1]) * rng.lognormal(0, 2), rng.uniform(0, 1.2)
        values = level * rng.lognormal(0, spread, tuples)
        if rng.random() < 0.1:
            values[0] *= 20
        samples.append(values)
    sums = [np.array([measure(values) for values in samples]) for measure in (np.sum, lambda values: np.sum(values**2))]
    population = Population.estimate(sizes.astype(float), *sums)
    share = threshold(function, error, risk, population)
    assert share < 1
    off = []
    for values in samples:
        rows = rng.permuted(np.tile(values, (200, 1)), axis=1)
        off.append(SimulatedWindows(rows, population).off(function, error, missing(share, len(values))))
    assert np.mean(off) <= risk
