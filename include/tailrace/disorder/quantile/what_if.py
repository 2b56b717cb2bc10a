"""Simulates all levels at once: the tuples that windows would have held with each level's K (allowed lateness)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.disorder.error_model import Ints
from tailrace.disorder.policy import PolicyState
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.windows.windows import Windows

LEVELS = np.concatenate([[1.0], 0.5 / 1.4 ** np.arange(30)])
"""Levels: shares of tuples for which windows do not wait, from all (K = 0) down to 3 in 100,000; shape (s,)."""

_OVERLAP = 8  # simulated windows over a point in time (up to nearly twice as many); others are left out
_MAX_OPEN = 512  # simulated windows whose late tuples may still arrive; others are left out


@dataclass
class WhatIf:
    """Simulates the closing of windows with the K of each level, as if that level had always been in force.

    Attributes
    ----------
    frontier : ndarray, shape (s + 1,)
        Frontier F (the watermark) with each level, and last the policy's own; moved by ticks, not by silence.
    end : ndarray, shape (w,)
        Ends of the windows that are not judged yet, ascending.
    held : ndarray, shape (w, s + 1)
        The distance of t_max beyond each window's end when the window closed; `AFTER_ALL` while it is open. If a fall
        of K closed it, and not t_max, the tuples of that tick count as missed, to be safe.
    """

    windows: Windows
    frontier: Ints
    end: Ints
    held: Ints

    @staticmethod
    def restore(windows: Windows, state: PolicyState) -> WhatIf:
        empty, width = np.zeros(0, np.int64), len(LEVELS) + 1
        frontier = state.get("frontier", np.full(width, BEFORE_ALL)).copy()
        return WhatIf(windows, frontier, state.get("end", empty), state.get("held", empty).reshape(-1, width).copy())

    def checkpoint(self) -> PolicyState:
        return {"frontier": self.frontier, "end": self.end, "held": self.held.ravel()}

    def add_windows(self, before: int, t_max: int, horizon: int) -> None:
        """Start to simulate windows that end in (before, t_max].

        They are judged when t_max is `horizon` ms beyond their end: by then all but a negligible share of their tuples
        has arrived. Only every n-th window is added, with n such that about `_OVERLAP` cover one point in time; n is
        doubled until at most `_MAX_OPEN` windows wait to be judged at this `horizon`. A window that ends `_MAX_OPEN`
        steps of n slides before t_max, or earlier, is left out.
        """
        windows, slide = self.windows, self.windows.slide_ms
        every = max(1, windows.size_ms // (_OVERLAP * slide))
        while horizon > _MAX_OPEN * every * slide:
            every *= 2
        after = max(before, t_max - _MAX_OPEN * every * slide)
        low, high = windows.number(windows.end_until(after)), windows.number(windows.end_until(t_max))
        number = np.arange((low // every + 1) * every, high + 1, every)
        if len(number):
            end = windows.end_of(number)
            self.end = np.concatenate([self.end, end])
            self.held = np.concatenate([self.held, np.full((len(end), len(self.frontier)), AFTER_ALL)])

    def close(self, levels: slice, t_max: int, k_ms: Ints | int) -> None:
        """Advance the frontiers of levels, each by its K, and close the windows that they pass."""
        self.frontier[levels] = np.maximum(self.frontier[levels], t_max - k_ms)
        held, age = self.held[:, levels], t_max - self.end[:, None]
        closes = (held == AFTER_ALL) & (self.end[:, None] <= self.frontier[levels])
        np.copyto(held, age, where=closes)

    def due(self, until: int) -> tuple[Ints, Ints]:
        """Remove the windows that end at or before `until`, and return their `end` and `held`."""
        n = int(np.searchsorted(self.end, until, side="right"))
        due = self.end[:n], self.held[:n]
        if n:
            self.end, self.held = self.end[n:], self.held[n:]
        return due
