"""Monte Carlo test of promises: the share of answers that are off when known tuples are missing at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailrace.functions.population import Population
from tailrace.functions.promise import threshold
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.arrow.columns import Floats

Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]


def _rare(share: float, large: float) -> Draw:
    """Return a sampler of the value 1, and of `large` in the given share of the values."""
    return lambda rng, shape: np.where(rng.random(shape) < share, large, 1.0)


DISTRIBUTIONS: dict[str, Draw] = {
    "constant": lambda rng, shape: np.full(shape, 7.0),
    "normal(10, 2)": lambda rng, shape: rng.normal(10, 2, shape),
    "exponential": lambda rng, shape: rng.exponential(1, shape),
    "lognormal(σ 0.8)": lambda rng, shape: rng.lognormal(0, 0.8, shape),
    "lognormal(σ 1.5)": lambda rng, shape: rng.lognormal(0, 1.5, shape),
    "pareto(2.5)": lambda rng, shape: 1 + rng.pareto(2.5, shape),
    "1, or 30 in 1 %": _rare(0.01, 30.0),
    "1 or 10, 60 : 40": _rare(0.4, 10.0),
    "normal(1, 1.5)": lambda rng, shape: rng.normal(1, 1.5, shape),
}
"""Samplers of independent values of one distribution, by its name; the last one gives values of both signs."""

PROMISES = ((0.05, 0.05), (0.1, 0.01), (0.02, 0.1))
"""Error ε and risk δ of each promise."""

TUPLES = (20, 100, 500)

Q = 0.9
"""The q of function quantile."""

ANSWERS: dict[str, Callable[[Floats], Floats]] = {
    "sum": lambda values: values.sum(axis=1),
    "count": lambda values: np.full(len(values), float(values.shape[1])),
    "avg": lambda values: values.mean(axis=1),
    "min": lambda values: values.min(axis=1),
    "max": lambda values: values.max(axis=1),
    "median": lambda values: np.median(values, axis=1),
    "quantile": lambda values: np.quantile(values, Q, axis=1),
}


@dataclass(frozen=True)
class SimulatedWindows:
    """Simulated windows of equally many tuples.

    Attributes
    ----------
    values : ndarray, shape (windows, n)
        In random order within each window, so that the first m stand for m tuples missing at random.
    population : Population
        Measured on other values of the same distribution.
    """

    values: Floats
    population: Population

    @staticmethod
    def draw(draw: Draw, tuples: int, windows: int, rng: np.random.Generator) -> SimulatedWindows:
        other_values = draw(rng, (1000, tuples))
        population = Population.estimate(
            np.full(len(other_values), float(tuples)),
            other_values.sum(axis=1),
            (other_values**2).sum(axis=1),
            tuple(other_values.ravel()[:2000].tolist()),
        )
        return SimulatedWindows(rng.permuted(draw(rng, (windows, tuples)), axis=1), population)

    def off(self, function: str, error: float, missing: int) -> float:
        """Return the share of answers with an error of at least `error` if each window lacks `missing` tuples."""
        answer, n = ANSWERS[function], self.values.shape[1]
        if missing == n:
            return 1.0
        approximate, true = answer(self.values[:, missing:]), answer(self.values)
        return float(np.mean(np.abs(approximate - true) >= error * np.where(true == 0, 1.0, np.abs(true))))


def missing(share: float, tuples: int) -> int:
    """Return the largest number of tuples that a window may lack and still cover the share."""
    return int((1 - share) * tuples + 1e-9)


def simulate(windows: int, seed: int) -> list[dict[str, Any]]:
    """Simulate the share of answers off when windows cover λ_thr, for every function, distribution and promise.

    Parameters
    ----------
    windows : int
        The number of windows simulated for each row.
    seed : int
        Seed of all random draws.

    Returns
    -------
    list of dict
        For each distribution, n, function and promise: distribution, tuples (n), function, error, risk, threshold
        (λ_thr), missing (how many of the n tuples), off (the share of answers off, at most `risk` if the promise
        holds), windows.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for name, draw in DISTRIBUTIONS.items():
        for tuples in TUPLES:
            simulated = SimulatedWindows.draw(draw, tuples, windows, rng)
            for function in ANSWERS:
                for error, risk in PROMISES:
                    share = threshold_of(function, error, risk, simulated.population, Q)
                    lack = missing(share, tuples)
                    off = simulated.off(function, error, lack) if lack else 0.0
                    row = {"distribution": name, "tuples": tuples, "function": function, "error": error, "risk": risk}
                    rows.append(row | {"threshold": share, "missing": lack, "off": off, "windows": windows})
    return rows


def threshold_of(name: str, error: float, risk: float, population: Population, q: float = 0.5) -> float:
    """Return λ_thr of a function of the registry, with q for its parameters; see `promise.threshold`."""
    parameters = dict.fromkeys(FUNCTIONS[name].parameters, q)
    return threshold(name, error, risk, population, parameters)
