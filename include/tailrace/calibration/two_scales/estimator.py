"""Calibration by two time scales: solves the expected loss of accuracy for the slack K (allowed lateness).

A top-k answer holds few tuples; with 30 windows, their delays alone determine K only to a factor of two. All tuples of
these windows determine the *level* S(d), the share delayed by at least d, much better. Winners may be delayed
differently from other tuples: their *hazard ratio* γ says by how much. It changes slowly, so it can be measured over
thousands of older windows.
A wait d then loses E[S(d + u)^γ] of the accuracy, where u is a winner's age at its window's end.

- S comes from the newest n windows. While the interval of K is too wide, older windows are added, but none from before
  the newest change.
- γ and the ages of winners only count if they differ significantly from the values of all tuples.
- If γ < 0.5, or the winners' losses contradict the model, K is a quantile of the winners' own delays less their ages,
  over all windows since the change. Fewer than 720 windows count as not enough history.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailrace.calibration.two_scales.blocks import SURE, block_length, exceeds
from tailrace.calibration.two_scales.choice import Priced, listed_waits, narrowest, unpriced
from tailrace.calibration.two_scales.estimate import Estimate
from tailrace.calibration.two_scales.expected_loss import Ages, losses, shortest_wait
from tailrace.calibration.two_scales.fits import Fit, LevelFit, WinnersAges, WinnersFit
from tailrace.calibration.two_scales.hazard_ratio import HazardRatio
from tailrace.calibration.two_scales.level_change import newest_change
from tailrace.calibration.two_scales.sample import DelaySample, sums_by_number
from tailrace.calibration.two_scales.survival import DelayLevel
from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.windows.windows import Windows

Mask = NDArray[np.bool_]

MANY = 720
"""The number of windows below which K by winners alone never counts as narrow."""

_LEAST_RATIO = 0.5  # below this γ the model does not hold
_MOST_BLOCKS, _AGES = 256, 20_000
_LONGER = 2  # windows of a block beyond those over one point in time


@dataclass(frozen=True)
class TwoScales:
    """The estimator, without state.

    Attributes
    ----------
    queries : int
        n, the least number of windows for the level.
    accuracy : float
        ε, the least mean accuracy, in (0, 1].
    tick_ms : int
        A tick of arrival, at least 1.
    """

    windows: Windows
    queries: int
    accuracy: float
    tick_ms: int = 1

    def estimate(
        self, sample: DelaySample, durations: int, k_ms: int | None = None, priced: Priced = unpriced
    ) -> Estimate:
        """Estimate K from the complete windows of a sample, which must be at least `queries`.

        Parameters
        ----------
        durations : int
            The number of waits for which the estimate gives the accuracy, K and the given one among them.
        priced : callable
            Lengthens K if that is cheaper.
        """
        return _Estimation(self, sample).estimate(durations, k_ms, priced)


class _Estimation:
    """The estimation over one sample."""

    def __init__(self, settings: TwoScales, sample: DelaySample) -> None:
        self.settings, self.sample, self.windows = settings, sample, settings.windows
        self.ends, self.window = np.unique(sample.winners.end, return_inverse=True)
        self.allowed = 1 - settings.accuracy
        self.over = -(-self.windows.size_ms // self.windows.slide_ms)
        low, high = int(self.windows.start(int(self.ends[0]))), int(self.ends[-1])
        self.inside = np.flatnonzero((sample.event >= low) & (sample.event < high))
        self.event, self.delay = sample.event[self.inside], sample.delay[self.inside]
        self.weight = sample.weight[self.inside]
        self.units, self.unit = np.unique((self.event - low) // self.windows.slide_ms, return_inverse=True)
        self.low = low
        self.hazards = np.ones(len(sample.event))
        self.hazards[self.inside] = cumulative_hazards(self.event, self.delay, self.weight)

    def estimate(self, durations: int, k_ms: int | None, priced: Priced) -> Estimate:
        change = newest_change(self._unit_means(np.log(self.delay + float(self.settings.tick_ms))))
        since = self.low + int(self.units[change]) * self.windows.slide_ms if change else None
        ratio = self._ratio()
        choice = narrowest(self._level_fits(change, ratio), self.allowed)
        by_winners = ratio.value < _LEAST_RATIO or self._contradicts(choice.fit, ratio.value, choice.k_ms)
        if by_winners:
            choice = narrowest([self._winners_fit(since)], self.allowed)
            choice = choice._replace(is_narrow=choice.is_narrow and choice.windows >= MANY)
        choice = priced(choice)
        fit, windows, k, low, high, is_narrow, promise, _ = choice
        waits = listed_waits(durations, choice, k_ms, self.settings.tick_ms)
        loss, error = fit.loss(waits), fit.error(waits)
        of_winners = windows if by_winners else len(self.ends)
        used = ratio.measured if by_winners else ratio.value
        determined = k, low, high, is_narrow, windows, of_winners, used, by_winners
        return Estimate(*determined, since, waits, 1 - loss, error, promise, choice.costs(waits))

    def _level_fits(self, change: int, ratio: HazardRatio) -> Iterator[tuple[LevelFit, int]]:
        """Yield the fits to the newest n windows, then to twice as many each time, back to the newest change."""
        starts = self.windows.start(self.ends)
        since = int(self.units[change]) * self.windows.slide_ms + self.low
        available = max(int((starts >= since).sum()), 1)
        count = min(self.settings.queries, available)
        chosen = None
        while True:
            recent = self.event >= (since if count >= available else int(starts[-count]))
            level = self._level(recent, np.zeros(int(recent.sum()), np.int64))
            chosen = chosen or self._ages(level)
            block = self._blocks(change, self.unit[recent], level, chosen[0])
            yield LevelFit(self._level(recent, block), ratio, *chosen), count
            if count >= available:
                return
            count = min(2 * count, available)

    def _level(self, recent: Mask, block: Ints) -> DelayLevel:
        return DelayLevel.from_delays(self.delay[recent], self.weight[recent], block)

    def _blocks(self, change: int, unit: Ints, level: DelayLevel, ages: Ages) -> Ints:
        """Return the block index of each tuple, given its unit of event time; a block is longer than a burst.

        Its length follows from the losses of all units since the change, with the wait that the level needs.
        """
        wait = shortest_wait(level.delays, level.steps(np.ones(1))[0], ages, self.allowed)
        series = self._unit_means(ages.at_most(self.delay - wait))[change:]
        newest, number = int(unit.max()), int(unit.max() - unit.min()) + 1
        length = max(block_length(series), -(-number // _MOST_BLOCKS))
        return np.asarray((newest - unit) // length)

    def _winners_fit(self, since: int | None) -> tuple[WinnersFit, int]:
        """Return the fit by winners alone, to all windows after the change."""
        is_recent = np.ones(len(self.ends), bool) if since is None else self.windows.start(self.ends) >= since
        count = max(int(is_recent.sum()), 1)
        first = len(self.ends) - count
        chosen = self.window >= first
        needed = self.sample.delay[self.sample.winners.row] - self.sample.age
        fit = WinnersFit(
            needed[chosen], self.window[chosen] - first, self.sample.winners.share[chosen], self.over + _LONGER
        )
        return fit, count

    def _ratio(self) -> HazardRatio:
        """Return the winners' hazard ratio among their contemporaries, over all windows."""
        winners = self.sample.winners
        hazard = sums_by_number(self.window, winners.share * self.hazards[winners.row])
        return HazardRatio(hazard, block_length(hazard, self.over + _LONGER))

    def _ages(self, level: DelayLevel) -> tuple[Ages, WinnersAges]:
        """Return the ages to use (the winners' only if losses differ significantly), and the winners' own ages."""
        winners, age = self.sample.winners, self.sample.age
        chosen = slice(None, None, len(self.event) // _AGES + 1)
        row, end = self.windows.ends(self.windows.pane(self.event[chosen]), None, None)
        of_all = Ages.from_shares(end - self.event[chosen][row], self.weight[chosen][row])
        steps = level.steps(np.ones(1))
        wait = shortest_wait(level.delays, steps[0], of_all, self.allowed)
        lost = sums_by_number(self.window, winners.share * level.survival(age + wait))
        excess = lost - losses(level.delays, steps, of_all, np.array([wait]))[0, 0]
        differ = exceeds(excess, self.over + _LONGER, SURE)
        of_winners = WinnersAges(age, self.window, winners.share, self.over + _LONGER, differ)
        return Ages.from_shares(age, winners.share) if differ else of_all, of_winners

    def _contradicts(self, fit: Fit, ratio: float, k_ms: int) -> bool:
        """Test whether the winners' ranks contradict the model at the delays that determine K."""
        assert isinstance(fit, LevelFit)
        winners = self.sample.winners
        survival = fit.level.survival(self.sample.age + k_ms)
        is_later = np.exp(-self.hazards[winners.row]) < survival
        excess = sums_by_number(self.window, winners.share * (is_later - survival**ratio))
        return exceeds(excess, self.over + _LONGER, SURE)

    def _unit_means(self, value: Floats) -> Floats:
        """Return the weighted mean of the tuples' values in each unit of event time, which is as long as a slide."""
        return np.asarray(sums_by_number(self.unit, value * self.weight) / sums_by_number(self.unit, self.weight))


# Delays change along a stream, while the rank of a delay among its contemporaries does not depend on their scale. Of
# any tuples the mean cumulative hazard is 1 by construction; it is greater for a set of tuples that come later than
# others do. By ranks these are Savage's scores, with weights the estimate of Nelson and Aalen [1]_.
#
# References
# ----------
# .. [1] Aalen. Nonparametric inference for a family of counting processes. Annals of Statistics 6(4), 1978.

CONTEMPORARIES = 200
"""The number of tuples with neighbouring event times that are compared with each other."""


def cumulative_hazards(event: Ints, delay: Ints, weight: Floats, size: int = CONTEMPORARIES) -> Floats:
    """Return the cumulative hazard of each tuple's delay among its contemporaries, shape (n,).

    Tuples of equal delays share the mean of their hazards.

    Parameters
    ----------
    event, delay, weight : ndarray, shape (n,)
        Weights are positive.
    size : int
        The least number of tuples that are compared with each other, if there are as many.
    """
    n = len(event)
    if not n:
        return np.zeros(0)
    group = np.empty(n, np.int64)
    group[np.argsort(event, kind="stable")] = np.minimum(np.arange(n) // size, max(n // size - 1, 0))
    order = np.lexsort((delay, group))
    group, delay, weight = group[order], delay[order], weight[order]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    at_risk = _sums_from(weight, first, np.diff(first, append=n))
    hazard = np.cumsum(weight / at_risk)
    hazard -= np.repeat(hazard[first] - weight[first] / at_risk[first], np.diff(first, append=n))
    tie = np.flatnonzero((np.diff(group, prepend=-1) != 0) | (np.diff(delay, prepend=-1) != 0))
    mean = np.add.reduceat(hazard * weight, tie) / np.add.reduceat(weight, tie)
    result = np.empty(n)
    result[order] = np.repeat(mean, np.diff(tie, append=n))
    return result


def _sums_from(weight: Floats, first: Ints, counts: Ints) -> Floats:
    """Return the sum of the weights from each row to the end of its group; groups begin at `first`."""
    before = np.cumsum(weight) - weight
    total = np.add.reduceat(weight, first)
    return np.asarray(np.maximum(np.repeat(before[first] + total, counts) - before, weight))
