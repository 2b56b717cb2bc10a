"""Experiment on throughput by parallelism (paper 002, figure 6): keyed games on Spark, at 1, 2 and 4 tasks."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

from bench.aggregate.games import GAMES, PROMISE, query
from bench.progress import Echo, Row
from generators.delays import MODELS
from generators.replay import generate, write
from tailrace.spark import app
from tailrace.spark.session import session
from tailrace.stream.run_options import RunOptions

TASKS = (1, 2, 4)
_RATE, _KEYS, _FILES = 20_000, 100, 4
_POLICY = "quantile"


def scaling(rows: int, rounds: int, echo: Echo) -> list[Row]:
    """Measure rows a second for each game and number of tasks: interleaved, medians without the first round.

    A pass is a bounded run of the paper's query by key, in a running JVM and session.
    """
    passes: dict[tuple[str, int], list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="tailrace-scaling-") as name:
        for game in GAMES:
            table = generate(rows, _RATE, _KEYS, MODELS[game].build(""), 1)
            write(table, Path(name) / game, _FILES)
        with session("tailrace scaling", 1) as spark:
            for number in range(rounds + 1):
                for tasks in TASKS:
                    for game in GAMES:
                        out = Path(name) / f"out-{number}-{tasks}-{game}"  # Spark may still write to an earlier one
                        seconds = _pass(spark, Path(name) / game, out, tasks)
                        echo(f"round {number} {game} {tasks} tasks: {rows / seconds:,.0f} rows/s")
                        if number:
                            passes.setdefault((game, tasks), []).append(rows / seconds)
    return [
        {"game": game, "tasks": tasks, "rows/s": statistics.median(rates), "rounds": len(rates)}
        for (game, tasks), rates in sorted(passes.items())
    ]


def _pass(spark: SparkSession, files: Path, out: Path, tasks: int) -> float:
    spark.conf.set("spark.sql.shuffle.partitions", str(tasks))
    game_query = query(_POLICY, PROMISE, key="sensor", path=files, parallelism=tasks)
    start_s = time.perf_counter()
    app.run(game_query, out, RunOptions(), spark=spark)
    seconds = time.perf_counter() - start_s
    shutil.rmtree(out, ignore_errors=True)
    return seconds
