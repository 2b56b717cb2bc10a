"""Speed of the join on a line in closed form on Spark with two tasks: by θ, and a batch of a second by |W|."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from bench.emd import speed
from bench.progress import Echo, Row
from bench.rounds import medians
from generators.histogram_stream import write
from tailrace.query.query import Query
from tailrace.spark import app
from tailrace.spark.session import session
from tailrace.storage.layout import Layout
from tailrace.stream.run_options import RunOptions

TASKS = 2
SETTINGS = speed.SETTINGS[:2]
"""Those in which the right film is equally dark."""

WINDOWS_S = (5, 60)
SECONDS = 30  # of the stream, at most
MEASURED_S = 20  # of the stream, after the state is full
_FILE_S = 4  # of a stream in one file


def by_threshold(rows: int, rounds: int, echo: Echo) -> list[Row]:
    """Measure bounded runs by θ, with at most `rows` of either stream: medians of `rounds`, after a dropped one."""
    table: list[Row] = []
    seconds = min(rows // speed.RATE, SECONDS)
    with _streams_on_spark(seconds) as (spark, directory):
        for nearness in SETTINGS:
            passes: list[Row] = []
            for number in range(rounds + 1):
                query = speed.fast_query(nearness.threshold, speed.WINDOW_S, directory, TASKS)
                passes += [_pass(spark, query, directory / f"{nearness.threshold:g}-{number}", seconds * speed.RATE)]
                echo(f"Spark, {nearness}, round {number}: {passes[-1]['R-tuples/s']:,.0f} R-tuples/s")
            setting: Row = {**nearness.row, "W s": speed.WINDOW_S, "tasks": TASKS, "rounds": rounds}
            table.append(setting | medians(passes[1:]))
    return table


def _pass(spark: SparkSession, query: Query, directory: Path, tuples: int) -> Row:
    """Run a query to the end of its streams of so many tuples each.

    The pairs are those of the whole run, and the speed is without the first batch.
    """
    ends, left, pairs = list[float](), list[int](), list[int]()

    def on_batch(batch: int, rows_left: int, tables: dict[str, pa.Table]) -> None:
        ends.append(time.perf_counter())
        left.append(rows_left)
        pairs.append(int(tables["metrics"]["answers"].to_numpy().sum()))

    app.run(query, directory, RunOptions(), on_batch, spark)
    return {"pairs a tuple": sum(pairs) / tuples, "R-tuples/s": left[0] / 2 / (ends[-1] - ends[0])}


def by_window(echo: Echo) -> list[Row]:
    """Measure a batch of one second by |W|: its time, and the bytes of state that it writes and that exist."""
    with _streams_on_spark(2 * max(WINDOWS_S) + MEASURED_S) as (spark, directory):
        return [_batches(spark, directory, seconds, echo) for seconds in WINDOWS_S]


def _batches(spark: SparkSession, directory: Path, window_s: int, echo: Echo) -> Row:
    """Run batches of one second of the stream; return the medians of the batches after the state is full."""
    query, warehouse = speed.fast_query(speed.NEAR.threshold, window_s, directory, TASKS), directory / f"W{window_s}"
    layout, rows = Layout.for_query(warehouse, query.name), list[Row]()
    known, last = dict[Path, tuple[int, int]](), time.perf_counter()

    def on_batch(batch: int, rows_left: int, tables: dict[str, pa.Table]) -> None:
        nonlocal known, last
        now, files = time.perf_counter(), _files(Path(str(layout.checkpoint)))
        written = sum(size for file, (size, at) in files.items() if known.get(file) != (size, at))
        kept = sum(size for file, (size, _) in files.items() if layout.chunks in file.parents)
        rows.append({"batch ms": 1000 * (now - last), "written MB": written / 1e6, "state MB": kept / 1e6})
        known, last = files, time.perf_counter()

    app.run(query, warehouse, RunOptions(2 * speed.RATE), on_batch, spark)
    full = rows[2 * window_s : -1]  # the last one ends the streams
    row = {name: statistics.median(each[name] for each in full) for name in full[0]}
    echo(f"Spark, |W| {window_s} s: {row['batch ms']:.0f} ms a batch, {row['state MB']:.1f} MB of state")
    return {**speed.NEAR.row, "W s": window_s, "batches": len(full)} | row


def _files(directory: Path) -> dict[Path, tuple[int, int]]:
    """Return the size and time of each file below a directory; files that vanish meanwhile are left out."""
    measured = {}
    for file in directory.rglob("*"):
        try:
            status = file.stat()
        except FileNotFoundError:
            continue
        if file.is_file():
            measured[file] = (status.st_size, status.st_mtime_ns)
    return measured


@contextmanager
def _streams_on_spark(seconds: int) -> Iterator[tuple[SparkSession, Path]]:
    """Yield a Spark session, and a directory with the films' streams in files."""
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name, session("tailrace bench", TASKS) as spark:
        for side, table in speed.film_streams(seconds).items():
            write(table.to_batches(max_chunksize=_FILE_S * speed.RATE), Path(name) / side)
        yield spark, Path(name)
