"""The standard error of accuracies measured over windows, by blocks of consecutive windows.

Windows near each other lose the same tuples: a late tuple is late for all its windows that end before it comes. So
their qualities are correlated for as long as delays last, but no longer than a window. The spread of the means of
blocks a little longer than a window includes all of this correlation, whatever its origin [1]_.

The means of a few blocks spread less about the mean of all windows than about the true mean, especially if losses last
long. The delays show by how much: for independent tuples they give the share of a window's losses that another window
has, too. That gives the spread of both means up to a factor, which is measured.

References
----------
.. [1] Politis, Romano. A circular block-resampling procedure for stationary data. 1992.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.windows.windows import Windows

_SAMPLE = 100_000
"""The approximate number of delays from which the overlap is computed."""

_LONGER, _BLOCKS = 2, 3
"""The windows of a block beyond those over one point in time, and the least number of blocks."""


@dataclass(frozen=True, eq=False)
class LossOverlap:
    """The common losses of windows, where tuples are delayed independently.

    Attributes
    ----------
    delays : ndarray, shape (d,), ascending
        In ms.
    """

    delays: Ints

    @staticmethod
    def from_delays(delays: Ints) -> LossOverlap:
        """Build the overlap from delays in any order."""
        return LossOverlap(np.sort(delays[:: len(delays) // _SAMPLE + 1]))

    def shares(self, durations: Ints, apart: Ints, size_ms: int) -> Floats:
        """Return the share of a window's losses that are also losses of another window, which ends some ms apart.

        A tuple that comes t after its window's end is lost with a wait d < t; ages are distributed uniformly.

        Parameters
        ----------
        durations : ndarray, shape (m,)
            The waits, in ms.
        apart : ndarray, shape (k,)

        Returns
        -------
        ndarray, shape (m, k)
        """
        until = self._mean_up_to(durations + size_ms)[:, None]
        common = until - self._mean_up_to(durations[:, None] + np.minimum(apart, size_ms))
        lost = until - self._mean_up_to(durations)[:, None]
        return np.divide(common, lost, out=np.zeros_like(common), where=lost > 0)

    def _mean_up_to(self, limit: Ints) -> Floats:
        """Return the mean of the delays, each at most `limit`."""
        below = np.searchsorted(self.delays, limit)
        sums = np.append(0.0, np.cumsum(self.delays, dtype=np.float64))
        return np.asarray((sums[below] + limit * (len(self.delays) - below)) / max(len(self.delays), 1))


def standard_errors(windows: Windows, durations: Ints, ends: Ints, quality: Floats, overlap: LossOverlap) -> Floats:
    """Return the standard error of the mean quality with each duration, shape (m,).

    Parameters
    ----------
    durations : ndarray, shape (m,)
    ends : ndarray, shape (n,)
        The ends of the windows, in ms, ascending; n ≥ 2.
    quality : ndarray, shape (m, n)
    """
    n, over = len(ends), windows.size_ms // windows.slide_ms
    block = max(min(over + _LONGER, n // _BLOCKS), 1)
    around = np.concatenate([quality, quality[:, : block - 1]], axis=1)
    sums = np.cumsum(np.concatenate([np.zeros((len(quality), 1)), around], axis=1), axis=1)
    means = (sums[:, block:] - sums[:, :-block]) / block
    spread = ((means - quality.mean(axis=1, keepdims=True)) ** 2).mean(axis=1)

    alike = overlap.shares(durations, np.arange(over + 1) * windows.slide_ms, windows.size_ms)
    number = windows.number(ends)
    of_mean, of_block = np.full(len(quality), 1 / n), np.full(len(quality), 1 / block)
    for lag in range(1, min(over + 1, n)):
        steps = np.minimum(number[lag:] - number[:-lag], over)
        common = 2 * (alike @ np.bincount(steps, minlength=over + 1)) / n
        of_mean += common / n
        of_block += common * max(block - lag, 0) / block**2
    return np.asarray(np.sqrt(spread * of_mean / np.maximum(of_block - of_mean, of_block / n)))
