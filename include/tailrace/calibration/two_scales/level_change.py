"""Finds the newest change of the delay distribution: older tuples do not describe the present one.

Consider the split of a series into the parts with the most different means. It is a change if the difference far
exceeds the variation of blocks within the parts, so that bursts are no change.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tailrace.calibration.two_scales.blocks import block_length, means, t_quantile
from tailrace.ground.arrow.columns import Floats

_FEWEST, _USUAL = 5, 100  # least length of each side of a change, and of the series before the first one
_BEYOND = 6.0  # standard errors that the difference must exceed
_LEAST_SPREAD = 1e-9


class _Split(NamedTuple):
    """A split: the first index after it, and the difference of the means in its standard errors at unit variance."""

    after: int
    difference: float


def newest_change(series: Floats) -> int:
    """Return the first index after the newest change of the mean; 0 without a change."""
    start, least = 0, _USUAL
    while (index := _change(series[start:], least)) > 0:
        start, least = start + index, _FEWEST
    return start


def _change(series: Floats, least: int) -> int:
    """Return the index of the most significant change, with at least `least` values before it; 0 without one."""
    best = _best_split(series, least)
    if best is None:
        return 0
    parts = [part for half in _halves(series, best) for part in _halves(half, _best_split(half))]
    rest = np.concatenate([part - part.mean() for part in parts])  # halves again, as there may be other changes
    length = block_length(rest)
    blocks = means(rest, min(length, len(rest) // 2))
    spread = math.sqrt(length * float(blocks.var(ddof=1)))
    return best.after if best.difference > t_quantile(_BEYOND, len(blocks)) * max(spread, _LEAST_SPREAD) else 0


def _best_split(series: Floats, least: int = _FEWEST) -> _Split | None:
    """Return the split with the most significant difference; None if the series is too short."""
    n = len(series)
    if n < least + _FEWEST:
        return None
    before = np.arange(least, n - _FEWEST + 1)
    sums = np.cumsum(series)
    difference = (sums[-1] - sums[before - 1]) / (n - before) - sums[before - 1] / before
    standardised = np.abs(difference) / np.sqrt(1 / before + 1 / (n - before))
    best = int(np.argmax(standardised))
    return _Split(int(before[best]), float(standardised[best]))


def _halves(series: Floats, split: _Split | None) -> list[Floats]:
    return [series] if split is None else [series[: split.after], series[split.after :]]
