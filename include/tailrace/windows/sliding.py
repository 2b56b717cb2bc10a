"""Sliding windows and their panes, in integer milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Time = TypeVar("Time", int, NDArray[np.int64])


@dataclass(frozen=True)
class Sliding:
    """Sliding windows [j·slide, j·slide + size) for every integer j, with slide ≤ size.

    A pane is [i·p, (i+1)·p) with p = gcd(size, slide): every tuple belongs to one pane and every window is made of
    whole panes. A window is named by its end, a pane by its start.
    """

    size_ms: int
    slide_ms: int

    @property
    def pane_ms(self) -> int:
        return gcd(self.size_ms, self.slide_ms)

    def pane(self, event_ms: Ints) -> Ints:
        """Return the start of the pane that contains each event time."""
        return np.asarray(event_ms // self.pane_ms * self.pane_ms)

    def first_end(self, pane: Ints) -> Ints:
        """Return the end of the earliest window over each pane."""
        return -((self.size_ms - self.pane_ms - pane) // self.slide_ms) * self.slide_ms + self.size_ms

    def last_end(self, pane: Ints) -> Ints:
        """Return the end of the latest window over each pane."""
        return np.asarray(pane // self.slide_ms * self.slide_ms + self.size_ms)

    def share(self, one: Ints, other: Ints) -> NDArray[np.bool_]:
        """Test which pairs of event times have a window that holds both."""
        return np.asarray(np.maximum(one, other) < self.last_end(np.minimum(one, other)))

    def end_until(self, time: Time) -> Time:
        """Return the latest window end at or before `time`, elementwise for an array."""
        return (time - self.size_ms) // self.slide_ms * self.slide_ms + self.size_ms

    def within(self, low: int, high: int) -> tuple[int, int]:
        """Return the first and the last event time all of whose windows start at or after `low` and end by `high`."""
        first = -(-low // self.slide_ms) * self.slide_ms - self.slide_ms + self.size_ms
        return first, self.end_until(high) - self.size_ms + self.slide_ms - 1

    def ends(self, pane: Ints, after: Ints | int | None, until: Ints | int | None) -> tuple[Ints, Ints]:
        """Enumerate, for each pane, the windows over it that end in (after, until].

        Parameters
        ----------
        pane : ndarray, shape (n,)
        after, until : ndarray of shape (n,), int or None
            Exclusive lower and inclusive upper bound of the ends; None: unbounded.

        Returns
        -------
        row, end : ndarray, shape (m,)
            Pairs of an index into `pane` and the end of a window over it, by row and then by end.
        """
        first, last = self.first_end(pane), self.last_end(pane)
        # Ends are ≡ size modulo slide: the first one beyond `after`, and the last one up to `until`.
        if after is not None:
            first = np.maximum(first, ((after - self.size_ms) // self.slide_ms + 1) * self.slide_ms + self.size_ms)
        if until is not None:
            last = np.minimum(last, (until - self.size_ms) // self.slide_ms * self.slide_ms + self.size_ms)
        counts = np.maximum((last - first) // self.slide_ms + 1, 0)
        row = np.repeat(np.arange(len(pane)), counts)
        step = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        return row, first[row] + step * self.slide_ms
