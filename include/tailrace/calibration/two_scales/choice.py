"""Chooses the slack K (allowed lateness) among fits to more and more history."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from tailrace.calibration.two_scales.blocks import FEWEST
from tailrace.calibration.two_scales.fits import Fit, interval
from tailrace.ground.arrow.columns import Floats, Ints

_NARROW_K, _NARROW_LOSS = 0.25, 0.2  # half of a narrow interval, in parts of K or of the allowed loss


class Choice(NamedTuple):
    """A fit, the number of its windows, K and its 90 % interval in ms, and whether the interval is narrow.

    `promise_ms` is the shortest K that keeps the accuracy. If prices are declared, `cost` returns the cost of a window
    with each wait (ms).
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
        """Return the cost of a window with each wait; None without prices."""
        return None if self.cost is None else self.cost(waits)


Priced = Callable[[Choice], Choice]
"""A function that lengthens K if that is cheaper, see `calibration.direct.WaitCosts.priced`."""


def unpriced(choice: Choice) -> Choice:
    """Return the choice unchanged, as there are no prices."""
    return choice


def narrowest(fits: Iterable[tuple[Fit, int]], allowed: float) -> Choice:
    """Return the first fit whose interval is narrow enough, or the last one; there is at least one.

    Parameters
    ----------
    fits : iterable of (Fit, int)
        Fits, each with the number of its windows.
    allowed : float
        The allowed loss of accuracy with K.
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
    """Return `number` waits to list, ascending: K, the one in force, and others from 0 to twice K."""
    named = {choice.k_ms} if in_force is None else {choice.k_ms, in_force}
    most = max(2 * choice.k_ms, choice.upper_ms, tick_ms * number)
    parts = [most * part // number for part in range(number + 1)]
    others = [wait for wait in parts if wait not in named][: max(number - len(named), 0)]
    return np.array(sorted({*named, *others}), np.int64)
