"""Policy `quantile`: slack K (allowed lateness) as a quantile of recent waits, at a level that keeps the promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.arrival_curves import CoverageCurves
from tailrace.disorder.error_model import Floats, Ints, PromisedAnswers
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.disorder.quantile.error_budget import ErrorBudget
from tailrace.disorder.quantile.what_if import LEVELS, WhatIf
from tailrace.disorder.quantile.window_sample import WindowSample
from tailrace.disorder.tick_statistics import TickRows, TickStatistics

_LINEAR_MS, _RATIO, _LONGEST_MS = 20, 1.05, 48 * 3_600_000
_STEPS = np.arange(1, int(np.log(_LONGEST_MS / _LINEAR_MS) / np.log(_RATIO)) + 2)
GRID: Ints = np.concatenate([np.arange(_LINEAR_MS + 1), np.ceil(_LINEAR_MS * _RATIO**_STEPS).astype(np.int64)])
"""Bins of the histograms, by waits in ms: 0, 1, …, 20, then each 5 % longer, up to two days; shape (g,)."""

MEMORIES = np.array([1_000.0, 10_000.0, 100_000.0])
"""Memories of the histograms, in tuples: each tuple multiplies the weight of those before it by e^(−1 / memory)."""

_MIN_MEMORY = 2  # the least memory in windows, even for a dense stream
_MIN_TUPLES = 5  # the least tuples beyond a level in a memory; otherwise the next longer one is used
_ROUNDING = 1 - 1e-12  # tolerance for the rounding errors of doubles


def cells(wait: Ints) -> Ints:
    """Return the index in `GRID` of each wait, rounded up; waits beyond it fall in the last bin."""
    return np.searchsorted(GRID[:-1], wait)


@dataclass
class LatenessHistogram:
    """Decayed histograms of the waits of tuples, one for each memory.

    A tuple's *wait* is the least K with which no window would have missed it. A *level* is a share of tuples; its K is
    the least wait that at most this share exceeds. Small levels use a longer memory, which has enough tuples beyond
    them.

    Attributes
    ----------
    weights : ndarray, shape (3, g)
        Decayed number of tuples by memory and wait.
    """

    weights: Floats

    @staticmethod
    def restore(state: PolicyState) -> LatenessHistogram:
        shape = len(MEMORIES), len(GRID)
        return LatenessHistogram(state.get("waits", np.zeros(shape)).reshape(shape).copy())

    def checkpoint(self) -> PolicyState:
        return {"waits": self.weights.ravel()}

    def add(self, cell: Ints, count: Ints, elapsed: float) -> CumulativeLateness:
        """Add a tick's tuples, after decaying the weights, and return the cumulative histograms.

        Parameters
        ----------
        cell, count : ndarray, shape (m,)
            Indices in `GRID`, and the number of tuples of each.
        elapsed : float
            Arrival time since the previous tick, in sizes of a window.
        """
        age = np.minimum(count.sum() / MEMORIES, elapsed / _MIN_MEMORY)
        self.weights *= np.exp(-age)[:, None]
        self.weights += np.bincount(cell, count, len(GRID))
        return CumulativeLateness(np.cumsum(self.weights, axis=1))


@dataclass(frozen=True)
class CumulativeLateness:
    """Cumulative histograms: the tuples with at most each wait, by memory; shape (3, g)."""

    upto: Floats

    def at(self, levels: Floats) -> Ints:
        """Return K in ms of each level, shape (n,); the levels must be descending."""
        memory = np.searchsorted(MEMORIES[:-1], _MIN_TUPLES / levels)
        k_ms = np.empty(len(levels), np.int64)
        for i in range(len(MEMORIES)):
            in_memory, upto = memory == i, self.upto[i]
            k_ms[in_memory] = GRID[np.searchsorted(upto[:-1], (1 - levels[in_memory]) * upto[-1] * _ROUNDING)]
        return np.maximum.accumulate(k_ms)

    def at_one(self, level: float) -> int:
        """Return K (ms) for a single level."""
        upto = self.upto[np.searchsorted(MEMORIES[:-1], _MIN_TUPLES / level)]
        return int(GRID[np.searchsorted(upto[:-1], (1 - level) * upto[-1] * _ROUNDING)])


_REMAINDER = 0.125  # times `error` · `risk`: the share of a window that may be missing when it is judged
_SIMULATED_LEVELS, _OWN_LEVEL = slice(0, len(LEVELS)), slice(len(LEVELS), None)


class Quantile(PromisingPolicy):
    """Slack K = the shortest wait that at most a share of the newest tuples exceeds; this share is the *level*.

    Decaying histograms of the waits of tuples, primarily of the newest thousand, give K for a level. In a burst K rises
    within a fraction of a second, and falls after it. A single very late tuple is one of a thousand.

    The level that keeps the promise depends on the delays, the values, the function, and the number of tuples in a
    window. No assumption is made about these. A ladder of levels is simulated (`what_if`): ticks determine the tuples
    that every window would have held with each level. Once nearly all of a window's tuples have arrived, a sample of
    the partials (`window_sample`) shows with which levels its answers would have been off by `error` or more. The
    shares of such answers give the largest level that keeps the promise, with a margin for uncertainty; and a smaller
    level while more answers were off than promised (`error_budget`). Each promised column of answers has its own
    budget, and the least of their levels counts.

    Until the first windows are judged the level is `error` · `risk`, which keeps the promise whatever the delays are
    (Markov's inequality). Each window that is judged good counts at once: from the first one on the level rises and K
    falls.

    Setting a quantile by its recent failures is the idea of adaptive conformal inference [1]_.

    References
    ----------
    .. [1] Gibbs, Candès. Adaptive conformal inference under distribution shift. NeurIPS 2021.
    """

    policy: Literal["quantile"]

    def slack(self, stats: TickStatistics, state: PolicyState) -> tuple[NDArray[np.int64], PolicyState]:
        before = np.append(state.get("t_max", stats.t_max[0]), stats.t_max[:-1])
        run = _Run.restore(self, stats, before, state)
        counts, wait = (
            stats.counts,
            before[stats.counts.at] - stats.windows.pane_end(stats.counts["pane"]) + 1,
        )
        counts = TickRows(counts.at, counts.columns | {"cell": cells(np.maximum(wait, 0))})
        elapsed = np.diff(stats.ticks.end, prepend=state.get("tick_end", stats.ticks.end[0])) / stats.windows.size_ms
        k_ms = np.empty(len(stats), np.int64)
        for i in range(len(stats)):
            tick = counts.between(i, i + 1)
            k_ms[i] = run.tick(i, tick["cell"], tick["count"], float(elapsed[i]), int(before[i]), int(stats.t_max[i]))
        newest = {"t_max": int(stats.t_max[-1]), "tick_end": int(stats.ticks.end[-1])}
        return k_ms, run.checkpoint(newest["t_max"]) | newest


@dataclass
class _Run:
    """Working state of a `Quantile` policy during a call."""

    policy: Quantile
    promised: PromisedAnswers
    lateness: LatenessHistogram
    what_if: WhatIf
    sample: WindowSample
    budgets: dict[str, ErrorBudget]
    level: float
    curves: CoverageCurves

    @staticmethod
    def restore(policy: Quantile, stats: TickStatistics, before: Ints, state: PolicyState) -> _Run:
        promised = policy.promised(stats)
        return _Run(
            policy,
            promised,
            LatenessHistogram.restore(state),
            WhatIf.restore(stats.windows, state),
            WindowSample.restore(stats.windows, promised, state, stats.sample, before[stats.sample.at]),
            {name: ErrorBudget.restore(state, name) for name in promised.names},
            state.get("level", policy.error * policy.risk),
            stats.curves,
        )

    def checkpoint(self, t_max: int) -> PolicyState:
        parts = self.lateness.checkpoint() | self.what_if.checkpoint() | self.sample.checkpoint(self.what_if.end, t_max)
        for name, budget in self.budgets.items():
            parts |= budget.checkpoint(name)
        return parts | {"level": self.level}

    def tick(self, i: int, cell: Ints, count: Ints, elapsed: float, before: int, t_max: int) -> int:
        """Process the tick with index `i` and return K at its end."""
        totals = self.lateness.add(cell, count, elapsed)
        horizon = totals.at_one(_REMAINDER * self.policy.error * self.policy.risk)
        self.what_if.add_windows(before, t_max, horizon)
        self.what_if.close(_SIMULATED_LEVELS, t_max, totals.at(LEVELS))
        self._judge(i, *self.what_if.due(t_max - horizon))
        k_ms = totals.at_one(self.level)
        self.what_if.close(_OWN_LEVEL, t_max, k_ms)
        return k_ms

    def _judge(self, i: int, end: Ints, held: Ints) -> None:
        """Judge the answers of windows at the tick with index `i`; `held` has their ages when each level closed."""
        error, risk = self.policy.error, self.policy.risk
        for window, ages in zip(end.tolist(), held, strict=True):
            if self.promised.is_estimated:
                is_off = self.sample.off(window, i, error, ages, self.curves)
            else:
                is_off = self.sample.required_slack(window, i, error)[:, :, None] > ages
            for answers, budget in zip(is_off, self.budgets.values(), strict=True):
                if len(answers):
                    off = answers.sum(axis=0)
                    budget.add(off[_SIMULATED_LEVELS].astype(float), int(off[-1]), len(answers), risk)
        if len(end):
            self.level = min(budget.level(error, risk) for budget in self.budgets.values())
