"""The coverage threshold λ_thr of SUM and AVG, by bounds on how far a part of a window's values lies off the whole.

With f = 1 − λ, m = fn tuples of a window are missing and r = λn are there; D is the sum of the missing values, R of the
others, S = D + R, µ = S/n. Tuples are missing at random, independently of their values: any m of the n are as likely.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tailrace.functions.population import Population
from tailrace.ground.arrow.columns import Floats

STEPS = 14
"""Bisection steps of the search for f, which determine it to a ten-thousandth."""

GRID = 2.0 ** np.arange(-5, 1.5, 0.5)
"""Points at which Chernoff's bound is tried, in units of the best point for normal values; for skewed values the best
point is lower.
"""


def total(error: float, risk: float, population: Population) -> float:
    """Return λ_thr of SUM.

    The answer lacks D: it is off when D ≥ εS, or D ≤ −εS where values have both signs. Over all choices of m tuples D/S
    has the mean f and the variance f(1−f) cv²/(n−1) (sampling without replacement, Cochran, Sampling Techniques,
    theorem 2.2). Cantelli's inequality, which holds for any distribution, gives for each side

        P(D/S ≥ ε) ≤ v / (v + (ε − f)²),   P(D/S ≤ −ε) ≤ v / (v + (ε + f)²),   v = f(1−f) cv²/(n−1).

    Both are concave in cv²/(n−1), so by Jensen's inequality the mean of it over the windows bounds the share of windows
    that are off. With a sample of values each side is the smaller of this and of Chernoff's bound (`chernoff`) of
    P((1−ε) D − εR ≥ 0) and P(−(1+ε) D − εR ≥ 0). f is the largest where the two sides together are ≤ δ.

    The missing values lower a SUM by f on average, and the tail must fit in above it (Ji et al., Quality-Driven
    Processing of Sliding Window Aggregates over Out-of-Order Data Streams, DEBS 2015).

    How conservative: at (0.05, 0.05), n = 500 and cv = 1 λ_thr is 0.980 by Cantelli, and 0.973 by Chernoff for
    exponential values, for which 0.966 would do in simulation. At or below 0.95 = 1 − ε only luck keeps the promise.
    """

    def risk_at(f: float) -> float:
        n, variance = population.tuples, f * (1 - f) * _variance_factor(population)
        m, r = f * n, (1 - f) * n
        below = min(_cantelli(variance, error - f), chernoff(population, 1 - error, m, -error, r))
        return below + min(_cantelli(variance, error + f), chernoff(population, -1 - error, m, -error, r))

    return _coverage(risk_at, error, risk, population)


def mean(error: float, risk: float, population: Population) -> float:
    """Return λ_thr of AVG.

    The answer is R/r, the mean of a sample without replacement: unbiased, and the variance of its relative error is
    (f/λ) cv²/(n−1) (Cochran, theorem 2.2: the finite population correction is in it). Chebyshev's inequality gives

        P(|R/r − µ| ≥ ε|µ|) ≤ (f/λ) cv² / ((n−1) ε²)

    for any distribution. As the bound is linear in cv²/(n−1), it also holds for the mean of this factor over unlike
    windows. With a sample of values it is the smaller of this and of Chernoff's bounds (`chernoff`) of the two sides,
    multiplied by n:

        R/r − µ ≥ εµ   ⇔   (f/λ − ε) R − (1+ε) D ≥ 0,      µ − R/r ≥ εµ   ⇔   (1−ε) D − (f/λ + ε) R ≥ 0.

    Load shedding makes AVG an average over a random sample (Law & Zaniolo, Improving the Accuracy of Continuous
    Aggregates and Mining Queries on Data Streams under Load Shedding, IJBIDM 3(1), 2008).

    How conservative: at (0.05, 0.05), n = 500 and cv = 1 λ_thr is 0.941 by Chebyshev, and 0.87 by Chernoff for
    exponential values, for which 0.76 would do in simulation.
    """

    def risk_at(f: float) -> float:
        n, odds = population.tuples, f / (1 - f)
        m, r = f * n, (1 - f) * n
        above = chernoff(population, -1 - error, m, odds - error, r)
        below = chernoff(population, 1 - error, m, -odds - error, r)
        return min(odds * _variance_factor(population) / error**2, above + below)

    return _coverage(risk_at, 1.0, risk, population)


def chernoff(population: Population, a: float, m: float, b: float, r: float) -> float:
    """Return Chernoff's bound of P(aD + bR ≥ 0) for sums D of m and R of r values, drawn from the population's sample.

    Assumes that the values of a window are independent and distributed as the sample is (`Population.relative`). Then,
    for every t > 0, P ≤ E[exp(tav)]^m · E[exp(tbv)]^r (Chernoff 1952); the least over a few t is a bound, too. 1 where
    there is no sample. Values of one sign, or few of the other, need no case of their own: the bound sees them.
    """
    values = population.relative
    drift = -(a * m + b * r)
    if not len(values) or drift <= 0:
        return 1.0
    spread = max(float(np.var(values)), 1e-12) * (a * a * m + b * b * r)
    t = GRID[:, None] * (drift / spread)
    return float(np.exp(min(0.0, (m * _log_mean(t * a * values) + r * _log_mean(t * b * values)).min())))


def _log_mean(exponents: Floats) -> Floats:
    """Return the logarithm of the mean exponential of each row, computed without overflow."""
    largest = exponents.max(axis=1)
    means: Floats = largest + np.log(np.exp(exponents - largest[:, None]).mean(axis=1))
    return means


def _cantelli(variance: float, distance: float) -> float:
    """Return Cantelli's bound of P(X − mean ≥ distance) for any X of this variance; 1 if `distance` ≤ 0."""
    if distance <= 0 or not np.isfinite(variance):
        return 1.0
    return variance / (variance + distance**2)


def _variance_factor(population: Population) -> float:
    """Return cv²/(n−1), the factor of the variances above that the population determines."""
    return population.variation**2 / (population.tuples - 1)


def _coverage(risk_at: Callable[[float], float], limit: float, risk: float, population: Population) -> float:
    """Return 1 − f for the largest f ≤ `limit` with risk_at(f) ≤ `risk`, where risk_at increases.

    f is at most 1 − 1 / tuples, as at least one tuple is received.
    """
    if population.tuples <= 1:
        return 1.0
    low, high = 0.0, min(limit, 1 - 1 / population.tuples)
    if risk_at(high) <= risk:
        return 1 - high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if risk_at(middle) <= risk else (low, middle)
    return 1 - low
