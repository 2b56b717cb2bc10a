"""Interval search for the smallest cache duration that keeps an accuracy (paper 001, section 2.1, steps 1 to 3).

The interval (lower, upper] is cut in m parts, d_j = lower + j·(upper − lower)/m. The accuracy with each d_j is measured
over the last n windows; then the slack K (allowed lateness) is the smallest d_j whose accuracy is at least ε, and the
next interval is (d_{j−1}, d_j].

Deviations, where the paper says nothing, or does not work as printed:

- *None is enough.* The paper moves the interval up by one part, which is slow after a jump of the delays. Here the next
  interval begins where this one ends, and is twice as long; K is its upper end. `doubling=False` gives the paper's
  rule.
- *The smallest is enough*, so a smaller one may be. The interval moves down the same way, to 0 at last: else K never
  falls.
- *The floor.* A part is no shorter than `step_ms` (a tick of arrival: windows close no finer) and a twentieth of K.
  Where the next interval would have shorter parts it gets such ones, around K, which can then rise and fall.
- *Noise.* The accuracy over n windows is an estimate, with which K would oscillate. So the K in force is enough down to
  half a `band` of standard errors below ε, and at the floor a smaller one must exceed ε by a whole band. Where none is
  enough at the floor, but the longest is but for half a band, K goes there, and the interval does not double. By
  simulation (tests/unit/calibration) K then changes less often, and the mean accuracy is still kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.disorder.cache_duration import CacheDuration
from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.ground.duration import format_duration

_PARTS_OF_K = 20  # a part of the interval is no shorter than K divided by this
_TOLERANCE = 1e-9  # the order of summation may change sums by this much


@dataclass(frozen=True)
class Bracket:
    """The state of the search: the interval (lower_ms, upper_ms], and in it k_ms, the duration in force.

    `lower_ms` is below 0 if the duration 0 is one of the m.
    """

    lower_ms: int
    upper_ms: int
    k_ms: int

    @property
    def width_ms(self) -> int:
        return self.upper_ms - self.lower_ms

    def __str__(self) -> str:
        return f"({format_duration(self.lower_ms)}, {format_duration(self.upper_ms)}]"


@dataclass(frozen=True)
class SlackSearch:
    """The rules of the search, without state.

    Attributes
    ----------
    parts : int
        m, the number of parts of an interval, and so of durations; at least 2.
    accuracy : float
        ε, the least mean accuracy that is accepted, in (0, 1].
    step_ms : int
        The shortest part of an interval, at least 1.
    band : float
        How many standard errors count as noise.
    doubling : bool
        True: an interval without a sufficient duration is followed by one of twice its length; False: it moves by a
        part.
    """

    parts: int
    accuracy: float
    step_ms: int = 1
    band: float = 2.0
    doubling: bool = True

    @staticmethod
    def from_policy(policy: CacheDuration, tick_ms: int, doubling: bool = True) -> SlackSearch:
        """Build the search that a policy declares, for ticks of this length."""
        return SlackSearch(policy.durations, policy.accuracy, max(tick_ms, 1), doubling=doubling)

    def start(self, k_ms: int) -> Bracket:
        """Return the first interval, (0, 2·K], in which K can rise and fall at once.

        The paper's (0, K] only lets it fall.
        """
        return self._interval(0, 2 * k_ms, k_ms)

    def durations(self, interval: Bracket) -> Ints:
        """Return the durations d_1 … d_m in integer ms, shape (m,), in ascending order; the last one is `upper_ms`."""
        parts = np.arange(1, self.parts + 1, dtype=np.int64)
        return np.maximum(interval.lower_ms + parts * interval.width_ms // self.parts, 0)

    def next(
        self, interval: Bracket, accuracy: Floats, error: Floats | None = None, longest_ms: int | None = None
    ) -> Bracket:
        """Return the next interval and K, given the accuracies of the durations.

        Parameters
        ----------
        accuracy, error : ndarray, shape (m,)
            The mean accuracy of each of `durations`, and its standard error; None if the accuracies are exact.
        longest_ms : int, optional
            The longest delay so far; a longer wait would have changed nothing.
        """
        durations = self.durations(interval)
        threshold = np.full(self.parts, self.accuracy - _TOLERANCE)
        if error is not None:
            threshold -= np.where(durations == interval.k_ms, self.band / 2 * error, 0.0)
            if self._at_floor(interval):
                threshold += np.where(durations < interval.k_ms, self.band * error, 0.0)
        sufficient = np.flatnonzero(accuracy >= threshold)
        if not len(sufficient):
            noise = 0.0 if error is None else self.band / 2 * float(error[-1])
            if self.doubling and self._at_floor(interval) and accuracy[-1] >= self.accuracy - noise:
                return self._interval(interval.upper_ms, interval.upper_ms, interval.upper_ms)
            return self._interval_above(interval, longest_ms)
        first = int(sufficient[0])
        k_ms = int(durations[first])
        if first == 0 and interval.lower_ms > 0:
            return self._interval_below(interval, k_ms)
        return self._interval(int(durations[first - 1]) if first else interval.lower_ms, k_ms, k_ms)

    def _interval_above(self, interval: Bracket, longest_ms: int | None) -> Bracket:
        shift = 2 * interval.width_ms if self.doubling else self._part_ms(interval)
        lower = interval.upper_ms if self.doubling else interval.lower_ms + shift
        upper = interval.upper_ms + shift
        if longest_ms is None or longest_ms >= upper:
            return Bracket(lower, upper, upper)
        if longest_ms > interval.upper_ms:
            return self._interval(lower, longest_ms, longest_ms)
        return Bracket(interval.lower_ms, interval.upper_ms, interval.upper_ms)  # no wait is enough

    def _interval_below(self, interval: Bracket, k_ms: int) -> Bracket:
        """Return the next interval if the smallest duration of this one, K, is sufficient."""
        if self.doubling:
            return self._interval(max(k_ms - 2 * interval.width_ms, 0), k_ms, k_ms)
        part = self._part_ms(interval)
        return self._interval(max(interval.lower_ms - part, 0), interval.upper_ms - part, k_ms)

    def _interval(self, lower: int, upper: int, k_ms: int) -> Bracket:
        """Return the interval (lower, upper]; if its parts would be too short, one around K with the shortest parts."""
        step = self._shortest_part_ms(k_ms)
        if upper - lower > self.parts * step:
            return Bracket(lower, upper, k_ms)
        parts_below = min(self.parts // 2 + 1, -(-k_ms // step) + 1)  # at most down to 0
        return Bracket(k_ms - parts_below * step, k_ms + (self.parts - parts_below) * step, k_ms)

    def _at_floor(self, interval: Bracket) -> bool:
        return interval.width_ms <= self.parts * self._shortest_part_ms(interval.k_ms)

    def _shortest_part_ms(self, k_ms: int) -> int:
        return max(self.step_ms, k_ms // _PARTS_OF_K, 1)

    def _part_ms(self, interval: Bracket) -> int:
        return interval.width_ms // self.parts
