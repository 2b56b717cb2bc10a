"""The coverage threshold λ_thr: the share of a window that must be received for its answer to keep a promise.

λ_thr is defined in paper 002, section 1.2. A promise (ε, δ) is that P(error ≥ ε) ≤ δ, where the error of an answer is
|answer − true| / |true| (absolute where the true value is 0) and the answer is the plain aggregate of the received
tuples: a SUM lacks the missing values. A missing answer is wrong. All thresholds assume that the tuples of a window are
*missing at random*: λn of them are received, and which ones does not depend on their values. λ is the window's own
coverage: where windows cover λ_thr on average, about half of them cover less, and more than δ of the answers can be
off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailrace.functions.population import Population
from tailrace.functions.registry import FUNCTIONS

FEWEST = 1e-9
"""Tolerance for rounding, in tuples: a window that lacks one tuple may seem to lack less by this."""


def refusal(error: float, risk: float) -> tuple[str, str] | None:
    """Return the reason why no stream can keep a promise, and the remedy; None if it can be kept.

    Whole windows keep any other promise.
    """
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


def threshold_refusal(function: str, has_condition: bool) -> str | None:
    """Return the reason why λ_thr of a function is unknown; None if it is known.

    `has_condition` says that a condition selects the tuples.
    """
    known = FUNCTIONS[function]
    if known.threshold is None:
        return f"no coverage threshold is known of {function}"
    if has_condition and known.threshold_of_part is None:
        return f"no coverage threshold is known of {function} with a where: the tuples' share is not its values' share"
    return None


def threshold(
    function: str,
    error: float,
    risk: float,
    population: Population,
    parameters: Mapping[str, Any] | None = None,
    of_part: bool = False,
) -> float:
    """Return λ_thr, the share of a window's tuples that must be received.

    Parameters
    ----------
    function : str
        A function in `registry.FUNCTIONS` with a threshold.
    error, risk : float
        ε and δ in (0, 1), to which `refusal` does not object.
    parameters : dict
        The function's parameters, such as q.
    of_part : bool
        Whether some tuples of the population may have no value, see `Function`.

    Returns
    -------
    float
        In (0, 1]; 1 if only a whole window keeps the promise. It is monotone: it does not fall when ε or δ falls, or cv
        rises.

    Raises
    ------
    ValueError
        When the promise can't be kept.
    """
    if reason := refusal(error, risk):
        raise ValueError(": ".join(reason))
    known = FUNCTIONS[function]
    of_population = known.threshold_of_part if of_part else known.threshold
    if of_population is None:
        raise ValueError(threshold_refusal(function, of_part))
    share = of_population(error, risk, population, **(parameters or {}))
    return share if (1 - share) * population.tuples >= 1 - FEWEST else 1.0
