"""Which level keeps a promise: by how many answers each would have broken it, and by what is broken already."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.disorder.policy import PolicyState
from tailrace.disorder.quantile.what_if import LEVELS
from tailrace.disorder.tick_statistics import Floats

MEMORY = 3_000
"""Windows that the shares go by."""

_TOGETHER = 60  # windows that may be off for one reason, as a burst
_DOUBT = 0.5  # standard errors by which a share may be more than it seems
_UNSEEN = 3.0  # windows that count as bad beforehand: of n good ones less than 3 / n are off, with 95 % confidence
_GOAL = 0.82  # of the risk: what is used of it in the long run
_DEBT = 0.4  # of what MEMORY windows may break: when so many more are off than the goal allows,
_LEAST = 0.4  # levels are held to this part of the risk

_SUMS, _NUMBERS = ("off", "apart", "squares"), ("answers", "windows", "credit")


@dataclass
class ErrorBudget:
    """What each level would have broken, and what was broken indeed.

    Attributes
    ----------
    off, apart, squares : ndarray, shape (s,)
        Decaying sums over windows: answers that are off with each level; by how many more, of late, than their share
        tells; and of the squares of that.
    answers, windows : float
        Decaying sums of answers, and of windows.
    credit : float
        How many windows fewer have been off than the goal allows; negative: a debt.
    """

    off: Floats
    apart: Floats
    squares: Floats
    answers: float
    windows: float
    credit: float

    @staticmethod
    def restore(state: PolicyState) -> ErrorBudget:
        sums = (state.get(name, np.zeros(len(LEVELS))) for name in _SUMS)
        return ErrorBudget(*sums, *(state.get(name, 0.0) for name in _NUMBERS))

    def checkpoint(self) -> PolicyState:
        return {name: getattr(self, name) for name in (*_SUMS, *_NUMBERS)}

    def add(self, off: Floats, really: int, answers: int, risk: float) -> None:
        """A window: how many of its answers are off with each level, shape (s,), and how many are really."""
        decay, near = 1 - 1 / MEMORY, 1 - 1 / _TOGETHER
        self.off = decay * self.off + off
        self.answers = decay * self.answers + answers
        self.windows = decay * self.windows + 1
        self.apart = near * self.apart + off - answers * self.off / self.answers
        self.squares = decay * self.squares + self.apart**2
        self.credit = (1 - 1 / (2 * MEMORY)) * self.credit + _GOAL * risk - really / answers

    def level(self, error: float, risk: float) -> float:
        """The largest level that keeps the promise.

        Before any window is judged it is `error` · `risk`: with a level a window lacks that part of its tuples on
        average, or less, so that by Markov's inequality no more than level / `error` of the windows lack as much as
        `error`. From n windows, of which a share is off, the share with a level is taken to be

            (n · share + 3 · min(level / `error`, 1)) / (n + 3) + doubt,

        as if three windows more had been seen, as bad as Markov's inequality allows. While all windows are good the
        level rises by `error` · `risk` with each three of them; from level ≥ `error` on it is the rule of three. What
        three windows weigh fades with 1 / n, and the doubt, that of a sample, with 1 / √n.
        """
        careful = error * risk
        if not self.windows:
            return careful
        # Near windows are off together. The variance of sums over near ones, (1 − near²) · squares, has that in it.
        near = 1 - 1 / _TOGETHER
        doubt = _DOUBT * np.sqrt((1 - near**2) * self.squares) / self.answers
        worst, known = np.minimum(LEVELS / error, 1), self.windows / (self.windows + _UNSEEN)
        measured = known * self.off / self.answers + doubt
        share = np.minimum.accumulate(measured + (1 - known) * worst)
        allowed = risk * min(max(1 + self.credit / (_DEBT * MEMORY * risk), _LEAST), 1.0)
        i = int(np.argmax(share <= allowed))
        if share[i] > allowed:
            return min(careful, float(LEVELS[np.argmin(measured)]))
        if not i:
            return float(LEVELS[0])
        part = (allowed - share[i]) / (share[i - 1] - share[i])
        return float(LEVELS[i] * (LEVELS[i - 1] / LEVELS[i]) ** part)
