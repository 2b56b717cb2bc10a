"""Blocks of a series whose neighbours are correlated, for the standard error of its mean.

Delays come in bursts, so neighbouring values are correlated, and the naive standard error is too small. Means of blocks
longer than a burst spread by the whole amount [1]_. A block is too short while doubling it increases the variance
significantly.

References
----------
.. [1] Künsch. The jackknife and the bootstrap for general stationary observations. Annals of Statistics 17(3), 1989.
"""

from __future__ import annotations

import math

import numpy as np

from tailrace.ground.arrow.columns import Floats

FEWEST = 10
"""The least number of blocks from which an error is computed."""

_GREATER, _ERRORS = 1.2, 2.5  # longer blocks vary more: by over 20 %, and over 2.5 standard errors
_SAFETY = 4  # lengths at which the variance stops growing
SIGNIFICANT, SURE = 2.0, 3.0
"""The standard errors that a difference must exceed: usually, and if blocks are few or no difference is expected."""

Z_90 = 1.645
"""The normal quantile of a two-sided interval of 90 %."""


def means(series: Floats, length: int) -> Floats:
    """Return the means of blocks of `length` neighbours, without the oldest values that fill no block."""
    number = len(series) // length
    return np.asarray(series[len(series) - number * length :].reshape(number, length).mean(axis=1))


def block_length(series: Floats, at_least: int = 1) -> int:
    """Return a block length beyond which blocks show no more variance: `at_least`, doubled as needed.

    If neighbours are correlated, it is four times the length at which the variance stops growing.
    """
    lengths, variances, numbers = [], [], []
    length = at_least
    while len(series) // length >= FEWEST:
        each = means(series, length)
        lengths.append(length)
        variances.append(length * float(each.var(ddof=1)))
        numbers.append(len(each))
        length *= 2
    for index, variance in enumerate(variances):
        bounds = [max(_GREATER, 1 + _ERRORS * math.sqrt(2 / number)) * variance for number in numbers[index + 1 :]]
        if all(longer <= bound for longer, bound in zip(variances[index + 1 :], bounds, strict=True)):
            return lengths[index] * (_SAFETY if index else 1)
    return at_least  # too few blocks for an error


def exceeds(series: Floats, length: int, z: float) -> bool:
    """Test whether the mean of a series differs from 0 by more than z standard errors, computed by blocks."""
    blocks = len(series) // length
    error = error_of_mean(series, length)
    return abs(float(series.mean())) > t_quantile(z, blocks) * error > 0


def pretest_share(z: float) -> float:
    """Return the error of a difference that counts as 0 unless it exceeds z errors, in units of its own error.

    It is √E[x²; |x| > z] of a standard normal x, as a difference may be found by chance.
    """
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return math.sqrt(2 * z * density + math.erfc(z / math.sqrt(2)))


def error_of_mean(series: Floats, length: int) -> float:
    """Return the standard error of the mean of a series by blocks; infinite with fewer than two."""
    each = means(series, length)
    return float(each.std(ddof=1)) / math.sqrt(len(each)) if len(each) > 1 else math.inf


def t_quantile(z: float, blocks: int) -> float:
    """Convert a normal quantile to Student's t for a number of blocks; infinite for one block.

    It is Cornish and Fisher's expansion.
    """
    freedom = blocks - 1
    if freedom < 1:
        return math.inf
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
