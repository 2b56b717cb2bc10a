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

from tailrace.bench.contestants import measured_run
from tailrace.bench.emd import speed
from tailrace.bench.progress import Row, Tell
from tailrace.generators.histogram_stream import write
from tailrace.spark import app
from tailrace.spark.session import session
from tailrace.storage.layout import Layout
from tailrace.stream.run_options import RunOptions

TASKS = 2
WINDOWS_S = (5, 60)
_SECONDS = 30  # of the stream, at most
_MEASURED_S = 20  # of the stream, after the state is full
_FILE_S = 4  # of a stream in one file


def by_threshold(rows: int, rounds: int, tell: Tell) -> list[Row]:
    """Measure bounded runs by θ, `rows` of either stream at most: medians of `rounds`, one more is dropped."""
    table: list[Row] = []
    with _streams_on_spark(min(rows // speed.RATE, _SECONDS)) as (spark, directory):
        for threshold in speed.THRESHOLDS:
            rates = []
            for number in range(rounds + 1):
                query = speed.fast_query(threshold, speed.WINDOW_S, directory, TASKS)
                pace = measured_run(spark, query, directory / f"{threshold:g}-{number}", RunOptions())
                rates += [pace.warm_rows / pace.warm_s / 2]
                tell(f"Spark, θ {threshold:g}, round {number}: {rates[-1]:,.0f} R-tuples/s")
            median = statistics.median(rates[1:])
            table.append({"θ": threshold, "tasks": TASKS, "rounds": rounds, "R-tuples/s": median})
    return table


def by_window(tell: Tell) -> list[Row]:
    """Measure a batch of one second by |W|: its time, and the bytes of state that it writes and that are there."""
    with _streams_on_spark(2 * max(WINDOWS_S) + _MEASURED_S) as (spark, directory):
        return [_batches(spark, directory, seconds, tell) for seconds in WINDOWS_S]


def _batches(spark: SparkSession, directory: Path, window_s: int, tell: Tell) -> Row:
    """Run batches of a second of the stream; report the medians of those that follow when the state is full."""
    query, warehouse = speed.fast_query(speed.THRESHOLDS[0], window_s, directory, TASKS), directory / f"W{window_s}"
    layout, rows = Layout.of(warehouse, query.name), list[Row]()
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
    tell(f"Spark, |W| {window_s} s: {row['batch ms']:.0f} ms a batch, {row['state MB']:.1f} MB of state")
    return {"W s": window_s, "batches": len(full)} | row


def _files(directory: Path) -> dict[Path, tuple[int, int]]:
    """The size and the time of each file below a directory; those that go meanwhile are left out."""
    found = {}
    for file in directory.rglob("*"):
        try:
            about = file.stat()
        except FileNotFoundError:
            continue
        if file.is_file():
            found[file] = (about.st_size, about.st_mtime_ns)
    return found


@contextmanager
def _streams_on_spark(seconds: int) -> Iterator[tuple[SparkSession, Path]]:
    """A Spark session, and a directory with the films' streams in files."""
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name, session("tailrace bench", TASKS) as spark:
        for side, table in speed.film_streams(seconds).items():
            write(table.to_batches(max_chunksize=_FILE_S * speed.RATE), Path(name) / side)
        yield spark, Path(name)
