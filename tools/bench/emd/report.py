"""Report of the experiments of paper 000: docs/results/000.md, its tables and plots."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.emd import (
    balance,
    case_balance,
    conclusions,
    figures,
    live,
    methods,
    spark_chain,
    spark_speed,
    speed,
)
from bench.emd.comparison import FEWEST, Comparison
from bench.emd.contestants import REFERENCES
from bench.emd.films import LEVELS
from bench.emd.regime_cases import cases
from bench.emd.verdicts import AT_ONCE_S, CLAIMS
from bench.live_pairs import EVERY_S
from bench.progress import Echo, Row
from bench.report import Effort, Measured, Plot, Report

SECONDS, CUT_PERIODS, ROUNDS = 20, 20, 5
"""Seconds of the streams on which balance is measured, stretches of 2.5 s of the film with a cut, and rounds."""

COMPARED = ("line", "clips", "grid", "matrix", "dense", "head")
"""The parts that compare the methods by θ."""


def _compared(part: str, effort: Effort, echo: Echo) -> Measured:
    methods.warm_up()
    runs, filters = methods.by_threshold(cases()[part], echo)
    return Measured(_tables(part, runs) | {f"{part}_filters": filters}, {"references": REFERENCES, "fewest": FEWEST})


def _windows(effort: Effort, echo: Echo) -> Measured:
    methods.warm_up()
    frames = min(effort.rows, methods.WINDOW_FRAMES)
    runs = methods.by_window(cases()["line"][0], frames, echo)
    return Measured(_tables("windows", runs), {"window_frames": frames})


def _chain(effort: Effort, echo: Echo) -> Measured:
    methods.warm_up()
    return Measured(_tables("chain", methods.by_tasks(cases()["line"][0], echo)), {"chain_frames": methods.TASK_FRAMES})


def _tables(part: str, runs: list[Comparison]) -> dict[str, list[Row]]:
    """Return the tables of a comparison: medians, work, and gains beside A/A."""
    return {
        f"{part}_exact": [each.medians() for each in runs],
        f"{part}_work": [each.work() for each in runs],
        f"{part}_gains": [row for each in runs for row in each.gains()],
    }


def _scales(effort: Effort, echo: Echo) -> Measured:
    return Measured({"scales": methods.by_scale(echo)}, {"levels": LEVELS})


def _cases(effort: Effort, echo: Echo) -> Measured:
    methods.warm_up()
    settings = {"case_frames": case_balance.FRAMES, "case_rate": case_balance.RATE, "case_tasks": case_balance.TASKS}
    return Measured({"cases": case_balance.of_cases(ROUNDS, echo)}, settings)


def _balance(effort: Effort, echo: Echo) -> Measured:
    seconds = min(effort.rows // balance.RATE, SECONDS)
    settings = {"fast": balance.RATE, "seconds": seconds, "many": balance.TASKS, "theta": balance.THRESHOLD}
    settings |= {"period": balance.FEEDBACK_MS, "span": balance.SPAN}
    return Measured({"balance": balance.by_setting(seconds, ROUNDS, echo)}, settings)


def _cut(effort: Effort, echo: Echo) -> Measured:
    cuts = balance.cut(CUT_PERIODS, echo)
    tables = {"cut": [each.row() for each in cuts], "queues": balance.queues(CUT_PERIODS, echo)}
    return Measured(tables, {"busy": f"{balance.BUSY:.0%}".replace("%", " %")}, {"cut": partial(figures.cut, cuts)})


def _speed(effort: Effort, echo: Echo) -> Measured:
    tables = {"speed": speed.by_threshold(effort.rounds, echo), "state": speed.by_window(echo)}
    return Measured(tables, {"full": speed.RATE})


def _spark(effort: Effort, echo: Echo) -> Measured:
    tables = {"spark": spark_speed.by_threshold(effort.rows, effort.rounds, echo)}
    return Measured(tables | {"spark_state": spark_speed.by_window(echo)})


def _spark_chain(effort: Effort, echo: Echo) -> Measured:
    joins = spark_chain.spark_cases()
    runs = spark_chain.by_case(joins, effort.rounds, echo)
    frames = ", ".join(f"{join.frames} ({join.name.split(', ')[-1]})" for join in joins)
    return Measured(_by_contestant("spark_chain", runs, spark_chain.MEASURES), {"spark_chain_frames": frames})


def _live(effort: Effort, echo: Echo) -> Measured:
    runs = live.by_case(live.live_cases(), effort.rounds, echo)
    settings = {"live_s": f"{live.SECONDS:g}", "live_every": f"{EVERY_S:g}", "live_at_once": f"{AT_ONCE_S:g}"}
    return Measured(_by_contestant("live", runs, live.MEASURES), settings)


def _by_contestant(part: str, runs: list[Comparison], measures: Sequence[str]) -> dict[str, list[Row]]:
    """Return the tables of a comparison on Spark: a row for each contestant, and gains beside A/A."""
    return {
        part: [row for each in runs for row in each.by_contestant(*measures)],
        f"{part}_gains": [row for each in runs for row in each.gains()],
    }


REPORT = Report(
    "000",
    "emd",
    Path(__file__).with_name("000.md"),
    {
        **{part: partial(_compared, part) for part in COMPARED},
        "windows": _windows,
        "chain": _chain,
        "scales": _scales,
        "cases": _cases,
        "balance": _balance,
        "cut": _cut,
        "speed": _speed,
        "spark": _spark,
        "spark_chain": _spark_chain,
        "live": _live,
    },
    [
        Plot("gains", [f"{part}_gains" for part in COMPARED], figures.gains),
        Plot("feedback", ["balance"], figures.by_period_and_span),
        Plot("tasks", ["balance"], figures.by_tasks),
    ],
    CLAIMS,
    conclusions.CONCLUSIONS,
)


def speeds(effort: Effort, echo: Echo) -> dict[str, list[Row]]:
    """Measure the parts that need no report: the join in closed form, in process and on Spark."""
    return REPORT.measure(effort, echo, ("speed", "spark"))
