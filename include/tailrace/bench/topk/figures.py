"""The paper's figure 6 (001, section 3.2) and what errata adds to it, drawn from measured runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tailrace.bench.plots import Figure, label
from tailrace.bench.progress import Row
from tailrace.bench.simulate import Simulated
from tailrace.bench.topk.drift import AFTER_MS, Followed
from tailrace.bench.topk.methods import whole
from tailrace.bench.topk.promise import TAUS_MS
from tailrace.bench.topk.runs import ACCURACY, hit, smallest

_COLOURS = {"adaptive": "tab:blue", "sma": "tab:red", "mintopk": "tab:orange", "gstopk": "tab:green"}
_RULES = {"ours": "tab:blue", "the paper's": "tab:red"}
_NEWEST = 30


def over_time(runs: dict[str, Simulated], file: Path) -> None:
    """Figure 6 (a) and (b): accuracy and latency over run time, at the mean of the newest 30 windows."""
    with Figure(file, 2) as (accuracy, latency):
        for method, run in runs.items():
            mine = whole(run)
            minutes = (mine["closed"] - run.frontier.end[0]) / 60_000
            found, late = (
                column.rolling(_NEWEST, min_periods=1).mean() for column in (1 - mine["error"], mine["latency_s"])
            )
            accuracy.plot(minutes, 100 * found, color=_COLOURS[method], label=method, lw=1.3)
            latency.plot(minutes, late, color=_COLOURS[method], lw=1.3)
        accuracy.axhline(100 * ACCURACY, color="black", lw=0.8, ls=":", label="ε")
        label(accuracy, "accuracy over run time", "run time in min", "share of the correct top-k in %")
        label(latency, "latency over run time", "run time in min", "from a window's end to its answer in s")
        latency.set_ylim(bottom=0)


def by_disorder(rows: list[Row], file: Path) -> None:
    """Figure 6 (c): accuracy by disorder, over the second half of the run; and the latency that it takes."""
    disorders = list(dict.fromkeys(row["disorder"] for row in rows))
    shown = {
        "accuracy, settled": (100, "share of the correct top-k in %"),
        "latency s, settled": (1, "from a window's end to its answer in s"),
    }
    with Figure(file, 2) as axes:
        for ax, (name, (scale, what)) in zip(axes, shown.items(), strict=True):
            for place, (method, colour) in enumerate(_COLOURS.items()):
                heights = [scale * row[name] for row in rows if row["method"] == method]
                bars = ax.bar(np.arange(len(heights)) + 0.2 * place, heights, 0.2, color=colour, label=method)
                ax.bar_label(bars, fmt="{:.1f}", padding=1, fontsize=7)
            label(ax, "by disorder", "", what)
            ax.set_xticks(np.arange(len(disorders)) + 0.3, disorders)
        axes[0].axhline(100 * ACCURACY, color="black", lw=0.8, ls=":", label="ε")


def hit_rates(rows: list[Row], file: Path) -> None:
    """Measured hit rates beside the formula, and the K of calibrations beside K*."""
    with Figure(file) as (ax,):
        for number, tau_ms in enumerate(TAUS_MS):
            mine = [row for row in rows if row["τ s"] == tau_ms / 1000]
            waits = np.linspace(0, max(row["K s"] for row in mine), 100)
            lag = mine[0]["lag s"]
            ax.plot(waits, [100 * hit(1000 * (wait + lag), tau_ms) for wait in waits], color=f"C{number}", lw=1)
            points = [row["K s"] for row in mine], [100 * row["hit rate"] for row in mine]
            noise = [200 * row["share ±"] for row in mine]
            ax.errorbar(*points, noise, fmt="o", ms=4, color=f"C{number}", label=f"τ = {tau_ms / 1000:g} s")
        ax.axhline(100 * ACCURACY, color="black", lw=0.8, ls=":", label="ε")
        label(
            ax,
            "hit rates: measured (± 2 standard errors), and by the formula",
            "K in s",
            "share of the correct top-k in %",
        )


def drift(found: list[Followed], file: Path) -> None:
    """τ jumps in mid-stream: K, and the accuracy of answers."""
    with Figure(file, 2) as (k, accuracy):
        for one in found:
            at = [(step.at_ms - one.jump_ms) / 60_000 for step in one.steps]
            k.step(
                at, [step.found.k_ms / 1000 for step in one.steps], where="post", color=_RULES[one.rule], label=one.rule
            )
            minutes = (one.windows["closed"] - one.jump_ms) / 60_000
            rate = (1 - one.windows["error"]).rolling(_NEWEST, min_periods=1).mean()
            accuracy.plot(minutes, 100 * rate, color=_RULES[one.rule], lw=1.2)
        k.axhline(smallest(AFTER_MS) / 1000, color="black", lw=0.8, ls=":", label="ε, and K* after the jump")
        accuracy.axhline(100 * ACCURACY, color="black", lw=0.8, ls=":")
        label(k, "K", "arrival time from the jump in min", "K in s")
        label(accuracy, "accuracy of answers", "arrival time from the jump in min", "share of the correct top-k in %")
