"""Which keys of a sample count: a few of each stretch of event time, alike for every task, however the log is cut.

Stretches are chosen anew, so that keys which come no more make room for others.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappushpop
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.policy import PolicyState
from tailrace.disorder.tick_statistics import Ints, TickRows
from tailrace.ground.columns import group as grouped
from tailrace.ground.columns import pair
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.windows.sliding import Sliding

GROUPS = 16
"""So many keys count: of those that have come to a stretch so far the ones with the smallest hashes."""

STRETCH = 8
"""Windows, side by side, in a stretch of event time."""

Hashes = NDArray[np.uint64]


def stretch_of(windows: Sliding, time: Ints) -> Ints:
    """The number of the stretch that each time or pane is in."""
    return time // (STRETCH * windows.size_ms)


@dataclass(frozen=True)
class KeySketch:
    """The keys that have come to each stretch.

    Attributes
    ----------
    stretch, group : ndarray, shape (n,)
        By stretch, and then by the key's hash.
    first, until : ndarray, shape (n,)
        A key counts at ticks in [first, until).
    """

    stretch: Ints
    group: Hashes
    first: Ints
    until: Ints

    @staticmethod
    def of(stretch: Ints, group: Hashes, tick: Ints) -> tuple[KeySketch, Ints]:
        """The keys of some rows, columns of shape (r,), and the place of each row's among them."""
        hashes, rank = np.unique(group, return_inverse=True)
        code, split = pair(stretch, rank)
        distinct, (first,) = grouped(code, (tick, "min"))
        stretches, ranks = split(distinct)
        groups = KeySketch(stretches, hashes[ranks], first, _until(stretches, first))
        return groups, np.searchsorted(distinct, code)

    @staticmethod
    def restore(windows: Sliding, state: PolicyState, sample: TickRows) -> tuple[KeySketch, NDArray[np.bool_]]:
        """Those of earlier calls and of the sample of this one; and which of its rows count, shape (r,)."""
        fresh = {"group_stretch": stretch_of(windows, sample["pane"]), "group_hash": sample["group"]}
        both = (np.concatenate([state.get(name, column[:0]), column]) for name, column in fresh.items())
        (stretch, group), early = both, len(state.get("group_hash", ()))
        at = np.concatenate([np.full(early, -1), sample.at])
        groups, place = KeySketch.of(stretch, group.view(np.uint64), at)
        return groups, sample.at < groups.until[place[early:]]

    def checkpoint(self, oldest: int) -> PolicyState:
        """Those that still count in the stretches from `oldest` on."""
        mine = (self.until == AFTER_ALL) & (self.stretch >= oldest)
        return {"group_stretch": self.stretch[mine], "group_hash": self.group[mine].view(np.int64)}

    def at(self, tick: int, stretch: int) -> Hashes:
        """Those that count in a stretch at a tick, ascending."""
        mine = slice(*np.searchsorted(self.stretch, [stretch, stretch + 1]))
        return self.group[mine][(self.first[mine] <= tick) & (tick < self.until[mine])]


def _until(stretch: Ints, first: Ints) -> Ints:
    """The ticks at which so many keys with smaller hashes have come that a key counts no more."""
    until = np.full(len(stretch), AFTER_ALL)
    bounds = np.flatnonzero(np.diff(stretch, prepend=stretch[:1] - 1, append=stretch[-1:] + 1))
    for low, high in pairwise(bounds):
        if high - low > GROUPS:
            earliest = (-first[low : low + GROUPS]).tolist()  # of those with smaller hashes; the latest on top
            heapify(earliest)
            for i in range(low + GROUPS, high):
                until[i] = -earliest[0]
                heappushpop(earliest, -int(first[i]))
    return until
