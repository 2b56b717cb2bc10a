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
from dataclasses import dataclass

from tailrace.topk.candidates import Candidate, Place, Ranked


@dataclass
class Skyband(Ranked):
    """Each tuple is kept for all open windows that it is in."""

    def insert(self, place: Place, first: int, last: int) -> None:
        """A tuple of the windows from `first` to `last`, none of which is over."""
        insort(self.listed, Candidate(place, first, last))
        kept: list[Candidate] = []
        for one in self.listed:  # those before it in the list are better
            if sum(other.first <= one.first and other.last >= one.last for other in kept) < self.k:
                kept.append(one)
        self.listed = kept
