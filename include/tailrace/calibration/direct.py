"""Direct calibration: estimates the slack K (allowed lateness) from the newest complete windows, in one pass.

A window is complete when K has passed, and almost none of its tuples are missing. The sample depends on the kind of
answers: `recent_winners` is for rankings, `recent_losses` for aggregates and pairs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Generic, TypeVar

import numpy as np

from tailrace.calibration.recent_windows import not_ready
from tailrace.calibration.two_scales.choice import Choice, Priced, unpriced
from tailrace.calibration.two_scales.estimate import Estimate
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.kind.protocol import WindowedKind
from tailrace.query.calibration_section import CostSection

OLDER = 2_000
"""The number of windows to read first, by default, if history holds enough."""

MOST = 16_000
"""The most windows that are read for a narrower interval."""

S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class Estimated:
    """An estimate, the end (ms) of its newest window, and the longest delay (ms) that was read."""

    estimate: Estimate
    up_to: int
    longest_ms: int


@dataclass(frozen=True, eq=False)
class ReadSample(Generic[S]):
    """A sample that is read from history at once, and the longest delay (ms) in it."""

    sample: S
    longest_ms: int


class DirectCalibration(ABC, Generic[S]):
    """Estimates K from the newest complete windows of history; older ones are read while they help.

    Parameters
    ----------
    older : int
        The number of windows to read first; fewer if they have too many rows.
    prices : CostSection or None
        The prices of waiting and correcting; K is the cheapest one that keeps the accuracy.
    """

    windows_in_words: ClassVar[str] = "windows"

    def __init__(self, kind: WindowedKind, policy: CacheDuration, older: int, prices: CostSection | None) -> None:
        self.kind, self.policy, self.older, self.prices = kind, policy, max(older, policy.queries), prices

    def estimate(self, k_ms: int | None) -> Estimated:
        """Estimate K, and the accuracy with K, with the one in force, and with other waits.

        Raises
        ------
        NotReady
            When there are fewer than n complete windows.
        Refused
            When history is refused, such as for too many rows.
        """
        settling, count = 0, self.older
        while True:
            known = settling
            low, is_last = self._readable_start(settling, count)
            estimated, settling, complete = self._settled(self._read(low), settling, k_ms)
            if estimated is not None and (is_last or count >= MOST or _is_final(estimated.estimate)):
                return estimated
            if is_last and settling == known:
                raise not_ready(self.windows_in_words, self.policy.queries, complete, settling)
            if not is_last:  # otherwise older windows are read, as the newest are not complete
                count *= 2

    def _settled(self, read: ReadSample[S], settling: int, k_ms: int | None) -> tuple[Estimated | None, int, int]:
        """Estimate K over windows that are old enough to be complete; None if there are too few.

        Also return the age at which they are complete (ms, at least the given one), and their number.
        """
        while True:
            complete = self._complete(read.sample, settling)
            ends = self._ends(complete)
            if len(ends) < self.policy.queries:
                return None, settling, len(ends)
            needed = self._settling(complete, int(ends[-self.policy.queries]))
            if needed <= settling:
                estimate = self._priced(complete, k_ms)
                if estimate.k_ms <= settling:
                    return Estimated(estimate, int(ends[-1]), read.longest_ms), settling, len(ends)
                needed = estimate.k_ms
            settling = needed

    def _priced(self, complete: S, k_ms: int | None) -> Estimate:
        """Estimate K; take its cost into account if there are prices."""
        if self.prices is None:
            return self._estimate(complete, k_ms, unpriced)
        return self._estimate(complete, k_ms, lambda choice: self._costs(complete, choice.windows).priced(choice))

    def _costs(self, complete: S, windows: int) -> WaitCosts:
        """Return the costs of waits by the tuples of the newest windows."""
        assert self.prices is not None
        of, ends, (event, delay) = self.kind.windows, self._ends(complete), self._delays(complete)
        low, high = int(of.start(int(ends[-windows]))), int(ends[-1])
        inside = (event >= low) & (event < high)
        event, came = event[inside], (event + delay)[inside]
        need = came - of.end_after(of.pane(event)) + 1
        return WaitCosts(self.prices, need, max((high - low) // of.slide_ms, 1))

    def _readable_start(self, settling: int, count: int) -> tuple[int, bool]:
        """Return the start of the newest windows to read, and whether there is nothing older to read.

        There are `count` of them, or as many as can be read at once, but at least `queries`.
        """
        least, is_cut = self.policy.queries, False
        while True:
            low, is_all = self._start(settling, count)
            if count <= least or self._is_readable(low):
                return low, is_all or is_cut
            count, is_cut = max(count // 2, least), True

    @abstractmethod
    def _start(self, settling: int, count: int) -> tuple[int, bool]:
        """Return the start of the newest `count` windows of this age, and whether history has no older tuple."""

    @abstractmethod
    def _is_readable(self, low: int) -> bool:
        """Whether the tuples from an event time on (ms) are few enough to be read at once."""

    @abstractmethod
    def _read(self, low: int) -> ReadSample[S]:
        """Read the tuples from an event time on, in ms."""

    @abstractmethod
    def _complete(self, sample: S, settling: int) -> S:
        """Return the sample with only the windows that have at least this age, in ms."""

    @abstractmethod
    def _ends(self, sample: S) -> Ints:
        """Return the ends of the sample's windows, ascending, each once; in ms."""

    @abstractmethod
    def _settling(self, complete: S, newest: int) -> int:
        """Return the age (ms) at which windows are complete, judged by the tuples since the window with this end."""

    @abstractmethod
    def _estimate(self, complete: S, k_ms: int | None, priced: Priced) -> Estimate:
        """Estimate K from complete windows, and lengthen it if that is cheaper."""

    @abstractmethod
    def _delays(self, complete: S) -> tuple[Ints, Ints]:
        """Return the event times and the delays of the sample's tuples, in ms."""


def _is_final(estimate: Estimate) -> bool:
    """Test whether older windows can't help: the interval is narrow, or the delays changed after them."""
    return estimate.is_narrow or estimate.since is not None


@dataclass(frozen=True, eq=False)
class WaitCosts:
    """The cost a window of each wait.

    A longer wait delays every window, but makes fewer tuples late. It pays as long as correcting these tuples would
    cost more than the delay (the newsvendor problem [1]_).

    Attributes
    ----------
    prices : CostSection
    need : ndarray, shape (n,)
        The shortest wait (ms) with which each tuple is in time for all its windows.
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
