"""Plots of paper 000: figures 4 and 6 to 14 (section 6.2) and a cut in a film, drawn from measured runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.emd.balance import METHODS, CutRun, is_default, of_setting
from bench.progress import Row
from tailrace.terminal.plots import Figure, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = dict(zip(METHODS, ("tab:blue", "tab:orange", "tab:green"), strict=True))
_JOINS = ("tab:blue", "tab:red")


def gains(*parts_and_file: Any) -> None:
    """Draw the median gain over ShuffleJ in each join, with its range, beside the spread of A/A (figures 9 to 11)."""
    *parts, file = parts_and_file
    rows = [row for part in parts for row in part if row["over"] == "shuffle" and row["share median"] is not None]
    measures = list(dict.fromkeys(row["gain"] for row in rows))
    with Figure(file, 2, (len(measures) + 1) // 2) as axes:
        for ax, measure in zip(axes, measures, strict=False):
            mine = [row for row in rows if row["gain"] == measure]
            for at, row in enumerate(mine):
                least, middle, most, chance = (
                    100 * row[f"share {name}"] for name in ("least", "median", "greatest", "A/A")
                )
                ax.barh(at, 2 * chance, left=-chance, color="lightgrey")
                ax.errorbar(middle, at, xerr=[[middle - least], [most - middle]], fmt="o", color="tab:blue", capsize=3)
            ax.set_yticks(range(len(mine)), [f"{row['case']}, θ {row['θ']}" for row in mine], fontsize=7)
            label(ax, f"{measure} than shuffle", "%; grey: the spread of A/A", "")


def by_period_and_span(rows: list[Row], file: Path) -> None:
    """Draw the imbalance by the feedback period (figure 6) and by the span's width (figure 7)."""
    with Figure(file, 2) as axes:
        for ax, setting in zip(axes, ("feedback ms", "span"), strict=True):
            for colour, join in zip(_JOINS, dict.fromkeys(row["join"] for row in rows), strict=True):
                mine = of_setting(rows, join, setting)
                values = [row["imbalance of work"] for row in mine]
                ax.plot([row[setting] for row in mine], values, "o-", color=colour, label=join)
            label(ax, f"imbalance by {setting}", setting, "imbalance of work")
            ax.set_xscale("log")
            ax.set_ylim(bottom=0)


def by_tasks(rows: list[Row], file: Path) -> None:
    """Draw imbalance (figure 8) and throughput (figure 14) by the number of tasks."""
    rows = [row for row in rows if row["method"] != "emd_ddsj" or is_default(row, "tasks")]
    measures = {"imbalance of work": "imbalance of work", "R-tuples/s": "tuples of R a second"}
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
        mine = sorted((row for row in rows if row["method"] == method), key=lambda row: row[setting])
        values = [row[setting] for row in mine]
        ax.plot(values, [row[measure] for row in mine], "o-", color=_COLOURS[method], label=method, lw=1.3, ms=4)
