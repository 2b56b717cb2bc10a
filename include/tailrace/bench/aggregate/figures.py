"""The paper's figures (002, section 2), drawn from measured runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tailrace.bench.aggregate.accumulated import accumulated
from tailrace.bench.aggregate.games import GAP_MS
from tailrace.bench.plots import Figure, label
from tailrace.bench.progress import Row
from tailrace.bench.simulate import Simulated
from tailrace.windows.sliding import Sliding

_COLOURS = {
    "none": "tab:gray",
    "mp_k_slack": "tab:red",
    "aq_k_slack": "tab:orange",
    "hybrid": "tab:blue",
    "quantile": "tab:green",
}
_POINTS, _STEP_MS = 270, 2000
Games = dict[str, dict[str, Simulated]]


def buffer_sizes(found: Games, file: Path) -> None:
    """Figure 3: K over arrival time, the mean of each 2 s: the controllers swing faster than can be drawn."""
    with Figure(file, len(found)) as axes:
        for ax, (game, runs) in zip(axes, found.items(), strict=True):
            for policy, run in runs.items():
                step = ((run.frontier.end - run.frontier.end[0]) // _STEP_MS).astype(np.int64)
                ticks = np.bincount(step)
                mean = np.bincount(step, run.frontier.k_ms)[ticks > 0] / ticks[ticks > 0] / 1000
                seconds = np.flatnonzero(ticks) * _STEP_MS / 1000
                ax.plot(seconds, mean, color=_COLOURS[policy], label=policy, lw=1.2)
            label(ax, game, "arrival time in s", "K in s")
            ax.set_yscale("symlog", linthresh=0.1)
            ax.set_ylim(bottom=0)


def latencies(found: Games, file: Path) -> None:
    """Figure 4: the mean time from a tuple's arrival to an answer that holds it."""
    with Figure(file, len(found)) as axes:
        for ax, (game, runs) in zip(axes, found.items(), strict=True):
            for place, (policy, run) in enumerate(runs.items()):
                bar = ax.bar(place, run.latency_ms / 1000, color=_COLOURS[policy], label=policy)
                ax.bar_label(bar, fmt="{:.2f}", padding=2)
            label(ax, game, "", "mean latency in s")
            ax.set_xticks([])
            ax.margins(y=0.12)


def accuracies(found: Games, windows: Sliding, file: Path) -> None:
    """Figure 5: the accuracy of all windows closed so far, in percent."""
    with Figure(file, len(found)) as axes:
        for ax, (game, runs) in zip(axes, found.items(), strict=True):
            for policy in ("aq_k_slack", "hybrid", "quantile"):
                run = runs[policy]
                at = np.linspace(run.frontier.end[0], run.frontier.end[-1], _POINTS).astype(np.int64)
                seconds = (at - at[0]) / 1000
                ax.plot(seconds, 100 * accumulated(run, windows, at, None), color=_COLOURS[policy], label=policy, lw=1)
                if policy != "aq_k_slack":  # it has no batch side
                    corrected = 100 * accumulated(run, windows, at, GAP_MS)
                    told = f"{policy}, corrected by Γ"
                    ax.plot(seconds, corrected, color=_COLOURS[policy], label=told, lw=2, ls="--")
            label(ax, game, "arrival time in s", "accumulated accuracy in %")


def throughputs(rows: list[Row], file: Path) -> None:
    """Figure 6: rows a second by the number of tasks, the medians of the rounds."""
    games = list(dict.fromkeys(row["game"] for row in rows))
    with Figure(file) as axes:
        for game in games:
            mine = [row for row in rows if row["game"] == game]
            axes[0].plot([row["tasks"] for row in mine], [row["rows/s"] / 1e6 for row in mine], "o-", label=game)
        label(axes[0], "throughput by parallelism", "tasks", "million rows a second")
        axes[0].set_ylim(bottom=0)
        axes[0].set_xticks(sorted({row["tasks"] for row in rows}))
