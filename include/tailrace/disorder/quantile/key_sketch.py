"""Bottom-k sketch of the keys to sample: in each stretch of event time the keys with the smallest hashes.

It is deterministic, and does not depend on the cuts of the log into batches. Each stretch chooses its own keys, so that
keys which no longer occur make room for others.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappushpop
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.error_model import Ints
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.tick_statistics import TickRows
from tailrace.ground.arrow.columns import group as grouped
from tailrace.ground.arrow.columns import pair
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.windows.windows import Windows

GROUPS = 16
"""Number of keys in the sketch of a stretch: the keys with the smallest hashes so far."""

STRETCH = 8
"""Length of a stretch of event time, in sizes of a window."""

Hashes = NDArray[np.uint64]


def stretch_of(windows: Windows, time: Ints) -> Ints:
    """Return the number of the stretch that contains each time or pane."""
    return windows.block(time) // STRETCH


@dataclass(frozen=True)
class KeySketch:
    """The keys that have occurred in each stretch, and the ticks at which each counts.

    Attributes
    ----------
    stretch, group : ndarray, shape (n,)
        The stretch and the hash of each key, sorted by stretch and then by hash.
    first, until : ndarray, shape (n,)
        Each key counts at ticks in [first, until).
    """

    stretch: Ints
    group: Hashes
    first: Ints
    until: Ints

    @staticmethod
    def from_rows(stretch: Ints, group: Hashes, tick: Ints) -> tuple[KeySketch, Ints]:
        """Build the sketch of r rows; return it, and the index in it of each row's key."""
        hashes, rank = np.unique(group, return_inverse=True)
        code, split = pair(stretch, rank)
        distinct, (first,) = grouped(code, (tick, "min"))
        stretches, ranks = split(distinct)
        groups = KeySketch(stretches, hashes[ranks], first, _until(stretches, first))
        return groups, np.searchsorted(distinct, code)

    @staticmethod
    def restore(windows: Windows, state: PolicyState, sample: TickRows) -> tuple[KeySketch, NDArray[np.bool_]]:
        """Restore the sketch, add the keys of this call's sample, and return which of its rows count, shape (r,)."""
        new = {"group_stretch": stretch_of(windows, sample["pane"]), "group_hash": sample["group"]}
        columns = (np.concatenate([state.get(name, column[:0]), column]) for name, column in new.items())
        (stretch, group), old_count = columns, len(state.get("group_hash", ()))
        at = np.concatenate([np.full(old_count, -1), sample.at])
        groups, index = KeySketch.from_rows(stretch, group.view(np.uint64), at)
        return groups, sample.at < groups.until[index[old_count:]]

    def checkpoint(self, oldest: int) -> PolicyState:
        """Return as state the keys of the stretches from `oldest` on that still count."""
        stays = (self.until == AFTER_ALL) & (self.stretch >= oldest)
        return {"group_stretch": self.stretch[stays], "group_hash": self.group[stays].view(np.int64)}

    def at(self, tick: int, stretch: int) -> Hashes:
        """Return the hashes of the keys that count in a stretch at a tick, ascending."""
        keys = slice(*np.searchsorted(self.stretch, [stretch, stretch + 1]))
        return self.group[keys][(self.first[keys] <= tick) & (tick < self.until[keys])]


def _until(stretch: Ints, first: Ints) -> Ints:
    """Return the tick from which each key no longer counts, because `GROUPS` keys with smaller hashes have occurred."""
    until = np.full(len(stretch), AFTER_ALL)
    bounds = np.flatnonzero(np.diff(stretch, prepend=stretch[:1] - 1, append=stretch[-1:] + 1))
    for low, high in pairwise(bounds):
        if high - low > GROUPS:
            earliest = (-first[low : low + GROUPS]).tolist()  # of smaller hashes; negated, so that the latest is on top
            heapify(earliest)
            for i in range(low + GROUPS, high):
                until[i] = -earliest[0]
                heappushpop(earliest, -int(first[i]))
    return until
