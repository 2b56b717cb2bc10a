"""Report of the experiments of paper 001: measures them and writes docs/results/001.md with its plots."""

from __future__ import annotations

from pathlib import Path

from tailrace.bench import side_by_side
from tailrace.bench.page import Effort, write
from tailrace.bench.progress import Tell
from tailrace.bench.topk import drift, figures, methods, promise
from tailrace.bench.topk.paper_query import ACCURACY, K
from tailrace.bench.topk.speed import speeds
from tailrace.bench.workloads import CASES

_IN_PROCESS = 16_000_000
"""Upper bound on the rows of the in-process measurement: more than two windows and K, so that panes expire."""


def report(directory: Path, effort: Effort, tell: Tell) -> Path:
    """Run all experiments and write `001.md`, `001.json` and the plots; return the page's path."""
    directory.mkdir(parents=True, exist_ok=True)
    runs = methods.methods(tell)
    figures.over_time(runs["medium"], directory / "001-time.png")
    tables = {"methods": methods.rows(runs), "hits": promise.hit_rates(tell), "settled": promise.settled(tell)}
    figures.by_disorder(tables["methods"], directory / "001-disorder.png")
    figures.hit_rates(tables["hits"], directory / "001-hits.png")
    drift_results = drift.drift(tell)
    figures.drift(drift_results, directory / "001-drift.png")
    tables |= {"drift": [row for result in drift_results for row in result.rows()], "needed": drift.needed()}
    tables["speed"] = speeds(min(effort.rows, _IN_PROCESS), effort.rounds, tell)
    passes = side_by_side.bench(effort.rows, effort.files, effort.rounds, CASES["topk"], tell, effort.flink)
    tables["spark"] = side_by_side.summary(passes)
    settings = {
        "accuracy": ACCURACY,
        "k": K,
        "rate": methods.RATE,
        "seconds": methods.SECONDS,
        "slow": promise.RATE,
        "windows": promise.WINDOWS,
        "many": promise.MANY,
        "hours": promise.HOURS,
        "left": promise.SETTLED,
        "event_s": effort.rows // CASES["topk"][0].rate,
    }
    return write(directory / "001.md", Path(__file__).with_name("001.md"), "topk", effort, settings, tables)
