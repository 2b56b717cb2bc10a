"""The loss of accuracy with each wait, measured on every tuple of windows, without a model of delays.

The errors of neighbouring windows are correlated, as a late tuple is late for all windows over it. So losses are summed
by the time at which the tuple that ends them came: tuples with independent delays give independent sums. Losses that
end after the newest window are counted at the start, in place of losses from before the first window (circular blocks
[1]_).

References
----------
.. [1] Politis, Romano. A circular block-resampling procedure for stationary data. 1992.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tailrace.calibration.two_scales.blocks import error_of_mean
from tailrace.calibration.two_scales.loss_sample import LossSample
from tailrace.calibration.two_scales.sample import sums_by_number
from tailrace.ground.arrow.columns import Floats, Ints

_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class MeasuredFit:
    """The mean loss of the windows of a sample with each wait.

    Attributes
    ----------
    unit_ms : int
        The length of a unit of time, over which losses are summed.
    block : int
        The number of neighbouring units that count as one observation.
    """

    sample: LossSample
    unit_ms: int
    block: int = 1

    @property
    def units(self) -> int:
        """The number of units in which windows end, at least 1."""
        ends = self.sample.ends
        return int((ends[-1] - ends[0]) // self.unit_ms) + 1

    @property
    def blocks(self) -> int:
        return self.units // self.block

    def series(self, wait: int) -> Floats:
        """Return the losses with a wait by unit; their mean is the mean loss of the windows."""
        sample = self.sample
        unit = (sample.came - sample.ends[0]) // self.unit_ms % self.units
        lost = sums_by_number(unit, sample.share * (sample.need > wait), self.units)
        return np.asarray(lost * (self.units / len(sample.ends)))

    def loss(self, waits: Ints) -> Floats:
        needs, falls = self._falls
        left = np.append(np.cumsum(falls[::-1])[::-1], 0.0)
        return np.asarray(left[np.searchsorted(needs, waits, side="right")])

    def error(self, waits: Ints) -> Floats:
        if self.blocks <= 1:
            return np.full(len(waits), math.inf)
        return np.array([error_of_mean(self.series(wait), self.block) for wait in waits.tolist()])

    def wait(self, allowed: float) -> int:
        """Return the shortest wait such that neither it nor a longer one loses more than allowed, in ms."""
        needs, falls = self._falls
        exceeds = np.cumsum(falls[::-1]) > allowed * (1 + _TOLERANCE) + _TOLERANCE**2
        return int(needs[::-1][int(np.argmax(exceeds))]) if exceeds.any() else 0

    @property
    def _falls(self) -> tuple[Ints, Floats]:
        """The distinct needs, ascending, and the fall of the mean loss at each."""
        needs, number = np.unique(self.sample.need, return_inverse=True)
        return needs, sums_by_number(number, self.sample.share) / len(self.sample.ends)
