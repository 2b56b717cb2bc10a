"""Report of the experiments of paper 000: measures them and writes docs/results/000.md with its plots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tailrace.bench.emd import balance, figures, methods, spark_speed, speed
from tailrace.bench.emd.films import LEVELS, UNIT
from tailrace.bench.page import Effort, write
from tailrace.bench.progress import Row, Tell

_SECONDS, _CUT_PERIODS = 40, 20
"""Seconds of the streams on which balance is measured, and feedback periods of the film with a cut."""


def report(directory: Path, effort: Effort, tell: Tell) -> Path:
    """Run all experiments and write `000.md`, `000.json` and the plots; return the page's path.

    Streams have `effort.rows` tuples at most, and their own numbers where these are less.
    """
    directory.mkdir(parents=True, exist_ok=True)
    frames = min(effort.rows, methods.FRAMES)
    seconds = min(effort.rows // balance.RATE, _SECONDS)
    methods.warm_up()
    thresholds, windows = methods.by_threshold(frames, tell), methods.by_window(frames, tell)
    compared = methods.compared(thresholds, "threshold")
    tables = {"thresholds": thresholds, "compared": compared, "ranges": methods.ranges(compared)}
    tables |= {"filters": methods.filters(thresholds), "scales": methods.by_scale(frames, tell)}
    tables |= {"windows": windows, "windows_compared": methods.compared(windows, "within")}
    tables |= {"periods": balance.by_period(seconds, tell), "spans": balance.by_span(seconds, tell)}
    tables |= {"tasks_table": balance.by_tasks(seconds, tell)}
    cuts = balance.cut(_CUT_PERIODS, tell)
    tables |= {"cut": [each.row() for each in cuts], "queues": balance.queues(_CUT_PERIODS, tell)}
    tables |= speeds(effort, tell)
    figures.by_setting(thresholds, "threshold", "θ", directory / "000-threshold.png")
    figures.by_setting(windows, "within", "|W| in s", directory / "000-window.png")
    figures.filters(tables["filters"], directory / "000-filters.png")
    figures.by_period_and_span(tables["periods"], tables["spans"], directory / "000-feedback.png")
    figures.by_tasks(tables["tasks_table"], directory / "000-tasks.png")
    figures.cut(cuts, directory / "000-cut.png")
    settings: dict[str, Any] = {
        "frames": frames,
        "rate": methods.RATE,
        "tasks": methods.TASKS,
        "unit": UNIT,
        "levels": LEVELS,
    }
    settings |= {"fast": balance.RATE, "seconds": seconds, "many": balance.TASKS, "theta": balance.THRESHOLD}
    settings |= {"batch": methods.BATCH_MS // 1000, "busy": f"{balance.BUSY:.0%}"}
    settings |= {"full": speed.RATE, "darker": speed.DARKER}
    return write(directory / "000.md", Path(__file__).with_name("000.md"), "emd", effort, settings, tables)


def speeds(effort: Effort, tell: Tell) -> dict[str, list[Row]]:
    """Measure the join in closed form, in process and on Spark: the tables of the page's last section."""
    return {
        "speed": speed.by_threshold(effort.rounds, tell),
        "state": speed.by_window(tell),
        "spark": spark_speed.by_threshold(effort.rows, effort.rounds, tell),
        "spark_state": spark_speed.by_window(tell),
    }
