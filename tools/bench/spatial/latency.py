"""Latency of the live join with the districts, beside Spark's own stateless stream that passes its rows through."""

from __future__ import annotations

import math
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession

from bench.live_pairs import EVERY_S, write_at
from bench.progress import Echo, Row
from bench.rounds import interleaved, median_ratio, medians
from bench.spark_peer import SparkPeer
from bench.spatial.same_twice import same_twice, with_again
from bench.spatial.streams import taxi_batches
from bench.spatial.table_on_spark import CORES, table_query
from tailrace.ground.arrow.columns import Floats
from tailrace.spark import app
from tailrace.spark.session import session
from tailrace.storage.layout import Layout
from tailrace.stream.run_options import RunOptions

RATE, SECONDS = 2000, 40.0
"""Fixes a second, and the duration."""

PASS_THROUGH, TABLE, TABLE_NATIVE = "pass-through", "join with a table", "join with a table, native"

START_S = 15.0  # during this time a stream starts, and its batches contain the backlog
_COMMIT_S = 120.0  # within this time the last file is committed, or the stream has died
_SCHEMA = "event_time timestamp, arrival_time timestamp, id string, taxi int, lon double, lat double"

Commits = list[tuple[float, list[str]]]
"""The wall-clock time of each commit in s, and the names of the files whose rows it contains."""


class FixWriter:
    """Writes a file of fixes every half a second; its arrival time is the time of writing.

    Attributes
    ----------
    written : dict
        The wall-clock time of each file, in s.
    """

    def __init__(self, directory: Path, seconds: float) -> None:
        directory.mkdir(parents=True)
        self.directory, self.seconds = directory, seconds
        self.written: dict[str, float] = {}
        self._rows = int(RATE * EVERY_S)
        self._fixes = pa.Table.from_batches(taxi_batches(int(RATE * seconds) + self._rows))

    def write(self, number: int) -> None:
        """Write the file with a number."""
        rows, name = self._fixes.slice(number * self._rows, self._rows), f"{number:05}.parquet"
        self.written[name] = now = time.time()
        write_at(rows, self.directory / name, now)

    def play(self, commits: Commits, done: Callable[[], None]) -> None:
        """Write all files, each at its time, and signal when they are committed, or their time is over."""
        start = time.time()
        for number in range(int(self.seconds / EVERY_S)):
            time.sleep(max(start + number * EVERY_S - time.time(), 0))
            self.write(number)
        end = time.time() + _COMMIT_S
        while len(self.written) > sum(len(names) for _, names in commits) and time.time() < end:
            time.sleep(EVERY_S / 10)
        done()

    def latencies(self, commits: Commits) -> Floats:
        """Return the time from a file's writing to its commit, in s, for files that are due after the start."""
        counted = list(self.written)[math.ceil(START_S / EVERY_S) :]
        return np.array([at - self.written[name] for at, names in commits for name in names if name in counted])


def ours(spark: SparkSession, directory: Path, seconds: float, method: str = "indexed") -> Row:
    """Run the live join by a method until the feed ends, and drain it."""
    feed, commits = FixWriter(directory / "in", seconds), Commits()
    query = table_query(method, directory / "in")
    layout = Layout.for_query(directory / "tables", query.name)

    def on_batch(batch: int, rows_left: int, tables: dict[str, pa.Table]) -> None:
        if "segments" in tables:
            paths = tables["segments"]["path"].unique().to_pylist()
            commits.append((time.time(), [Path(path).name for path in paths]))

    with _beside(feed, commits, layout.request_drain):
        app.run(query, directory / "tables", RunOptions(live=True), on_batch, spark)
    return _figures(feed, commits)


def pass_through(spark: SparkSession, location: str, seconds: float) -> Row:
    """Run Spark's own stream of such files, which writes its input by Arrow and deltalake like ours."""
    directory = Path(location)
    feed, commits = FixWriter(directory / "in", seconds), Commits()

    def sink(batch: DataFrame, number: int) -> None:
        rows: pa.Table = batch.toArrow()
        if rows.num_rows:
            write_deltalake(directory / "tables", rows, mode="append")
            arrived = rows["arrival_time"].cast(pa.int64()).unique().to_pylist()
            name_of = {round(at * 1e6): name for name, at in feed.written.items()}
            commits.append((time.time(), [name_of[at] for at in arrived]))

    rows = spark.readStream.schema(_SCHEMA).parquet(str(directory / "in"))
    stream = rows.writeStream.foreachBatch(sink).option("checkpointLocation", str(directory / "checkpoint")).start()
    with _beside(feed, commits, stream.stop):
        stream.awaitTermination()
    return _figures(feed, commits)


def beside_pass_through(rounds: int, echo: Echo, seconds: float = SECONDS) -> tuple[list[Row], list[Row]]:
    """Measure the latency of all in turns, with the pass-through in a separate process with Spark's defaults.

    Return the contestants' rows, and a row about our first method twice.
    """
    with (
        tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name,
        SparkPeer("pass-through", Path(name), CORES) as peer,
        session("tailrace bench", CORES) as spark,
    ):
        places = (Path(name) / str(number) for number in count())
        contestants: dict[str, Callable[[], Row]] = {
            PASS_THROUGH: lambda: peer.call(pass_through, str(next(places)), seconds),
            TABLE: lambda: ours(spark, next(places), seconds),
            TABLE_NATIVE: lambda: ours(spark, next(places), seconds, "native"),
        }
        passes = interleaved(with_again(contestants, TABLE), rounds, "p50 s", echo)
    twice = same_twice(passes, TABLE, "p50 s")
    base = passes[PASS_THROUGH]
    return [
        {"contestant": who, "fixes/s": RATE} | medians(mine) | {"× pass-through": median_ratio(mine, base, "p50 s")}
        for who, mine in passes.items()
    ], [twice]


@contextmanager
def _beside(feed: FixWriter, commits: Commits, done: Callable[[], None]) -> Iterator[None]:
    """Play the feed during the block, which ends when `done` is set."""
    thread = threading.Thread(target=feed.play, args=(commits, done), daemon=True)
    thread.start()
    yield
    thread.join()


def _figures(feed: FixWriter, commits: Commits) -> Row:
    waited = feed.latencies(commits)
    p50, p95 = np.percentile(waited, [50, 95])
    return {"p50 s": float(p50), "p95 s": float(p95), "files": len(waited), "commits": len(commits)}
