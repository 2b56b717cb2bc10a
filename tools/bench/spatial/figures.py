"""Plots of paper 003: figures 11 to 15 (section 3.2), drawn from measured runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.progress import Row
from bench.spatial.joins import BIN_MINUTES, JOINS, METHODS
from tailrace.terminal.plots import Figure, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = dict(zip(METHODS, ("tab:blue", "tab:orange"), strict=True))
_STYLES = dict(zip(JOINS, ("o-", "s--"), strict=True))
_RATE, _LENGTH = "tuples a second", "length of the interval or window in minutes"
_LARGE = 100  # numbers without decimals
_ROOM = 1.08  # of an axis, over the largest value


def table(rows: Sequence[Row], file: Path) -> None:
    """Draw the throughput and the time of a small batch for each method of the table join (figure 11)."""
    methods = [row["method"] for row in rows]
    batch = next(name for name in rows[0] if name.startswith("ms for"))
    with Figure(file, 2) as axes:
        for ax, name, y_label in zip(axes, ("points/s", batch), ("points a second", batch), strict=True):
            bars = ax.bar(methods, [row[name] for row in rows], 0.6, color="tab:blue")
            ax.bar_label(bars, [f"{row[name]:,.0f}" if row[name] >= _LARGE else f"{row[name]:.2f}" for row in rows])
            label(ax, "join with the districts, one core in process", "", y_label)
            ax.margins(y=0.15)
        axes[0].set_yscale("log")


def by_parallelism(in_process: Sequence[Row], to_16: Sequence[Row], on_spark: Sequence[Row], file: Path) -> None:
    """Draw the throughput of both joins by parallelism, in process and on Spark (figure 12)."""
    places = {"in process": in_process, "in process, longer streams": to_16, "Spark": on_spark}
    with Figure(file, len(places)) as axes:
        for ax, (region, rows) in zip(axes, places.items(), strict=True):
            _lines(ax, rows, "tasks", "tuples/s")
            label(ax, region, "tasks", _RATE)
            ax.set_xticks(sorted({row["tasks"] for row in rows}))


def by_length(rows: Sequence[Row], file: Path) -> None:
    """Draw throughput, and the wait for an answer, by the length of the interval or window (figure 13)."""
    with Figure(file, 2) as (rate, wait):
        _lines(rate, rows, "minutes", "tuples/s")
        label(rate, "throughput", _LENGTH, _RATE)
        _lines(wait, [row for row in rows if row["method"] == METHODS[0]], "minutes", "wait s")
        label(
            wait,
            "from a pair's later arrival to its answer",
            "length of the interval or window in minutes",
            "s of stream",
        )


def by_grid(rows: Sequence[Row], file: Path) -> None:
    """Draw throughput, copies, and the largest task's share of pairs by the cells along a side (figure 14)."""
    measures = {"throughput": ("tuples/s", _RATE), "copies": ("copies/tuple", "tasks that a tuple goes to, on average")}
    measures |= {"balance": ("share of pairs, largest task", "share of the pairs in the largest task")}
    with Figure(file, len(measures)) as axes:
        for ax, (title, (measure, y_label)) in zip(axes, measures.items(), strict=True):
            _lines(ax, rows, "grid", measure)
            grids = sorted({row["grid"] for row in rows})
            ax.set_xscale("log", base=2)
            ax.set_xticks(grids, list(map(str, grids)))
            label(ax, f"{title}, {rows[0]['tasks']} tasks", "cells along a side", y_label)


def by_bin(rows: Sequence[Row], file: Path) -> None:
    """Draw the throughput of the join by interval by the length of a bin (figure 15)."""
    with Figure(file) as (ax,):
        seconds = [float(row["bin"].split()[0]) for row in rows]
        ax.plot(seconds, [row["tuples/s"] for row in rows], "o-", color=_COLOURS["indexed"], label="interval, indexed")
        ax.axvline(60 * BIN_MINUTES, color="black", lw=0.8, ls=":", label="the interval's length")
        ax.set_xscale("log")
        ax.set_xticks(seconds, [f"{each:g}" for each in seconds])
        ax.minorticks_off()
        _from_zero(ax, rows, "tuples/s")
        label(ax, "throughput by bin", "length of a bin in s", _RATE)


def _lines(ax: Axes, rows: Sequence[Row], setting: str, measure: str) -> None:
    """Draw a measure by a setting, a line for each join and method."""
    for join in JOINS:
        for method in METHODS:
            mine = [row for row in rows if row["join"] == join and row.get("method", METHODS[0]) == method]
            if mine:
                x, y = ([row[name] for row in mine] for name in (setting, measure))
                ax.plot(x, y, _STYLES[join], color=_COLOURS[method], label=f"{join}, {method}", lw=1.3, ms=4)
    _from_zero(ax, rows, measure)


def _from_zero(ax: Axes, rows: Sequence[Row], measure: str) -> None:
    """Let the axis of a measure begin at 0, with thousands separators."""
    ax.set_ylim(0, _ROOM * max(row[measure] for row in rows))
    if ax.get_ylim()[1] >= _LARGE:
        ax.yaxis.set_major_formatter("{x:,.0f}")
