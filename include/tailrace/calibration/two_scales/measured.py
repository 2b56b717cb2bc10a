"""Calibration of aggregates and pairs, in which each tuple counts: K follows from the measured losses.

A ranking holds few tuples, and needs a model of the others' delays (`estimator.TwoScales`). An aggregate changes with
each of its tuples, and a join's recall with each pair, so the newest n windows have thousands of losses to measure.
Two scales of time are left: the losses come from the newest windows, and older ones are added, back to the newest
change of the delays, as long as the interval of K is too wide. Their length also says how long bursts last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tailrace.calibration.two_scales.blocks import block_length
from tailrace.calibration.two_scales.choice import Priced, listed_waits, narrowest, unpriced
from tailrace.calibration.two_scales.estimate import Estimate
from tailrace.calibration.two_scales.level_change import newest_change
from tailrace.calibration.two_scales.loss_sample import LossSample
from tailrace.calibration.two_scales.measured_fit import MeasuredFit
from tailrace.calibration.two_scales.sample import sums_by_number


@dataclass(frozen=True)
class MeasuredLosses:
    """The estimator, without state.

    Attributes
    ----------
    size_ms, unit_ms : int
        The length of a window, and of a unit of time: the distance of neighbouring windows.
    queries : int
        n, the least number of windows for K.
    accuracy : float
        ε, the least mean accuracy, in (0, 1].
    tick_ms : int
        A tick of arrival, at least 1.
    """

    size_ms: int
    unit_ms: int
    queries: int
    accuracy: float
    tick_ms: int = 1

    def estimate(
        self, sample: LossSample, durations: int, k_ms: int | None = None, priced: Priced = unpriced
    ) -> Estimate:
        """Estimate K from the complete windows of a sample, of which there must be at least `queries`.

        Parameters
        ----------
        durations : int
            The number of waits for which the estimate holds the accuracy, K and the given one among them.
        priced : callable
            Lengthens K where that is cheaper.
        """
        since = self._newest_change(sample)
        choice = priced(narrowest(self._fits(sample, since), 1 - self.accuracy))
        waits = listed_waits(durations, choice, k_ms, self.tick_ms)
        fit = choice.fit
        return Estimate(
            choice.k_ms,
            choice.lower_ms,
            choice.upper_ms,
            choice.is_narrow,
            choice.windows,
            choice.windows,
            1.0,
            False,
            since,
            waits,
            1 - fit.loss(waits),
            fit.error(waits),
            choice.promise_ms,
            choice.costs(waits),
        )

    def _newest_change(self, sample: LossSample) -> int | None:
        """Return the event time (ms) of the newest change of the tuples' delays; None without a change."""
        low = int(sample.ends[0]) - self.size_ms
        inside = (sample.event >= low) & (sample.event < int(sample.ends[-1]))
        units, unit = np.unique((sample.event[inside] - low) // self.unit_ms, return_inverse=True)
        totals = sums_by_number(unit, np.log(sample.delay[inside] + float(self.tick_ms)))
        change = newest_change(totals / sums_by_number(unit, np.ones(len(unit))))
        return low + int(units[change]) * self.unit_ms if change else None

    def _fits(self, sample: LossSample, since: int | None) -> Iterator[tuple[MeasuredFit, int]]:
        """Yield the fits by the newest n windows, then by twice as many each time, back to the newest change.

        Blocks are longer than a burst, whose length all windows since the change show.
        """
        available = len(sample.ends)
        if since is not None:
            available = max(int((sample.ends - self.size_ms >= since).sum()), 1)
        longest, count = MeasuredFit(sample.newest(available), self.unit_ms), min(self.queries, available)
        while True:
            fit = MeasuredFit(sample.newest(count), self.unit_ms)
            block = block_length(longest.series(fit.wait(1 - self.accuracy)))
            yield replace(fit, block=min(block, fit.units)), count
            if count >= available:
                return
            count = min(2 * count, available)
