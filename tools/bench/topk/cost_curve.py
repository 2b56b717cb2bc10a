"""Experiment on K by cost: the cost of each wait, and the K that calibrations choose, by the prices declared."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.progress import Row
from bench.topk.calibrated import MemoryHistory
from bench.topk.delayed_rankings import Delayed, arrived
from bench.topk.paper_query import TICK_MS
from bench.topk.two_scales import KIND, POLICY, WINDOWS
from tailrace.calibration.recent_winners import RecentWinners
from tailrace.calibration.two_scales.estimate import Estimate
from tailrace.query.calibration_section import CostSection
from tailrace.terminal.plots import Figure, label

TAUS_MS = (1_000, 6_000, 10_000)
SHOWN_MS = 6_000
RATIOS = (0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Prices of correcting a late tuple, in parts of the price of waiting for a second."""

_CURVES = (0.1, 0.5, 2.0)
_WAITS = 100


def k_by_prices(windows: int = WINDOWS) -> list[Row]:
    """Calibrate streams of several mean delays by each ratio of the prices."""
    rows = list[Row]()
    for tau_ms in TAUS_MS:
        history = _history(tau_ms, windows)
        for ratio in RATIOS:
            estimate = _estimate(history, ratio)
            assert estimate.promise_ms is not None
            row: Row = {"τ s": tau_ms / 1000, "correcting / waiting": ratio, "K s": estimate.k_ms / 1000}
            rows.append(row | {"needed s": estimate.promise_ms / 1000})
    return rows


def draw(rows: list[Row], file: Path, windows: int = WINDOWS) -> None:
    """Draw the cost of each wait at some ratios of the prices, and K by the ratio."""
    history = _history(SHOWN_MS, windows)
    with Figure(file, 2) as (cost, k):
        for number, ratio in enumerate(_CURVES):
            estimate = _estimate(history, ratio)
            assert estimate.cost is not None
            colour, name = f"C{number}", f"correcting a tuple costs {ratio:g} s of waiting"
            cost.plot(estimate.durations / 1000, estimate.cost, color=colour, label=name)
            at_k = estimate.cost[estimate.durations == estimate.k_ms]
            cost.plot([estimate.k_ms / 1000], at_k, "o", color=colour)
        for number, tau_ms in enumerate(TAUS_MS, start=len(_CURVES)):
            mine = [row for row in rows if row["τ s"] == tau_ms / 1000]
            colour, ratios = f"C{number}", [row["correcting / waiting"] for row in mine]
            k.plot(ratios, [row["K s"] for row in mine], "o-", ms=3, color=colour, label=f"τ = {tau_ms / 1000:g} s")
            k.axhline(mine[0]["needed s"], color=colour, lw=0.8, ls=":")
        k.set_xscale("log")
        k.legend(title="dotted: what the accuracy needs", fontsize="small")
        cost.legend(fontsize="small")
        label(cost, f"cost of a window, τ = {SHOWN_MS / 1000:g} s", "wait in s (point: K)", "cost in s of waiting")
        label(k, "K by the prices", "price of correcting a tuple, in s of waiting", "K in s")


def _history(tau_ms: int, windows: int) -> MemoryHistory:
    return MemoryHistory(arrived(Delayed(tau_ms).tuples(windows, np.random.default_rng(0))))


def _estimate(history: MemoryHistory, ratio: float) -> Estimate:
    policy, prices = POLICY.model_copy(update={"durations": _WAITS}), CostSection(waiting=1.0, correcting=ratio)
    return RecentWinners(KIND, history, policy, TICK_MS, prices=prices).estimate(None).estimate
