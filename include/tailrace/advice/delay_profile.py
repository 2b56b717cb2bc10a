"""The delay profile of a sample: the delays of its records, their disorder, and the slack K that they need.

The wait of a record is t_max − event time, with t_max over the records up to it in order of arrival. It is the least
slack K (allowed lateness) with which the frontier (the watermark) has not passed the record. Ticks are ignored; within
one, the wait is less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tailrace.ground.arrow.columns import Ints
from tailrace.ground.duration import rounded_duration

SHARES = (0.01, 0.05)
"""Shares of records that may come behind the frontier; the slack is shown for each."""

_SKEW_MS = 60_000  # the default of bounds.skew: an event time moves t_max no further beyond its arrival
_MINUTE_MS, _HOUR_MS, _DAY_MS = 60_000, 3_600_000, 86_400_000
_BINS_MS = (0, 1000, 10_000, _MINUTE_MS, 10 * _MINUTE_MS, _HOUR_MS, 6 * _HOUR_MS, _DAY_MS, 7 * _DAY_MS)
_QUANTILES = (0.5, 0.9, 0.95, 0.99, 1.0)
_BAR = 40
_STEPS_MS = (
    (10_000, 100),
    (_MINUTE_MS, 1000),
    (10 * _MINUTE_MS, 5000),
    (10 * _HOUR_MS, _MINUTE_MS),
    (10**15, _HOUR_MS),
)


@dataclass(frozen=True)
class DelayProfile:
    """The delays of n records.

    Attributes
    ----------
    delay : ndarray, shape (n,), or None
        Arrival − event time in ms; None without arrival times.
    wait : ndarray, shape (n,)
        The waits in ms, in order of arrival; without arrival times, in the order of the files.
    first, last : int
        The range of most event times: their 1 % and 99 % quantiles, in ms.
    """

    delay: Ints | None
    wait: Ints
    first: int
    last: int

    @staticmethod
    def measure(event: Ints, arrival: Ints | None) -> DelayProfile:
        """Measure records by their times in ms, shape (n,), n > 0, in the order of the log."""
        counted, delay = event, None
        if arrival is not None:
            order = np.argsort(arrival, kind="stable")
            event, arrival = event[order], arrival[order]
            counted, delay = np.minimum(event, arrival + _SKEW_MS), arrival - event
        wait = np.maximum(np.maximum.accumulate(counted) - event, 0)
        first, last = np.quantile(event, (0.01, 0.99), method="nearest").tolist()
        return DelayProfile(delay, wait, first, last)

    def slack_ms(self, share: float) -> int:
        """Return the least slack with which at most a share of these records comes behind the frontier."""
        allowed = int(len(self.wait) * share)
        return int(np.partition(self.wait, -allowed - 1)[-allowed - 1])

    @property
    def disordered(self) -> float:
        """The share of records that come after a record with a later event time."""
        return float(np.mean(self.wait > 0))

    def lines(self) -> Iterator[str]:
        """Yield the profile in lines: the histogram and the quantiles of the delays, the time order, and the slack."""
        if self.delay is not None:
            yield "delay, arrival − event time:"
            yield from _histogram(self.delay)
            values = np.quantile(self.delay, _QUANTILES, method="inverted_cdf").tolist()
            named = (
                f"{_name(level)} {rounded_duration(value)}" for level, value in zip(_QUANTILES, values, strict=True)
            )
            yield f"  {', '.join(named)}"
        order = "arrival" if self.delay is not None else "the file"
        furthest = rounded_duration(int(self.wait.max()))
        behind = f"; the furthest is {furthest} behind" if self.disordered else ""
        yield f"order: {self.disordered:.1%} of the records come, in order of {order}, after a later event{behind}"
        needs = (f"{share:.0%}: {rounded_duration(self.slack_ms(share))}" for share in SHARES)
        yield f"slack K (allowed lateness) by the share of records that may be late: {', '.join(needs)}"


def rounded_up(value_ms: int) -> int:
    """Round a duration up to few digits, by at most a tenth, or by less than 100 ms."""
    step = next(step for most, step in _STEPS_MS if value_ms <= most)
    return -(-value_ms // step) * step


def _histogram(delay: Ints) -> Iterator[str]:
    """Yield a bar for each range that has delays."""
    counts = np.bincount(np.searchsorted(_BINS_MS, delay, side="left"), minlength=len(_BINS_MS) + 1)
    labels = [*(f"≤ {rounded_duration(end)}" for end in _BINS_MS), f"> {rounded_duration(_BINS_MS[-1])}"]
    shown = np.flatnonzero(counts)
    for index in range(shown[0], shown[-1] + 1):
        count = int(counts[index])
        bar = "█" * -(-count * _BAR // int(counts.max()))
        yield f"  {labels[index]:>8} {bar} {count:,}".rstrip()


def _name(level: float) -> str:
    return {0.5: "median", 1.0: "largest"}.get(level, f"{level:.0%}")
