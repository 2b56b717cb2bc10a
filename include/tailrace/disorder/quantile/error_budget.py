"""Chooses the level that keeps a promise, by the simulated errors of each level and the actual errors so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.disorder.error_model import Floats
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.quantile.what_if import LEVELS

MEMORY = 3_000
"""Memory of the shares of wrong answers, in windows."""

_NEAR = 60  # windows that may be off for the same reason, such as a burst
_MARGIN = 0.5  # standard errors that are added to a measured share
_PRIOR = 3.0  # windows that count as bad in advance: if n are good, less than 3 / n are off, with 95 % confidence
_GOAL = 0.82  # the part of the risk that is used in the long run
_MAX_DEBT = 0.4  # a debt of this part of the windows that may be off in MEMORY would use up the whole risk
_MIN_RISK = 0.4  # the part of the risk that levels may use even with a large debt

_SUMS, _NUMBERS = ("off", "apart", "squares"), ("answers", "windows", "credit")


@dataclass
class ErrorBudget:
    """Decaying counts of the answers that are wrong with each level in simulation, and of actually wrong answers.

    It covers one column of answers, whose `name` is in its state.

    Attributes
    ----------
    off, apart, squares : ndarray, shape (s,)
        Decaying sums over windows, by level: the answers that are off, their recent excess over the number that their
        share predicts, and the squares of that excess.
    answers, windows : float
        Decaying sums of answers, and of windows.
    credit : float
        The number of windows that may still be off before the goal is missed; a negative number is a debt.
    """

    off: Floats
    apart: Floats
    squares: Floats
    answers: float
    windows: float
    credit: float

    @staticmethod
    def restore(state: PolicyState, name: str) -> ErrorBudget:
        sums = (state.get(f"{part}_{name}", np.zeros(len(LEVELS))) for part in _SUMS)
        return ErrorBudget(*sums, *(state.get(f"{part}_{name}", 0.0) for part in _NUMBERS))

    def checkpoint(self, name: str) -> PolicyState:
        return {f"{part}_{name}": getattr(self, part) for part in (*_SUMS, *_NUMBERS)}

    def add(self, off: Floats, actual: int, answers: int, risk: float) -> None:
        """Add a window: the number of answers off with each level, shape (s,), and the number actually off."""
        decay, near = 1 - 1 / MEMORY, 1 - 1 / _NEAR
        self.off = decay * self.off + off
        self.answers = decay * self.answers + answers
        self.windows = decay * self.windows + 1
        self.apart = near * self.apart + off - answers * self.off / self.answers
        self.squares = decay * self.squares + self.apart**2
        self.credit = (1 - 1 / (2 * MEMORY)) * self.credit + _GOAL * risk - actual / answers

    def level(self, error: float, risk: float) -> float:
        """Return the largest level that keeps the promise.

        Before any window is judged it is `error` · `risk`. With a given level, windows lack on average at most that
        share of their tuples, so by Markov's inequality at most level / `error` of the windows lack a share of `error`
        or more. After n windows, the estimate of the share that is off with a level is

            (n · share + 3 · min(level / `error`, 1)) / (n + 3) + doubt,

        as if there had been three more windows, as bad as Markov's inequality allows. While all windows are good, the
        level rises by `error` · `risk` with every three of them; from level ≥ `error` on this is the rule of three. The
        weight of the three windows fades with 1 / n, and the doubt, a sampling error, with 1 / √n.
        """
        safe_level = error * risk
        if not self.windows:
            return safe_level
        # Near windows are off together. (1 − near²) · squares, the variance of sums over near windows, includes their
        # correlation.
        near = 1 - 1 / _NEAR
        doubt = _MARGIN * np.sqrt((1 - near**2) * self.squares) / self.answers
        worst, weight = np.minimum(LEVELS / error, 1), self.windows / (self.windows + _PRIOR)
        measured = weight * self.off / self.answers + doubt
        share = np.minimum.accumulate(measured + (1 - weight) * worst)
        allowed = risk * min(max(1 + self.credit / (_MAX_DEBT * MEMORY * risk), _MIN_RISK), 1.0)
        i = int(np.argmax(share <= allowed))
        if share[i] > allowed:
            return min(safe_level, float(LEVELS[np.argmin(measured)]))
        if not i:
            return float(LEVELS[0])
        part = (allowed - share[i]) / (share[i - 1] - share[i])
        return float(LEVELS[i] * (LEVELS[i - 1] / LEVELS[i]) ** part)
