"""Latency of a live join of two streams, by the wall clock: from the arrival of a pair's later tuple to its commit.

A feed writes files of both streams at their time while the join runs on Spark. The time of a tuple is the time at which
its file is written.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from bench.progress import Row
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.times import TIME
from tailrace.ground.files.atomic_files import new_file
from tailrace.query.query import Query
from tailrace.spark import app
from tailrace.storage.layout import Layout
from tailrace.stream.run_options import RunOptions

EVERY_S = 0.5
"""The time between two files of a stream."""

COLD_S = 120
"""Within this time a stream has its first commit."""

_START_S, _MARGIN_S = 4.0, 1.0
"""The time after the first commit in which batches contain the backlog, and before the end, in which windows close."""

Commits = list[tuple[float, Ints]]
"""The wall-clock time of each commit in s, and the arrival of the later tuple of each of its pairs, in µs."""


def write_at(rows: pa.Table, file: Path, now: float) -> None:
    """Write rows into a new file, with the time of writing, in s, as their event and arrival time."""
    times = pa.array([round(now * 1e6)] * rows.num_rows, pa.int64()).cast(TIME)
    for column in ("event_time", "arrival_time"):
        rows = rows.set_column(rows.schema.get_field_index(column), column, times)
    with new_file(file) as new:
        pq.write_table(rows, new)


def rows_of_feed(rate: int, seconds: float) -> int:
    """Return how many tuples of either stream a feed needs."""
    return int(rate * (seconds + COLD_S))


@dataclass
class PairFeed:
    """Writes a file of either stream every half a second, into the directories of a join's sources.

    Attributes
    ----------
    directory : Path
        The parent of a directory for each stream.
    streams : mapping of str to pyarrow.Table
        The tuples of each stream, in order: `rows_of_feed` of them. Their times are replaced.
    rate : int
        Tuples a second of either stream.
    seconds : float
        The duration after the first commit.
    window_s : float
        The length of the tumbling windows, at whose ends answers are due; 0 where an answer is due at once.
    answered : float
        The arrival of the newest tuple that has an answer, in s; 0 before the first commit.
    start : float
        The wall-clock time at which the feed sees the first commit, in s.
    """

    directory: Path
    streams: Mapping[str, pa.Table]
    rate: int
    seconds: float
    window_s: float = 0.0
    answered: float = 0.0
    start: float = 0.0

    def play(self, done: Callable[[], None]) -> None:
        """Write files, each at its time, until all pairs that count are committed, and signal the end."""
        rows, began = int(self.rate * EVERY_S), time.time()
        for number in range(int((self.seconds + COLD_S) / EVERY_S)):
            time.sleep(max(began + number * EVERY_S - time.time(), 0))
            now = time.time()
            if self.answered:
                self.start = self.start or now
                if now >= self.start + self.seconds and self.answered >= self.counted[1] - EVERY_S:
                    break
            for name, table in self.streams.items():
                write_at(table.slice(number * rows, rows), self.directory / name / f"{number:05}.parquet", now)
        time.sleep(_MARGIN_S)
        done()

    @property
    def counted(self) -> tuple[float, float]:
        """The arrivals that count: from a time on and before another one.

        They come after the start, and their answers are due before the end. Only whole windows count: within one, early
        tuples wait longer than late ones.
        """
        first, last = self.start + _START_S, self.start + self.seconds - _MARGIN_S
        if not self.window_s:
            return first, last
        return math.ceil(first / self.window_s) * self.window_s, math.floor(last / self.window_s) * self.window_s

    def figures(self, commits: Commits) -> Row:
        """Return the quantiles of the latency of the pairs that count.

        Raises
        ------
        RuntimeError
            When no pair counts.
        """
        first, last = self.counted
        waited = []
        for at, later_us in commits:
            later = later_us / 1e6
            waited.append(at - later[(later >= first) & (later < last)])
        latency = np.concatenate([np.zeros(0), *waited])
        if not len(latency):
            raise RuntimeError("no pair was answered in time: the machine is too busy for a live stream")
        p50, p95 = np.percentile(latency, [50, 95])
        return {"p50 s": float(p50), "p95 s": float(p95), "pairs": len(latency), "commits": len(commits)}


def measure(spark: SparkSession, query: Query, feed: PairFeed) -> Row:
    """Run a live join of a feed's streams until the feed ends, and drain it."""
    commits, warehouse = Commits(), feed.directory / "tables"
    layout, spark_tasks = Layout.for_query(warehouse, query.name), str(query.parallelism)
    spark.conf.set("spark.sql.shuffle.partitions", spark_tasks)
    for name in feed.streams:
        (feed.directory / name).mkdir(parents=True)

    def on_batch(batch: int, rows_left: int, tables: dict[str, pa.Table]) -> None:
        if "results" in tables:
            later_us = later_arrivals(tables["results"])
            commits.append((time.time(), later_us))
            feed.answered = max(feed.answered, later_us.max(initial=0) / 1e6)

    thread = threading.Thread(target=feed.play, args=(layout.request_drain,), daemon=True)
    thread.start()
    app.run(query, warehouse, RunOptions(live=True), on_batch, spark)
    thread.join()
    return feed.figures(commits)


def later_arrivals(answers: pa.Table) -> Ints:
    """Return the time of the later tuple of each pair, in µs: it arrives at its event time."""
    left, right = (answers[name].cast(TIME).cast(pa.int64()).to_numpy() for name in ("left_time", "right_time"))
    return np.asarray(np.maximum(left, right))
