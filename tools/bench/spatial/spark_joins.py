"""Joins of two streams on Spark: `indexed` beside `native` in one run (figure 12), and the cost of a second task."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from bench.meter import Meter
from bench.progress import Echo, Row
from bench.rounds import interleaved, median_ratio, medians
from bench.spatial.balance import Balance
from bench.spatial.joins import JOINS, METHODS, PARALLELISM
from bench.spatial.same_twice import same_twice, with_again
from bench.spatial.streams import empty_streams, meeting_query, taxi_streams
from generators.replay import write
from tailrace.query.query import Query
from tailrace.spark import app
from tailrace.spark.session import session
from tailrace.stream.run_options import RunOptions

MINUTES = 2.0
"""The length of the interval and of the window on Spark."""

_FILES = 4  # of a stream

_OF_TASKS = {"warm tuples/s": "warm × one task", "CPU µs/tuple": "CPU × one task"}
"""Measures that are compared with one task's, and the names of the ratios."""


@dataclass(frozen=True)
class SparkJoins:
    """Runs joins over streams of `tuples` tuples each, in files below a directory.

    Attributes
    ----------
    runs : iterator of int
        Numbers the runs: each gets a new directory, as Spark may still write to an old one.
    """

    spark: SparkSession
    directory: Path
    tuples: int
    runs: Iterator[int] = field(default_factory=count)

    def query(self, join: str, tasks: int, **section: Any) -> Query:
        return meeting_query(join, MINUTES, section, self.directory / "taxis", tasks)

    def run(self, query: Query, tuples: int, options: RunOptions = RunOptions()) -> Row:  # noqa: B008 (frozen)
        """Run a join to the end of its streams, of `tuples` tuples each; warm means after the first batch."""
        warehouse = self.directory / f"run-{next(self.runs)}"
        self.spark.conf.set("spark.sql.shuffle.partitions", str(query.parallelism))
        ends, backlog, balance = list[float](), list[int](), Balance()

        def on_batch(batch: int, rows_left: int, tables: dict[str, pa.Table]) -> None:
            ends.append(time.perf_counter())
            backlog.append(rows_left)
            balance.add(tables["metrics"])

        with Meter() as meter:
            app.run(query, warehouse, options, on_batch, self.spark)
        shutil.rmtree(warehouse, ignore_errors=True)
        rows, cost = 2 * tuples, meter.cost
        return {
            "tuples/s": rows / cost.seconds,
            "warm tuples/s": backlog[0] / (ends[-1] - ends[0]),
            "batches": len(ends),
            "longest batch s": float(np.diff(ends).max()),
            "CPU s": cost.cpu_s,
        } | balance.figures(rows)

    def net(self, join: str, tasks: int) -> Row:
        """Run a join, and one with as many batches of two tuples; the difference of their CPU times is the tuples'."""
        row = self.run(self.query(join, tasks), self.tuples)
        name = f"empty-{row['batches']}"
        for side, table in empty_streams(row["batches"]).items():
            if not (self.directory / name / side).exists():
                write(table, self.directory / name / side, 1)
        query = meeting_query(join, MINUTES, {}, self.directory / name, tasks)
        empty = self.run(query, row["batches"], RunOptions(batch_rows=2))
        net_s = row["CPU s"] - empty["CPU s"] * row["batches"] / empty["batches"]
        row = {"CPU µs/tuple": 1e6 * net_s / (2 * self.tuples)} | row
        return row | {"batches of none": empty["batches"], "CPU s of none": empty["CPU s"]}


@contextmanager
def spark_joins(tuples: int) -> Iterator[SparkJoins]:
    """Yield a Spark session, and a directory with streams of taxis in files."""
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name, session("tailrace bench", 1) as spark:
        for side, table in taxi_streams(tuples).items():
            write(table, Path(name) / "taxis" / side, _FILES)
        yield SparkJoins(spark, Path(name), tuples)


def beside_native(joins: SparkJoins, rounds: int, echo: Echo) -> tuple[list[Row], list[Row]]:
    """Run both joins with both methods and numbers of tasks; the methods take turns, `indexed` twice.

    Return the rows of all settings, and rows about `indexed` twice.

    Raises
    ------
    RuntimeError
        When `indexed` and `native` do not find the same number of pairs.
    """
    rows, twice = [], []
    for join in JOINS:
        for tasks in PARALLELISM:
            setting = {"join": join, "tasks": tasks}
            echo(f"Spark, join by {join}, tasks: {tasks}")
            queries = {name: joins.query(join, tasks, method=name) for name in METHODS}
            contestants = {name: partial(joins.run, query, joins.tuples) for name, query in queries.items()}
            passes = interleaved(with_again(contestants, METHODS[0]), rounds, "tuples/s", echo)
            twice.append(setting | same_twice(passes, METHODS[0], "warm tuples/s"))
            counts = {name: mine[-1]["pairs"] for name, mine in passes.items()}
            if len(set(counts.values())) > 1:
                raise RuntimeError(f"join by {join}, {tasks} tasks: the methods find other numbers of pairs: {counts}")
            for name, mine in passes.items():
                ratios = [median_ratio(mine, passes["native"], each) for each in ("tuples/s", "warm tuples/s")]
                row = setting | {"method": name} | medians(mine)
                rows.append(row | dict(zip(("× native", "warm × native"), ratios, strict=True)))
    return rows, twice


def by_parallelism(joins: SparkJoins, rounds: int, echo: Echo) -> tuple[list[Row], list[Row]]:
    """Measure throughput and CPU time of a tuple by the number of tasks, one task twice.

    The CPU time of as many nearly empty batches is subtracted. Return the rows of all settings, and rows about one task
    twice.
    """
    rows, twice = [], []
    one = str(PARALLELISM[0])
    for join in JOINS:
        echo(f"Spark, join by {join}, CPU time by tasks")
        contestants = {str(tasks): partial(joins.net, join, tasks) for tasks in PARALLELISM}
        passes = interleaved(with_again(contestants, one), rounds, "CPU µs/tuple", echo)
        twice += [{"join": join} | same_twice(dict(passes), one, name) for name in ("warm tuples/s", "CPU µs/tuple")]
        for tasks in PARALLELISM:
            ratios = {name: median_ratio(passes[str(tasks)], passes[one], name) for name in _OF_TASKS}
            ratios = {_OF_TASKS[name]: ratio for name, ratio in ratios.items()}
            rows.append({"join": join, "tasks": tasks} | medians(passes[str(tasks)]) | ratios)
    return rows, twice
