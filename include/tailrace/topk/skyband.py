"""The k-skyband of one key, which SMA maintains (the skyband monitoring algorithm of Mouratidis et al.).

A tuple belongs to it while fewer than k tuples dominate it. A tuple dominates another if its score is better and it is
in all coming windows of the other. A tuple that k tuples dominate can never be among the k best again.

References
----------
.. [1] Mouratidis, Bakiras, Papadias. Continuous monitoring of top-k queries over sliding windows. SIGMOD 2006
   (paper 001, reference 4).
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

from tailrace.topk.candidates import Candidate, Ranked, RankKey


@dataclass
class Skyband(Ranked):
    """A ranking that stores each tuple of the skyband for all open windows that it is in."""

    def insert(self, rank_key: RankKey, first: int, last: int) -> None:
        """Insert a tuple of the open windows from `first` to `last`."""
        insort(self.candidates, Candidate(rank_key, first, last))
        skyband: list[Candidate] = []
        for candidate in self.candidates:  # earlier ones in the list are better
            if sum(other.first <= candidate.first and other.last >= candidate.last for other in skyband) < self.k:
                skyband.append(candidate)
        self.candidates = skyband
