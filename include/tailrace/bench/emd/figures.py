"""Plots of paper 000: figures 4 and 6 to 14 (section 6.2) and a cut in a film, drawn from measured runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tailrace.bench.emd.balance import CutRun
from tailrace.bench.emd.methods import METHODS
from tailrace.bench.progress import Row
from tailrace.terminal.plots import Figure, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = dict(zip(METHODS, ("tab:blue", "tab:orange", "tab:green"), strict=True))
_JOINS = ("tab:blue", "tab:red")
_MEASURES = {"exact": "exact distances", "latency ms": "mean latency in ms", "R-tuples/s": "tuples of R a second"}


def by_setting(rows: list[Row], setting: str, name: str, file: Path) -> None:
    """Draw exact distances, latency and throughput of every case by θ (figures 9 to 11) or |W| (12 and 13)."""
    cases = list(dict.fromkeys(row["case"] for row in rows))
    with Figure(file, len(_MEASURES), len(cases)) as axes:
        grid = np.array(axes).reshape(len(cases), len(_MEASURES))
        for case, across in zip(cases, grid, strict=True):
            mine = [row for row in rows if row["case"] == case]
            for ax, (measure, y_label) in zip(across, _MEASURES.items(), strict=True):
                _lines(ax, mine, setting, measure)
                ax.set_yscale("symlog" if measure == "exact" else "log")
                if measure == "exact":
                    ax.set_ylim(bottom=0)
                label(ax, case, name, y_label)


def filters(rows: list[Row], file: Path) -> None:
    """Draw the shares of the candidates that both filters of locality decide (figure 4)."""
    cases = list(dict.fromkeys(row["case"] for row in rows))
    with Figure(file, 2) as axes:
        for ax, filter_name in zip(axes, ("feasible", "triangle"), strict=True):
            for index, method in enumerate(METHODS[:2]):
                heights = [100 * row[f"share {filter_name}"] for row in rows if row["method"] == method]
                ax.bar(np.arange(len(cases)) + 0.4 * index, heights, 0.4, color=_COLOURS[method], label=method)
            label(ax, f"filter {filter_name}", "", "share of the candidates in range in %")
            names = [case.replace(", ", ",\n").replace(" with", "\nwith") for case in cases]
            ax.set_xticks(np.arange(len(cases)) + 0.2, names, fontsize=7)


def by_period_and_span(periods: list[Row], spans: list[Row], file: Path) -> None:
    """Draw the imbalance by the feedback period (figure 6) and the throughput by the span's width (figure 7)."""
    with Figure(file, 2) as (imbalance, throughput):
        for colour, join in zip(_JOINS, dict.fromkeys(row["join"] for row in periods), strict=True):
            mine = [row for row in periods if row["join"] == join]
            lengths = [int(row["feedback"].split()[0]) / 1000 for row in mine]
            imbalance.plot(lengths, [row["imbalance of periods"] for row in mine], "o-", color=colour, label=join)
            mine = [row for row in spans if row["join"] == join]
            throughput.plot([row["span"] for row in mine], [row["R-tuples/s"] for row in mine], "o-", color=colour)
        label(imbalance, "imbalance by feedback period", "feedback period in s", "mean imbalance of 2.5 s")
        label(throughput, "throughput by span", "span in grey levels", _MEASURES["R-tuples/s"])
        for ax in (imbalance, throughput):
            ax.set_xscale("log")
            ax.set_ylim(bottom=0)


def by_tasks(rows: list[Row], file: Path) -> None:
    """Draw imbalance (figure 8) and throughput (figure 14) by the number of tasks."""
    measures = {"imbalance of periods": "mean imbalance of 2.5 s", "R-tuples/s": _MEASURES["R-tuples/s"]}
    joins = list(dict.fromkeys(row["join"] for row in rows))
    with Figure(file, len(joins), len(measures)) as axes:
        grid = np.array(axes).reshape(len(measures), len(joins))
        for across, (measure, y_label) in zip(grid, measures.items(), strict=True):
            for ax, join in zip(across, joins, strict=True):
                _lines(ax, [row for row in rows if row["join"] == join], "tasks", measure)
                label(ax, join, "tasks", y_label)
                ax.set_ylim(bottom=0)


def cut(cuts: Sequence[CutRun], file: Path) -> None:
    """Draw the imbalance of each feedback period around a cut in a film."""
    with Figure(file) as (ax,):
        for each in cuts:
            periods = np.arange(len(each.imbalances)) - each.at
            ax.step(periods, each.imbalances, where="post", color=_COLOURS[each.method], label=each.method)
        ax.axvline(0, color="black", lw=0.8, ls=":")
        label(ax, "a cut in a film, 8 tasks", "feedback periods from the cut", "imbalance of a feedback period")


def _lines(ax: Axes, rows: list[Row], setting: str, measure: str) -> None:
    """Draw a measure by a setting, a line for each method."""
    for method in METHODS:
        mine = [row for row in rows if row["method"] == method]
        values = [float(str(row[setting]).split()[0]) for row in mine]
        ax.plot(values, [row[measure] for row in mine], "o-", color=_COLOURS[method], label=method, lw=1.3, ms=4)
