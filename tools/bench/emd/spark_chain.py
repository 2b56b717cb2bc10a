"""Speed of the join by the chain of filters on Spark with two tasks: on a line, a grid and by a matrix."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from bench.emd.comparison import Comparison, compete
from bench.emd.contestants import query_of, streams_of
from bench.emd.regime_cases import NEAR, RegimeCase, cases
from bench.emd.simulation import loads_of
from bench.progress import Echo, Row
from generators.histogram_stream import write
from tailrace.partition.feedback_balancing import load_imbalance
from tailrace.query.query import Query
from tailrace.spark import app
from tailrace.spark.session import session
from tailrace.stream.run_options import RunOptions

TASKS = 2
MEASURES = ("R-tuples/s", "pairs a tuple", "exact", "share solving", "imbalance of work")

_FRAMES = {"line": 300, "grid": 200, "matrix": 80}
"""The frames of either stream by the part of the page whose join it is: so few that a run takes a few seconds."""

_BATCHES = 3  # the fewest batches with tuples, of which the first does not count


def spark_cases() -> list[RegimeCase]:
    """Return the joins: on the line, which is the paper's, by each θ of its part, the others by the greatest."""
    line, grid, matrix = (replace(cases()[part][0], frames=frames) for part, frames in _FRAMES.items())
    return [line, *(replace(join, thresholds=join.thresholds[-1:]) for join in (grid, matrix))]


def by_case(joins: Sequence[RegimeCase], rounds: int, echo: Echo) -> list[Comparison]:
    """Let the contestants take turns in bounded runs on Spark, each round on another film."""
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name, session("tailrace bench", TASKS) as spark:
        on_spark = OnSpark(spark, Path(name))
        return [_compared(on_spark, join, threshold, rounds, echo) for join in joins for threshold in join.thresholds]


def _compared(on_spark: OnSpark, join: RegimeCase, threshold: float, rounds: int, echo: Echo) -> Comparison:
    batch_rows = 2 * join.rate * join.batch_ms // 1000

    def start_round(number: int) -> Callable[[str], Row]:
        films = join.films(number + 1, join.frames)

        def run(name: str) -> Row:
            directory = on_spark.directory / str(next(on_spark.runs))
            for side, table in streams_of(films, join.rate, name).items():
                write(table.to_batches(), directory / side)
            query = query_of(join, name, threshold, directory=directory, tasks=TASKS)
            row = on_spark.run(query, directory, batch_rows)
            return row | {"pairs a tuple": row["pairs"] / join.frames}

        return run

    setting: Row = {"case": join.name, "θ": threshold, "W s": join.window_s, "tuples/s": join.rate, "tasks": TASKS}
    return compete(setting, NEAR, rounds, start_round, "R-tuples/s", echo)


@dataclass(frozen=True)
class OnSpark:
    """Runs joins on Spark, each below a new directory.

    Attributes
    ----------
    runs : iterator of int
        Numbers the runs, as Spark may still write to the directory of an old one.
    """

    spark: SparkSession
    directory: Path
    runs: Iterator[int] = field(default_factory=count)

    def run(self, query: Query, directory: Path, batch_rows: int) -> Row:
        """Run a join to the end of its streams; all figures but the pairs are about the time after the first batch.

        By then there is a plan, and the workers are warm. A last batch without tuples does not count.
        """
        ends, left, metrics = list[float](), list[int](), list[pa.Table]()

        def on_batch(batch: int, rows_left: int, tables: dict[str, pa.Table]) -> None:
            ends.append(time.perf_counter())
            left.append(rows_left)
            metrics.append(tables["metrics"])

        app.run(query, directory / "tables", RunOptions(batch_rows), on_batch, self.spark)
        return figures_of(ends, left, metrics)


def figures_of(ends: Sequence[float], left: Sequence[int], metrics: Sequence[pa.Table]) -> Row:
    """Return the figures of a run from its batches.

    Parameters
    ----------
    ends : sequence of float
        The end of each batch, in s.
    left : sequence of int
        The rows of both streams that are left after each batch.
    metrics : sequence of pyarrow.Table
        The rows of the table `metrics` of each batch, one for each task.

    Raises
    ------
    RuntimeError
        When so few batches have tuples that nothing is measured.
    """
    last = left.index(0)
    if last + 1 < _BATCHES:
        raise RuntimeError(f"all tuples are in {last + 1} batches, but at least {_BATCHES} are needed")
    loads = [[loads_of(task) for task in _by_task(batch)] for batch in metrics[1:]]
    exact, filter_ms, solve_ms = (
        np.sum([[task[name].sum() for task in batch] for batch in loads], axis=0)
        for name in ("load", "filter_ms", "solve_ms")
    )
    work_ms = filter_ms + solve_ms
    return {
        "pairs": int(sum(batch["answers"].to_numpy().sum() for batch in metrics)),
        "exact": int(exact.sum()),
        "work ms": float(work_ms.sum()),
        "share solving": float(solve_ms.sum() / work_ms.sum()),
        "R-tuples/s": left[0] / 2 / (ends[last] - ends[0]),
        "imbalance of work": load_imbalance(work_ms),
    }


def _by_task(metrics: pa.Table) -> list[Row]:
    return list(metrics.sort_by("task").select(["loads"]).to_pylist())
