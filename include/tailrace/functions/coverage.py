"""The coverage thresholds λ_thr of COUNT, extremes and ranks; SUM and AVG are in `promise_mean`.

Each takes the promised error ε and risk δ, and the population of the windows; see `promise.threshold`.
"""

from __future__ import annotations

from tailrace.functions.population import Population
from tailrace.functions.promise_rank import quantile

STRICTLY = 1e-9
"""Margin above a share that must be exceeded: an answer that is off by exactly ε breaks the promise."""


def counted(error: float, risk: float, population: Population) -> float:
    """Return λ_thr of COUNT.

    The error is 1 − λ for any missing tuples (Law & Zaniolo, Improving the Accuracy of Continuous Aggregates and Mining
    Queries on Data Streams under Load Shedding, IJBIDM 3(1), 2008; here without scaling up). The error has to be below
    ε, so λ > 1 − ε; a larger risk does not lower it. This is exact, without any assumption.
    """
    return 1 - error + STRICTLY


def extreme(error: float, risk: float, population: Population) -> float:
    """Return λ_thr of MIN, MAX, and QUANTILE with q = 0 or 1: 1 − `risk`, for any `error`.

    The answer is right if a tuple with the extreme value was received. If tuples are missing at random, that has
    probability λ, or more if several tuples have that value. The next value may be off by any amount, so `error` does
    not count. If values tie, or the next one is off by less than `error`, a smaller λ would suffice.
    """
    return 1 - risk


def ranked(error: float, risk: float, population: Population, q: float) -> float:
    """Return λ_thr of QUANTILE, with q in [0, 1]."""
    return quantile(error, risk, population, q) if 0 < q < 1 else extreme(error, risk, population)
