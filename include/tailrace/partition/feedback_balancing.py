"""Feedback balancing by spans (paper 000, section 4): makes the next partition plan from the tasks' measured load.

In the paper the load is the number of exact EMDs, which dominate the cost of a task (eq. 6); here the caller measures
the load. The plan follows Algorithm 2 (DataLocalityGrouping), with five deviations:

- Line 7. Eq. (8) gives each task the mean load. A task whose last span exceeds that (line 15) leaves too little to the
  last tasks; and where V_est^i exceeds the mean, L_i is negative. Here the lowest level at which every span finds a
  place replaces the mean, L_i = level − V_est^i, and no task exceeds its L_i. A task with L_i ≤ 0 gets no load. The
  level is found again for the tasks that remain after each one, as otherwise the last ones could be left without load.
- Line 12. As printed, each task begins with the first span again. Here it begins where the task before it ended.
- Line 13. A hot span counts for no budget as printed, so its two tasks also get their full share of other spans. Here
  half its load counts for each.
- Lines 18 and 19. A hot span amid the spans of task i goes, as printed, to tasks i−1 and i; the text says, to the two
  tasks beside it. Here there is always a bound at a hot span, so both hold. Random halves are by the hash of the id.
- Line 16. As printed, the outermost tasks have all spans beyond those that were measured. When all keys move away (a
  cut in a film), one task has them all. Here the plan ends with the spans measured, and `BySpan` spreads the others.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tailrace.ground.arrow.columns import Floats, Ints, group_sums

_ROUNDING = 1 + 1e-9  # multiple of the mean, which keeps hot spans fewer than tasks, even if sums are rounded
_STEPS = 24  # bisections of the level, to less than a 10^7th of the load


def next_plan(
    plan: Mapping[str, Any] | None, spans: Ints | Floats, load: Floats, estimated: Floats, tasks: int
) -> Mapping[str, Any] | None:
    """Make the partition plan of the next feedback period, for `BySpan`.

    Parameters
    ----------
    plan : mapping or None
        The plan in force.
    spans, load : ndarray, shape (m,)
        The load of a span in a task and batch; spans may repeat. Spans as doubles are accepted.
    estimated : ndarray, shape (tasks,)
        V_est: the pending load of each task (`estimated_load`); 0 if every batch is finished.

    Returns
    -------
    mapping or None
        {"bounds": [b_0, …, b_k], "hot": [span, …]}; the plan in force without load.
    """
    spans, (load,) = group_sums(spans.astype(np.int64), load)  # line 5
    if not load.any():
        return plan
    hot = load > (estimated.sum() + load.sum()) / tasks * _ROUNDING  # lines 8 to 10
    starts = _Spans(load, np.flatnonzero(hot).tolist()).divide(estimated.tolist())
    bounds = np.append(spans, spans[-1] + 1)[[0, *starts, len(spans)]]
    return {"bounds": bounds.tolist(), "hot": spans[hot].tolist()}


def estimated_load(received: Ints | Floats, processed: Ints | Floats, load: Floats) -> Floats:
    """Estimate the load of the tuples that each task has not processed yet, V_est (eq. 7); shape (tasks,).

    For a task that has processed none, the mean load of a tuple over all tasks is used, as eq. (7) leaves this case
    open.

    Parameters
    ----------
    received, processed : ndarray, shape (tasks,)
        |R_i| and |R'_i|: the tuples of R that a task received for a feedback period and processed; fractions count,
        too.
    load : ndarray, shape (tasks,)
        N_EMD^i: the exact EMDs of the processed tuples.
    """
    mean = load.sum() / max(processed.sum(), 1)
    each = np.divide(load, processed, out=np.full(len(load), float(mean)), where=processed > 0)
    return np.asarray((received - processed) * each)


def load_imbalance(load: Floats) -> float:
    """Return (max − mean) / mean of the tasks' load (figures 6 and 8); 0 without load."""
    mean = load.mean()
    return float((load.max() - mean) / mean) if mean else 0.0


@dataclass(frozen=True)
class _Spans:
    """Spans in order, shape (n,), which are divided among tasks.

    Attributes
    ----------
    load : ndarray, shape (n,)
    hot : list of int
        The indices of the hot spans, ascending.
    """

    load: Floats
    hot: list[int]

    @cached_property
    def before(self) -> list[float]:
        """The load of all spans before each one and, as the last element, of all: n + 1 numbers."""
        return [0.0, *np.cumsum(self.load).tolist()]

    def divide(self, estimated: list[float]) -> list[int]:
        """Return the index of each task's first span, except the first task's (lines 11 to 19); n if it has none."""
        first, half, starts = 0, 0.0, []
        for task in range(len(estimated) - 1):
            pending = [estimated[task] + half, *estimated[task + 1 :]]
            level = self._lowest_level(first, pending)
            start, first, half = self._fill(first, level - pending[0], level - pending[1])
            starts.append(start)
        return starts

    def _lowest_level(self, first: int, pending: list[float]) -> float:
        """Return the lowest level at which the spans from `first` on fit into the tasks with these pending loads."""
        low, high = 0.0, max(pending) + self.before[-1] - self.before[first]
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._fits(first, pending, middle) else (middle, high)
        return high

    def _fits(self, first: int, pending: list[float], level: float) -> bool:
        rooms = [*(level - each for each in pending), -np.inf]  # no task follows the last one
        half = 0.0
        for room, next_room in pairwise(rooms):
            _, first, half = self._fill(first, room - half, next_room)
        return first == len(self.load)

    def _fill(self, first: int, room: float, next_room: float) -> tuple[int, int, float]:
        """Fill a task with spans from `first` on, up to its room or a hot span.

        The task also gets half of the hot span if both halves fit.

        Returns
        -------
        start, first : int
            The first span of the next task, and the first span that is not placed yet, one further after a hot span.
        half : float
            The half of a hot span's load that the next task gets.
        """
        ahead = bisect_left(self.hot, first)
        hot = self.hot[ahead] if ahead < len(self.hot) else len(self.load)
        end = bisect_right(self.before, self.before[first] + room) - 1
        start = max(first, min(end, hot))
        if start == hot < len(self.load):
            half = float(self.load[hot] / 2)
            if half <= min(room - (self.before[hot] - self.before[first]), next_room):
                return start, start + 1, half
        return start, start, 0.0
