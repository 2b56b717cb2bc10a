"""Plots of paper 002: its figures (section 2), drawn from measured runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.aggregate.accumulated import accumulated
from bench.aggregate.games import GAP_MS
from bench.progress import Row
from bench.simulate import Simulated
from tailrace.terminal.plots import Figure, label
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


def buffer_sizes(games: Games, file: Path) -> None:
    """Draw figure 3: the slack K (allowed lateness) over arrival time.

    It shows means of 2 s, since the controllers swing faster than can be drawn.
    """
    with Figure(file, len(games)) as axes:
        for ax, (game, runs) in zip(axes, games.items(), strict=True):
            for policy, run in runs.items():
                step = ((run.frontier.end - run.frontier.end[0]) // _STEP_MS).astype(np.int64)
                ticks = np.bincount(step)
                mean = np.bincount(step, run.frontier.k_ms)[ticks > 0] / ticks[ticks > 0] / 1000
                seconds = np.flatnonzero(ticks) * _STEP_MS / 1000
                ax.plot(seconds, mean, color=_COLOURS[policy], label=policy, lw=1.2)
            label(ax, game, "arrival time in s", "K in s")
            ax.set_yscale("symlog", linthresh=0.1)
            ax.set_ylim(bottom=0)


def latencies(games: Games, file: Path) -> None:
    """Draw figure 4: the mean time from a tuple's arrival to an answer that includes it."""
    with Figure(file, len(games)) as axes:
        for ax, (game, runs) in zip(axes, games.items(), strict=True):
            for index, (policy, run) in enumerate(runs.items()):
                bar = ax.bar(index, run.latency_ms / 1000, color=_COLOURS[policy], label=policy)
                ax.bar_label(bar, fmt="{:.2f}", padding=2)
            label(ax, game, "", "mean latency in s")
            ax.set_xticks([])
            ax.margins(y=0.12)


def accuracies(games: Games, windows: Sliding, file: Path) -> None:
    """Draw figure 5: the accuracy of all windows closed so far, in percent."""
    with Figure(file, len(games)) as axes:
        for ax, (game, runs) in zip(axes, games.items(), strict=True):
            for policy in ("aq_k_slack", "hybrid", "quantile"):
                run = runs[policy]
                at_ms = np.linspace(run.frontier.end[0], run.frontier.end[-1], _POINTS).astype(np.int64)
                seconds = (at_ms - at_ms[0]) / 1000
                ax.plot(
                    seconds, 100 * accumulated(run, windows, at_ms, None), color=_COLOURS[policy], label=policy, lw=1
                )
                if policy != "aq_k_slack":  # it has no batch side
                    corrected_accuracy = 100 * accumulated(run, windows, at_ms, GAP_MS)
                    corrected_label = f"{policy}, corrected by Γ"
                    ax.plot(seconds, corrected_accuracy, color=_COLOURS[policy], label=corrected_label, lw=2, ls="--")
            label(ax, game, "arrival time in s", "accumulated accuracy in %")


def throughputs(rows: list[Row], file: Path) -> None:
    """Draw figure 6: rows a second by the number of tasks, as medians of the rounds."""
    games = list(dict.fromkeys(row["game"] for row in rows))
    with Figure(file) as axes:
        for game in games:
            game_rows = [row for row in rows if row["game"] == game]
            axes[0].plot(
                [row["tasks"] for row in game_rows], [row["rows/s"] / 1e6 for row in game_rows], "o-", label=game
            )
        label(axes[0], "throughput by parallelism", "tasks", "million rows a second")
        axes[0].set_ylim(bottom=0)
        axes[0].set_xticks(sorted({row["tasks"] for row in rows}))
