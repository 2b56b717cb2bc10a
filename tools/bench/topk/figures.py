"""Plots of paper 001: figure 6 (section 3.2) and the additions of the errata, drawn from measured runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.progress import Row
from bench.simulate import Simulated
from bench.topk.drift import AFTER_MS, Followed
from bench.topk.methods import whole
from bench.topk.paper_query import ACCURACY, expected_hit_rate, smallest_slack_ms
from bench.topk.promise import TAUS_MS
from tailrace.terminal.plots import Figure, label

_COLOURS = {"adaptive": "tab:blue", "sma": "tab:red", "mintopk": "tab:orange", "gstopk": "tab:green"}
_RULES = {"ours": "tab:blue", "the paper's": "tab:red", "two_scales": "tab:purple"}
_NEWEST = 30
_BAR = 0.2  # the width of a bar; between the groups there is a gap


def over_time(runs: dict[str, Simulated], file: Path) -> None:
    """Draw figure 6 (a) and (b): accuracy and latency over run time, as means of the newest 30 windows."""
    with Figure(file, 2) as (accuracy, latency):
        for method, run in runs.items():
            windows = whole(run)
            minutes = (windows["closed"] - run.frontier.end[0]) / 60_000
            mean_accuracy, mean_latency = (
                column.rolling(_NEWEST, min_periods=1).mean() for column in (1 - windows["error"], windows["latency_s"])
            )
            accuracy.plot(minutes, 100 * mean_accuracy, color=_COLOURS[method], label=method, lw=1.3)
            latency.plot(minutes, mean_latency, color=_COLOURS[method], lw=1.3)
        accuracy.axhline(100 * ACCURACY, color="black", lw=0.8, ls=":", label="ε")
        label(accuracy, "accuracy over run time", "run time in min", "share of the correct top-k in %")
        label(latency, "latency over run time", "run time in min", "from a window's end to its answer in s")
        latency.set_ylim(bottom=0)


def by_disorder(rows: list[Row], file: Path) -> None:
    """Draw figure 6 (c): accuracy by disorder, over the second half of the run, and the latency that it takes."""
    disorders = list(dict.fromkeys(row["disorder"] for row in rows))
    panels = {
        "accuracy, settled": (100, "share of the correct top-k in %"),
        "latency s, settled": (1, "from a window's end to its answer in s"),
    }
    with Figure(file, 2) as axes:
        for ax, (name, (scale, y_label)) in zip(axes, panels.items(), strict=True):
            for index, (method, colour) in enumerate(_COLOURS.items()):
                heights = [scale * row[name] for row in rows if row["method"] == method]
                bars = ax.bar(np.arange(len(heights)) + _BAR * index, heights, _BAR, color=colour, label=method)
                ax.bar_label(bars, fmt="{:.1f}", padding=1, fontsize=7)
            label(ax, "by disorder", "", y_label)
            ax.set_xticks(np.arange(len(disorders)) + _BAR * (len(_COLOURS) - 1) / 2, disorders)
        axes[0].axhline(100 * ACCURACY, color="black", lw=0.8, ls=":", label="ε")


def hit_rates(rows: list[Row], file: Path) -> None:
    """Draw measured hit rates, with two standard errors, beside the formula's."""
    with Figure(file) as (ax,):
        for number, tau_ms in enumerate(TAUS_MS):
            tau_rows = [row for row in rows if row["τ s"] == tau_ms / 1000]
            waits = np.linspace(0, max(row["K s"] for row in tau_rows), 100)
            lag = tau_rows[0]["lag s"]
            ax.plot(
                waits,
                [100 * expected_hit_rate(1000 * (wait + lag), tau_ms) for wait in waits],
                color=f"C{number}",
                lw=1,
            )
            points = [row["K s"] for row in tau_rows], [100 * row["hit rate"] for row in tau_rows]
            noise = [200 * row["share ±"] for row in tau_rows]
            ax.errorbar(*points, noise, fmt="o", ms=4, color=f"C{number}", label=f"τ = {tau_ms / 1000:g} s")
        ax.axhline(100 * ACCURACY, color="black", lw=0.8, ls=":", label="ε")
        label(
            ax,
            "hit rates: measured (± 2 standard errors), and by the formula",
            "K in s",
            "share of the correct top-k in %",
        )


def drift(results: list[Followed], file: Path) -> None:
    """Draw the slack K (allowed lateness) and the accuracy of answers around a jump of τ in mid-stream."""
    with Figure(file, 2) as (k, accuracy):
        for result in results:
            k.step(
                [(step.at_ms - result.jump_ms) / 60_000 for step in result.steps],
                [step.k_ms / 1000 for step in result.steps],
                where="post",
                color=_RULES[result.rule],
                label=result.rule,
            )
            minutes = (result.windows["closed"] - result.jump_ms) / 60_000
            rate = (1 - result.windows["error"]).rolling(_NEWEST, min_periods=1).mean()
            accuracy.plot(minutes, 100 * rate, color=_RULES[result.rule], lw=1.2)
        k.axhline(smallest_slack_ms(AFTER_MS) / 1000, color="black", lw=0.8, ls=":", label="ε, and K* after the jump")
        accuracy.axhline(100 * ACCURACY, color="black", lw=0.8, ls=":")
        label(k, "K", "arrival time from the jump in min", "K in s")
        label(accuracy, "accuracy of answers", "arrival time from the jump in min", "share of the correct top-k in %")
