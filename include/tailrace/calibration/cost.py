"""The cost of each wait: of the seconds that answers come later, and of the tuples that come too late all the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tailrace.calibration.two_scales.choice import Choice
from tailrace.ground.columns import Floats, Ints
from tailrace.query.calibration_section import CostSection


@dataclass(frozen=True, eq=False)
class WaitCosts:
    """The cost a window of each wait.

    A longer wait delays every window, and makes fewer tuples late: it pays while the tuples that it saves cost more
    than the time (the newsvendor problem [1]_).

    Attributes
    ----------
    prices : CostSection
    need : ndarray, shape (n,)
        The shortest wait with which each tuple of the windows is in time for all its windows, in ms.
    windows : int
        The number of windows over which the tuples are spread.

    References
    ----------
    .. [1] Arrow, Harris, Marschak. Optimal inventory policy. Econometrica 19(3), 1951.
    """

    prices: CostSection
    need: Ints
    windows: int

    def cost(self, waits: Ints) -> Floats:
        """Return the cost a window with each wait (ms), shape (d,)."""
        late = len(self._late) - np.searchsorted(self._late, waits, side="right")
        return np.asarray(self.prices.waiting * waits / 1000 + self.prices.correcting * late / self.windows)

    def cheapest(self, least_ms: int) -> int:
        """Return the cheapest wait of at least `least_ms`, the shortest one if several cost the same."""
        waits = np.unique(np.append(self._late[self._late > least_ms], least_ms))
        return int(waits[int(np.argmin(self.cost(waits)))])

    def priced(self, choice: Choice) -> Choice:
        """Return a choice with the cheapest K that keeps the promise."""
        k_ms = self.cheapest(choice.k_ms)
        upper_ms = max(choice.upper_ms, k_ms)
        return choice._replace(k_ms=k_ms, upper_ms=upper_ms, promise_ms=choice.k_ms, cost=self.cost)

    @cached_property
    def _late(self) -> Ints:
        """The waits that tuples need, ascending, without those that need none."""
        return np.sort(self.need[self.need > 0])
