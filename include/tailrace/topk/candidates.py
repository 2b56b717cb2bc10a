"""The candidate list of one key: the tuples that are among the k best of some open window, as known so far.

It is the list of MinTopk, which paper 001 takes over: sorted by score, each candidate with the first and the last
window that it contributes to, and beside it the k-th best of every window, which a new tuple is held against. A tuple
that beats none of them is let go.

Under disorder the windows that a tuple contributes to may have a gap. The first and the last of them are kept: the
tuple is in all the windows between, so that a ranking read from the list is right, and the list may be longer than need
be.

References
----------
.. [1] Yang, Shastri, Rundensteiner, Ward. An optimal strategy for monitoring top-k queries in streaming windows.
   EDBT 2011.
.. [2] Wu, Fang. Continuous top-k query method over high-speed out-of-order data streams. Journal of Zhengzhou
   University (Natural Science Edition) 53(3), 2021, section 2.2 (paper 001).
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import Any

Place = tuple[float, Any]
"""How a tuple ranks: a number that is less for better scores, and the id."""


@dataclass(order=True)
class Candidate:
    """A tuple, and the first and the last window that it contributes to."""

    place: Place
    first: int = field(compare=False)
    last: int = field(compare=False)


@dataclass
class Ranked:
    """Tuples in order of their scores, with the windows that each is kept for. Windows are numbered."""

    k: int
    listed: list[Candidate] = field(default_factory=list)

    def top(self, window: int) -> list[Place]:
        """The k best of a window, the best first."""
        return [one.place for one in self.listed if one.first <= window <= one.last][: self.k]

    def slide(self, window: int) -> None:
        """The windows up to this one are over."""
        for one in self.listed:
            one.first = max(one.first, window + 1)
        self.listed = [one for one in self.listed if one.first <= one.last]


@dataclass
class Candidates(Ranked):
    """List C."""

    lowest: dict[int, Place | None] = field(default_factory=dict)
    """Of each open window with a candidate the k-th best one; None while it has fewer."""

    def insert(self, place: Place, first: int, last: int) -> None:
        """A tuple of the windows from `first` to `last`, none of which is over."""
        wins = [window for window in range(first, last + 1) if self._wins(place, window)]
        if not wins:
            return
        insort(self.listed, Candidate(place, wins[0], wins[-1]))
        for window in wins:
            self._settle(window)
        self.listed = [one for one in self.listed if one.first <= one.last]

    def slide(self, window: int) -> None:
        super().slide(window)
        self.lowest = {open_: place for open_, place in self.lowest.items() if open_ > window}

    def _wins(self, place: Place, window: int) -> bool:
        lowest = self.lowest.get(window)
        return lowest is None or place < lowest

    def _settle(self, window: int) -> None:
        """Find the k-th best of a window, and let those after it contribute to it no more."""
        inside = [one for one in self.listed if one.first <= window <= one.last]
        self.lowest[window] = inside[self.k - 1].place if len(inside) >= self.k else None
        for one in inside[self.k :]:
            if one.first == window:
                one.first += 1
            elif one.last == window:
                one.last -= 1


@dataclass
class Waiting(Candidates):
    """Lists C and D of paper 001: what comes for later windows alone waits in D, and is merged in when they are next.

    Attributes
    ----------
    current : int or None
        The window that closes next: C has what belongs to it or to those before.
    later : list of Candidate
        List D, in order of arrival.
    """

    current: int | None = None
    later: list[Candidate] = field(default_factory=list)

    def insert(self, place: Place, first: int, last: int) -> None:
        if self.current is not None and first > self.current:
            self.later.append(Candidate(place, first, last))
            return
        self.current = first if self.current is None else self.current
        super().insert(place, first, last)

    def top(self, window: int) -> list[Place]:
        self._merge(window)
        return super().top(window)

    def slide(self, window: int) -> None:
        self._merge(window + 1)
        super().slide(window)

    def _merge(self, window: int) -> None:
        """D into C, as far as it belongs to a window: the smallest first."""
        if self.current is None or window <= self.current:
            return
        self.current = window
        due, self.later = ([one for one in self.later if (one.first <= window) == now] for now in (True, False))
        for one in sorted(due, reverse=True):
            super().insert(one.place, one.first, one.last)
