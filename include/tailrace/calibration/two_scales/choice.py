"""The choice of the slack K (allowed lateness) among fits by more and more history."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from tailrace.calibration.two_scales.blocks import FEWEST
from tailrace.calibration.two_scales.fits import Fit, interval
from tailrace.ground.columns import Floats, Ints

_NARROW_K, _NARROW_LOSS = 0.25, 0.2  # half an interval in parts of K, or of the allowed loss


class Choice(NamedTuple):
    """A fit, the number of windows that it is from, K and its interval of 90 % in ms, and whether that is narrow.

    `promise_ms` is the shortest K that keeps the accuracy, and `cost` returns the cost a window of waits (ms), where
    prices are declared.
    """

    fit: Fit
    windows: int
    k_ms: int
    lower_ms: int
    upper_ms: int
    is_narrow: bool
    promise_ms: int | None = None
    cost: Callable[[Ints], Floats] | None = None

    def costs(self, waits: Ints) -> Floats | None:
        """Return the cost a window of each wait; None without prices."""
        return None if self.cost is None else self.cost(waits)


Priced = Callable[[Choice], Choice]
"""A function that lengthens K where that is cheaper, see `calibration.cost.WaitCosts.priced`."""


def unpriced(choice: Choice) -> Choice:
    """Return the same choice: there are no prices."""
    return choice


def narrowest(fits: Iterable[tuple[Fit, int]], allowed: float) -> Choice:
    """Return the first fit whose interval is narrow enough, or the last one; there is at least one.

    Parameters
    ----------
    fits : iterable of (Fit, int)
        Fits, each with the number of windows that it is from.
    allowed : float
        The loss of accuracy that K is allowed to have.
    """
    for fit, windows in fits:
        k = fit.wait(allowed)
        low, high, half = interval(fit, k, allowed)
        is_narrow = (high - low) / 2 <= _NARROW_K * k or half <= _NARROW_LOSS * allowed
        choice = Choice(fit, windows, k, low, high, is_narrow and fit.blocks >= FEWEST)
        if choice.is_narrow:
            break
    return choice


def listed_waits(number: int, choice: Choice, in_force: int | None, tick_ms: int) -> Ints:
    """Return `number` waits to list, ascending: K, the one in force, and others from 0 on, up to twice K."""
    named = {choice.k_ms} if in_force is None else {choice.k_ms, in_force}
    most = max(2 * choice.k_ms, choice.upper_ms, tick_ms * number)
    parts = [most * part // number for part in range(number + 1)]
    others = [wait for wait in parts if wait not in named][: max(number - len(named), 0)]
    return np.array(sorted({*named, *others}), np.int64)
