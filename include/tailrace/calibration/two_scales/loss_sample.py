"""The sample of a calibration of aggregates or pairs: the loss of each window with any wait, and the tuples' delays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Floats, Ints


@dataclass(frozen=True, eq=False)
class LossSample:
    """The delays of n tuples, and m steps by which the losses of w windows fall as the wait rises.

    Attributes
    ----------
    event, delay : ndarray, shape (n,)
        Event times and delays in ms. A delay is t_max before the tuple's tick less its event time, at least 0.
    ends : ndarray, shape (w,)
        The ends of the windows, in ms, ascending.
    window : ndarray, shape (m,)
        The number of each step's window, in [0, w).
    need : ndarray, shape (m,)
        The shortest wait that reaches the step, in ms, at least 1. Steps that a wait of 0 reaches are left out.
    came : ndarray, shape (m,)
        t_max (ms) when the tuple came that the step needs.
    share : ndarray, shape (m,)
        The accuracy that the window loses with any shorter wait. It may be negative: the mean of fewer values may be
        nearer to the exact one.
    """

    event: Ints
    delay: Ints
    ends: Ints
    window: Ints
    need: Ints
    came: Ints
    share: Floats

    def where(self, mask: NDArray[np.bool_]) -> LossSample:
        """Select windows, and keep all tuples."""
        chosen = mask[self.window]
        window = (np.cumsum(mask) - 1)[self.window[chosen]]
        need, came = self.need[chosen], self.came[chosen]
        return replace(self, ends=self.ends[mask], window=window, need=need, came=came, share=self.share[chosen])

    def newest(self, count: int) -> LossSample:
        """Select the newest windows."""
        return self.where(np.arange(len(self.ends)) >= len(self.ends) - count)
