"""Latency of live EMD joins on Spark with two tasks, by the wall clock: in closed form, and by the chain of filters."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from pyspark.sql import SparkSession

from bench import live_pairs
from bench.emd.comparison import Comparison, compete
from bench.emd.contestants import query_of, streams_of
from bench.emd.films import UNIT
from bench.emd.regime_cases import NEAR, RegimeCase, cases
from bench.emd.spark_chain import TASKS
from bench.live_pairs import PairFeed
from bench.progress import Echo, Row
from tailrace.spark.session import session

SECONDS = 10.0
"""The duration of a run after its first commit."""

MEASURES = ("p50 s", "p95 s", "pairs", "commits")

_CHAIN_RATE = 40  # tuples a second of either stream by the chain: those of a video, by the paper


def live_cases() -> list[RegimeCase]:
    """Return the joins: in closed form on a line, and by the chain of filters on a grid."""
    line, grid = (cases()[part][0] for part in ("line", "grid"))
    return [
        replace(line, name="shots S ⋈ SS, line of 256, closed form", ground={"scale": UNIT}),
        replace(grid, name="shots S ⋈ SS, grid of 216, chain", rate=_CHAIN_RATE, thresholds=grid.thresholds[:1]),
    ]


def by_case(joins: Sequence[RegimeCase], rounds: int, echo: Echo, seconds: float = SECONDS) -> list[Comparison]:
    """Let the contestants take turns in live runs at the greatest θ of each join, each round on another film."""
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name, session("tailrace bench", TASKS) as spark:
        directories = (Path(name) / str(number) for number in count())
        return [_compared(spark, directories, join, rounds, echo, seconds) for join in joins]


def _compared(
    spark: SparkSession, directories: Iterator[Path], join: RegimeCase, rounds: int, echo: Echo, seconds: float
) -> Comparison:
    threshold = join.thresholds[-1]

    def start_round(number: int) -> Callable[[str], Row]:
        films = join.films(number + 1, live_pairs.rows_of_feed(join.rate, seconds))

        def run(name: str) -> Row:
            directory = next(directories)
            query = query_of(join, name, threshold, directory=directory, tasks=TASKS)
            feed = PairFeed(directory, streams_of(films, join.rate, name), join.rate, seconds)
            return live_pairs.measure(spark, query, feed)

        return run

    setting: Row = {"case": join.name, "θ": threshold, "W s": join.window_s, "tuples/s": join.rate, "tasks": TASKS}
    return compete(setting, NEAR, rounds, start_round, "p50 s", echo, same_pairs=False)
