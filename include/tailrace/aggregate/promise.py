"""The coverage threshold λ_thr: the share of a window that must be there for its answer to keep a promise.

λ_thr is that of paper 002, section 1.2. A promise (ε, δ) is that P(error ≥ ε) ≤ δ, where the error of an answer is
|answer − true| / |true| (absolute where the true value is 0) and the answer is the plain aggregate of what
is there: a SUM lacks what is missing. An answer that is missing is wrong. All thresholds assume that the tuples of a
window are *missing at random*: λn of them are there, and which ones does not depend on their values. λ is the window's
own coverage: where windows cover λ_thr on average, about half of them cover less, and more than δ of the answers can
be off.
"""

from __future__ import annotations

from collections.abc import Callable

from tailrace.aggregate.population import Population
from tailrace.aggregate.promise_mean import mean, total
from tailrace.aggregate.promise_rank import quantile

STRICTLY = 1e-9
"""Margin above a share that must be exceeded: an answer that is off by exactly ε breaks the promise."""

FEWEST = 1e-9
"""Tolerance for rounding, in tuples: a window that lacks one tuple may seem to lack this much less."""


def counted(error: float, risk: float, population: Population) -> float:
    """λ_thr of COUNT.

    The error is 1 − λ, whatever is missing (Law & Zaniolo, Improving the Accuracy of Continuous Aggregates and Mining
    Queries on Data Streams under Load Shedding, IJBIDM 3(1), 2008: without their scaling up). It has to be below ε, so
    λ > 1 − ε; a larger risk does not lower it. Exact, without any assumption.
    """
    return 1 - error + STRICTLY


def extreme(error: float, risk: float, population: Population) -> float:
    """λ_thr of MIN and MAX: 1 − `risk`, whatever `error` is. Also of QUANTILE with q = 0 or 1.

    The answer is right if a tuple with the extreme value was received. If tuples are missing at random, that has
    probability λ, or more where several have that value. The next value may be off by any amount, so `error` does not
    count; where values tie, or the next one is off by less than `error`, a smaller λ would do.
    """
    return 1 - risk


COVERAGE: dict[str, Callable[[float, float, Population], float]] = {
    "sum": total,
    "count": counted,
    "avg": mean,
    "min": extreme,
    "max": extreme,
}


def refusal(function: str, error: float, risk: float) -> tuple[str, str] | None:
    """The reason why no stream can keep a promise, and what would be right instead; None: it can be kept.

    Any other promise is kept at least by whole windows, so there is a λ_thr for it.
    """
    if function not in {*COVERAGE, "median", "quantile"}:
        return (
            f"{function} promises nothing: it is not known how it errs",
            "sum, count, avg, min, max, median, quantile",
        )
    if not error > 0:
        return (
            f"an answer's error is always ≥ {error:g}, so it can't be promised to stay below",
            "an error above 0, as 0.05",
        )
    if not error < 1:
        return (
            f"an error below {error:g} is no promise: an answer that is missing is off by 1",
            "an error below 1, as 0.05",
        )
    if not risk > 0:
        return (
            f"with a risk of {risk:g} no answer may be off, and no K waits for every tuple that will ever come",
            "a risk above 0, as 0.05; corrections make every answer right in the end",
        )
    if not risk < 1:
        return f"with a risk of {risk:g} all answers may be off, which is no promise", "a risk below 1, as 0.05"
    return None


def threshold(function: str, error: float, risk: float, population: Population, q: float = 0.5) -> float:
    """λ_thr, the share of a window's tuples that must be there.

    Parameters
    ----------
    function : str
        sum, count, avg, min, max, median or quantile.
    error, risk : float
        ε and δ in (0, 1), to which `refusal` does not object.
    q : float
        The q of function quantile, in [0, 1].

    Returns
    -------
    float
        In (0, 1]; 1 where only a whole window keeps the promise. Monotone: does not fall when ε or δ falls or cv rises.

    Raises
    ------
    ValueError
        When the promise can't be kept.
    """
    if reason := refusal(function, error, risk):
        raise ValueError(": ".join(reason))
    if function in ("median", "quantile") and 0 < q < 1:
        share = quantile(error, risk, population, 0.5 if function == "median" else q)
    else:
        share = COVERAGE.get(function, extreme)(error, risk, population)
    return share if (1 - share) * population.tuples >= 1 - FEWEST else 1.0
