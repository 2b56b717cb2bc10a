"""Report of the experiments of paper 001: docs/results/001.md, its tables and plots."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench import side_by_side
from bench.progress import Echo
from bench.report import Effort, Measured, Plot, Report
from bench.topk import drift, figures, methods, promise
from bench.topk.paper_query import ACCURACY, K
from bench.topk.speed import speeds
from bench.topk.verdicts import CLAIMS
from bench.workloads import CASES

IN_PROCESS = 16_000_000
"""Upper bound on the rows of the in-process measurement: more than two windows and K, so that panes expire."""


def _methods(effort: Effort, echo: Echo) -> Measured:
    runs, of_medium = methods.methods(echo)
    settings = {"accuracy": ACCURACY, "k": K, "rate": methods.RATE, "seconds": methods.SECONDS}
    settings |= {"seeds": len(methods.SEEDS)}
    tables = {"methods": methods.by_method(runs), "runs": runs}
    return Measured(tables, settings, {"time": partial(figures.over_time, of_medium)})


def _hits(effort: Effort, echo: Echo) -> Measured:
    return Measured({"hits": promise.hit_rates(echo)}, {"slow": promise.RATE, "windows": promise.WINDOWS})


def _settled(effort: Effort, echo: Echo) -> Measured:
    settings = {"many": promise.MANY, "hours": promise.HOURS, "left": promise.SETTLED}
    return Measured({"settled": promise.settled(echo)}, settings)


def _drift(effort: Effort, echo: Echo) -> Measured:
    results = drift.drift(echo)
    tables = {"drift": [row for result in results for row in result.rows()], "needed": drift.needed()}
    return Measured(tables, plots={"drift": partial(figures.drift, results)})


def _speed(effort: Effort, echo: Echo) -> Measured:
    return Measured({"speed": speeds(min(effort.rows, IN_PROCESS), effort.rounds, echo)})


def _spark(effort: Effort, echo: Echo) -> Measured:
    passes = side_by_side.bench(effort.rows, effort.files, effort.rounds, CASES["topk"], echo, effort.flink)
    return Measured({"spark": side_by_side.summary(passes)}, {"event_s": effort.rows // CASES["topk"][0].rate})


REPORT = Report(
    "001",
    "topk",
    Path(__file__).with_name("001.md"),
    {
        "methods": _methods,
        "hits": _hits,
        "settled": _settled,
        "drift": _drift,
        "speed": _speed,
        "spark": _spark,
    },
    [Plot("disorder", ["methods"], figures.by_disorder), Plot("hits", ["hits"], figures.hit_rates)],
    CLAIMS,
)
