"""Two fits of the expected loss of each wait to a sample: by level and hazard ratio, and by winners alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from tailrace.calibration.two_scales.blocks import SURE, Z_90, block_length, error_of_mean, pretest_share, t_quantile
from tailrace.calibration.two_scales.expected_loss import Ages, losses, shortest_wait
from tailrace.calibration.two_scales.hazard_ratio import HazardRatio
from tailrace.calibration.two_scales.sample import sums_by_number
from tailrace.calibration.two_scales.survival import DelayLevel
from tailrace.ground.arrow.columns import Floats, Ints

_RESAMPLES, _SEED = 200, 1


class Fit(Protocol):
    """The expected loss of accuracy with each wait, and its error."""

    @property
    def blocks(self) -> int:
        """The number of blocks from which the error is computed."""

    def loss(self, waits: Ints) -> Floats:
        """Return the expected loss with each wait, shape (d,)."""

    def error(self, waits: Ints) -> Floats:
        """Return the standard error of each loss, shape (d,); infinite if there are too few blocks."""

    def wait(self, allowed: float) -> int:
        """Return the shortest wait with at most the allowed loss, in ms."""


@dataclass(frozen=True, eq=False)
class LevelFit:
    """The loss E[S(d + u)^γ], with S from the newest windows, and γ and the ages u from all windows."""

    level: DelayLevel
    ratio: HazardRatio
    ages: Ages
    winners: WinnersAges

    @property
    def blocks(self) -> int:
        return self.level.blocks

    @cached_property
    def _steps(self) -> Floats:
        return self.level.steps(np.array([self.ratio.value]))

    @cached_property
    def _resampled(self) -> Floats:
        rng, blocks = np.random.default_rng(_SEED), self.blocks
        counts = rng.multinomial(blocks, np.full(blocks, 1 / blocks), _RESAMPLES).astype(np.float64)
        return self.level.steps(self.ratio.resampled(_RESAMPLES, rng), counts)

    def loss(self, waits: Ints) -> Floats:
        return np.asarray(losses(self.level.delays, self._steps, self.ages, waits)[0])

    def error(self, waits: Ints) -> Floats:
        if self.blocks == 1:
            return np.full(len(waits), np.inf)
        spread = losses(self.level.delays, self._resampled, self.ages, waits).std(axis=0)
        of_level = spread * math.sqrt(self.blocks / (self.blocks - 1))
        of_ages = self.winners.error(self.level, self.ratio.value, waits)
        return np.asarray(np.hypot(of_level, of_ages))

    def wait(self, allowed: float) -> int:
        return shortest_wait(self.level.delays, self._steps[0], self.ages, allowed)


@dataclass(frozen=True, eq=False)
class WinnersAges:
    """The ages of the winners of n windows, and the error of a loss that follows from them.

    Attributes
    ----------
    age, window, share : ndarray, shape (m,)
        Ages in ms, the number of the window from 0 on, and the share of each winner in it.
    block : int
        The number of neighbouring windows that count as one observation.
    are_significant : bool
        Whether the loss by winners' ages differs significantly from the loss by all tuples' ages; if not, these count.
    """

    age: Ints
    window: Ints
    share: Floats
    block: int
    are_significant: bool

    def error(self, level: DelayLevel, hazard_ratio: float, waits: Ints) -> Floats:
        """Return the standard error of the loss with each wait, given the level, shape (d,)."""
        errors = []
        for wait in waits.tolist():
            lost = self.share * level.survival(self.age + wait) ** hazard_ratio
            errors.append(error_of_mean(sums_by_number(self.window, lost), self.block))
        return np.array(errors) * (1.0 if self.are_significant else pretest_share(SURE))


@dataclass(frozen=True, eq=False)
class WinnersFit:
    """The share of the winners of n windows that each wait loses, measured without a model.

    Attributes
    ----------
    needed, window, share : ndarray, shape (m,)
        For each winner: its delay less its age, in ms (it is lost with this wait or a shorter one); the number of its
        window, from 0 on; and its share in the window.
    block : int
        The least number of neighbouring windows that count as one observation.
    """

    needed: Ints
    window: Ints
    share: Floats
    block: int

    @property
    def _windows(self) -> int:
        return int(self.window[-1]) + 1

    @cached_property
    def _length(self) -> int:
        return block_length(self._lost(int(np.median(self.needed))), self.block)

    @property
    def blocks(self) -> int:
        return self._windows // self._length

    def loss(self, waits: Ints) -> Floats:
        return np.array([self._lost(wait).mean() for wait in waits.tolist()])

    def error(self, waits: Ints) -> Floats:
        return np.array([error_of_mean(self._lost(wait), self._length) for wait in waits.tolist()])

    def wait(self, allowed: float) -> int:
        order = np.argsort(self.needed)[::-1]
        lost = np.cumsum(self.share[order]) / self._windows
        first = int(np.searchsorted(lost, allowed * (1 + 1e-9), side="right"))
        return max(int(self.needed[order][first]) + 1, 0) if first < len(order) else 0

    def _lost(self, wait: int) -> Floats:
        return sums_by_number(self.window, self.share * (self.needed >= wait), self._windows)


def interval(fit: Fit, k_ms: int, allowed: float) -> tuple[int, int, float]:
    """Return the 90 % interval of the wait with the allowed loss, and half the loss interval of K.

    The loss of a wait is known up to a factor. The ends of the interval are the waits for the allowed loss, multiplied
    and divided by this factor.
    """
    loss, error = float(fit.loss(np.array([k_ms]))[0]), float(fit.error(np.array([k_ms]))[0])
    if loss == 0 and math.isfinite(error) and (allowed > 0 or not k_ms):
        return k_ms, k_ms, 0.0
    if not math.isfinite(error) or not allowed:  # without losses K is the longest delay so far
        return 0, max(k_ms, fit.wait(0.0)), math.inf
    quantile = t_quantile(Z_90, fit.blocks)
    factor = math.exp(quantile * math.sqrt(math.log1p((error / loss) ** 2)))
    return fit.wait(allowed * factor), fit.wait(allowed / factor), loss * (factor - 1)
