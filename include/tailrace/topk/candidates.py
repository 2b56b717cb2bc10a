"""The candidate list of one key: tuples that are among the k best of some open window so far.

It is the list of MinTopk, which paper 001 adopts. Candidates are sorted by score, each with the first and the last
window to which it contributes. A new tuple is compared with the k-th best of every window, and dropped if it beats
none.

Under disorder the windows that a tuple contributes to may have a gap. The list stores only the first and the last of
them. As the tuple is in all windows between, a ranking read from the list is right, but the list may be longer than
necessary.

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

RankKey = tuple[Any, ...]
"""The sort key of a tuple: of the score (smaller for better ones), the id, and perhaps a `Payload`."""


@dataclass(order=True)
class Candidate:
    """A tuple, and the first and the last window that it contributes to."""

    rank_key: RankKey
    first: int = field(compare=False)
    last: int = field(compare=False)


@dataclass
class Ranked:
    """Tuples in order of their scores, each with the number of the first and the last window that it is stored for."""

    k: int
    candidates: list[Candidate] = field(default_factory=list)

    def top(self, window: int) -> list[RankKey]:
        """Return the k best tuples of a window, the best first."""
        return [candidate.rank_key for candidate in self.candidates if candidate.first <= window <= candidate.last][
            : self.k
        ]

    def slide(self, window: int) -> None:
        """Drop the windows up to this one, and tuples without a later window."""
        for candidate in self.candidates:
            candidate.first = max(candidate.first, window + 1)
        self.candidates = [candidate for candidate in self.candidates if candidate.first <= candidate.last]


@dataclass
class CandidateList(Ranked):
    """List C of paper 001: the candidates, and the k-th best tuple of each open window."""

    lowest: dict[int, RankKey | None] = field(default_factory=dict)
    """The k-th best candidate of each open window that has candidates; None while there are fewer than k."""

    def insert(self, rank_key: RankKey, first: int, last: int) -> None:
        """Insert a tuple of the open windows from `first` to `last`."""
        windows = [window for window in range(first, last + 1) if self._wins(rank_key, window)]
        if not windows:
            return
        insort(self.candidates, Candidate(rank_key, windows[0], windows[-1]))
        for window in windows:
            self._settle(window)
        self.candidates = [candidate for candidate in self.candidates if candidate.first <= candidate.last]

    def slide(self, window: int) -> None:
        super().slide(window)
        self.lowest = {open_: rank_key for open_, rank_key in self.lowest.items() if open_ > window}

    def _wins(self, rank_key: RankKey, window: int) -> bool:
        lowest = self.lowest.get(window)
        return lowest is None or rank_key < lowest

    def _settle(self, window: int) -> None:
        """Update the k-th best tuple of a window; candidates after it lose the window if it is their first or last."""
        candidates = [candidate for candidate in self.candidates if candidate.first <= window <= candidate.last]
        self.lowest[window] = candidates[self.k - 1].rank_key if len(candidates) >= self.k else None
        for candidate in candidates[self.k :]:
            if candidate.first == window:
                candidate.first += 1
            elif candidate.last == window:
                candidate.last -= 1


@dataclass
class Waiting(CandidateList):
    """Lists C and D of paper 001.

    Tuples that belong only to later windows wait in D, and move to C when such a window is next.

    Attributes
    ----------
    current : int or None
        The window that closes next: C holds the tuples of this window and of earlier ones.
    later : list of Candidate
        List D, in order of arrival.
    """

    current: int | None = None
    later: list[Candidate] = field(default_factory=list)

    def insert(self, rank_key: RankKey, first: int, last: int) -> None:
        if self.current is not None and first > self.current:
            self.later.append(Candidate(rank_key, first, last))
            return
        self.current = first if self.current is None else self.current
        super().insert(rank_key, first, last)

    def top(self, window: int) -> list[RankKey]:
        self._merge(window)
        return super().top(window)

    def slide(self, window: int) -> None:
        self._merge(window + 1)
        super().slide(window)

    def _merge(self, window: int) -> None:
        """Merge the tuples of D whose first window is at most this one into C, the worst first."""
        if self.current is None or window <= self.current:
            return
        self.current = window
        due, self.later = (
            [candidate for candidate in self.later if (candidate.first <= window) == now] for now in (True, False)
        )
        for candidate in sorted(due, reverse=True):
            super().insert(candidate.rank_key, candidate.first, candidate.last)
