"""Every level of waits tried at once, in the shadow: what windows would have held with each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.disorder.policy import PolicyState
from tailrace.disorder.tick_statistics import Ints
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.windows.sliding import Sliding

LEVELS = np.concatenate([[1.0], 0.5 / 1.4 ** np.arange(30)])
"""Shares of tuples that are not waited for, from all (K = 0) down to 3 in 100,000; shape (s,)."""

_OVERLAP = 8  # windows that any time is in, at most: of more, some are left out
_MOST = 512  # windows whose late tuples may still come: where it would be more, some are left out


@dataclass
class WhatIf:
    """What windows would have held with the K of each level, as if it had been in force all the time.

    Attributes
    ----------
    frontier : ndarray, shape (s + 1,)
        F with each level, and last the policy's own; as ticks move it, not what silence closes.
    end : ndarray, shape (w,)
        Windows that are not judged yet, ascending.
    held : ndarray, shape (w, s + 1)
        By how much t_max was beyond each window's end when it closed. Where a fall of K closed it, and not t_max, the
        tuples of that tick count as missed, which is on the safe side.
    """

    windows: Sliding
    frontier: Ints
    end: Ints
    held: Ints

    @staticmethod
    def restore(windows: Sliding, state: PolicyState) -> WhatIf:
        none, many = np.zeros(0, np.int64), len(LEVELS) + 1
        frontier = state.get("frontier", np.full(many, BEFORE_ALL)).copy()
        return WhatIf(windows, frontier, state.get("end", none), state.get("held", none).reshape(-1, many).copy())

    def checkpoint(self) -> PolicyState:
        return {"frontier": self.frontier, "end": self.end, "held": self.held.ravel()}

    def begin(self, before: int, t_max: int, horizon: int) -> None:
        """Take in windows that end in (before, t_max]; late tuples come for as long as the horizon, in ms.

        Where there are many it is every second, fourth, … of them, so that they are alike and few at once.
        """
        size, slide = self.windows.size_ms, self.windows.slide_ms
        step = slide * max(1, size // (_OVERLAP * slide))
        while horizon > _MOST * step:
            step *= 2
        after = max(before, t_max - _MOST * step)
        end = np.arange(((after - size) // step + 1) * step + size, t_max + 1, step)
        if len(end):
            self.end = np.concatenate([self.end, end])
            self.held = np.concatenate([self.held, np.full((len(end), len(self.frontier)), AFTER_ALL)])

    def close(self, levels: slice, t_max: int, k_ms: Ints | int) -> None:
        """Move the frontiers of some levels on, each by its K, and close the windows that they pass."""
        self.frontier[levels] = np.maximum(self.frontier[levels], t_max - k_ms)
        held, age = self.held[:, levels], t_max - self.end[:, None]
        passed = (held == AFTER_ALL) & (self.end[:, None] <= self.frontier[levels])
        np.copyto(held, age, where=passed)

    def due(self, until: int) -> tuple[Ints, Ints]:
        """`end` and `held` of the windows that end at or before `until`; they are let go."""
        n = int(np.searchsorted(self.end, until, side="right"))
        due = self.end[:n], self.held[:n]
        if n:
            self.end, self.held = self.end[n:], self.held[n:]
        return due
