"""The k-skyband of one key: what SMA keeps (the skyband monitoring algorithm of Mouratidis et al.).

A tuple is in it while fewer than k tuples dominate it: have a better score, and are in all the windows to come that it
is in. What k tuples dominate can never be among the k best again.

References
----------
.. [1] Mouratidis, Bakiras, Papadias. Continuous monitoring of top-k queries over sliding windows. SIGMOD 2006
   (paper 001, reference 4).
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field

from tailrace.topk.candidates import Candidate, Place


@dataclass
class Skyband:
    """The tuples in order of their scores; `first` and `last` are the open windows that each is in."""

    k: int
    listed: list[Candidate] = field(default_factory=list)

    def insert(self, place: Place, first: int, last: int) -> None:
        """A tuple of the windows from `first` to `last`, none of which is over."""
        insort(self.listed, Candidate(place, first, last))
        kept: list[Candidate] = []
        for one in self.listed:  # those before it in the list are better
            if sum(other.first <= one.first and other.last >= one.last for other in kept) < self.k:
                kept.append(one)
        self.listed = kept

    def top(self, window: int) -> list[Place]:
        """The k best of a window, the best first."""
        return [one.place for one in self.listed if one.first <= window <= one.last][: self.k]

    def slide(self, window: int) -> None:
        """The windows up to this one are over."""
        for one in self.listed:
            one.first = max(one.first, window + 1)
        self.listed = [one for one in self.listed if one.first <= one.last]
