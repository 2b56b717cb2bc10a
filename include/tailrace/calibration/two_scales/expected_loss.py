"""The expected loss of accuracy with a wait d: E[S(d + u)^γ] over the ages u of winners, and its inversion.

A winner of age u is lost if its delay is at least d + u. With delays distributed by S^γ and independent ages, the loss
is P(delay − age ≥ d). The wait that keeps an accuracy is a quantile of this difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.ground.arrow.columns import Floats, Ints


@dataclass(frozen=True, eq=False)
class Ages:
    """The distribution of the ages of tuples (winners, or all) at the ends of their windows.

    Attributes
    ----------
    ages : ndarray, shape (n,)
        In ms, ascending.
    until : ndarray, shape (n + 1,)
        The share of these tuples with a smaller age, for each age; then 1.
    """

    ages: Ints
    until: Floats

    @staticmethod
    def from_shares(age: Ints, share: Floats) -> Ages:
        """Build the distribution of ages (in any order), each with its share of the whole."""
        order = np.argsort(age)
        sums = np.append(0.0, np.cumsum(share[order]))
        return Ages(age[order], sums / sums[-1])

    def at_most(self, limit: Ints) -> Floats:
        """Return the share of these tuples with at most this age, in the shape of `limit`."""
        return np.asarray(self.until[np.searchsorted(self.ages, limit, side="right")])


def losses(delays: Ints, steps: Floats, ages: Ages, waits: Ints) -> Floats:
    """Return the expected loss with each wait (ms), shape (r, d).

    Parameters
    ----------
    delays : ndarray, shape (n,)
    steps : ndarray, shape (r, n)
        The probability of each delay, in each of r rows.
    waits : ndarray, shape (d,)
    """
    return np.asarray(steps @ ages.at_most(delays[:, None] - waits[None, :]))


def shortest_wait(delays: Ints, steps: Floats, ages: Ages, allowed: float) -> int:
    """Return the shortest wait (ms, at least 0) with at most the allowed loss.

    The loss falls with the wait, and is 0 beyond the longest delay.

    Parameters
    ----------
    steps : ndarray, shape (n,)
    """
    low, high = -1, int(delays[-1])
    while high - low > 1:
        middle = (low + high) // 2
        if losses(delays, steps[None], ages, np.array([middle]))[0, 0] <= allowed:
            high = middle
        else:
            low = middle
    return high
