"""Latency of the live join with the districts, beside Spark's own stateless stream that passes its rows through."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession

from tailrace.bench.progress import Row, Tell
from tailrace.bench.rounds import interleaved, median_ratio, medians
from tailrace.bench.spark_peer import SparkPeer
from tailrace.bench.spatial.streams import taxi_batches
from tailrace.bench.spatial.table_on_spark import CORES, table_query
from tailrace.ground.columns import Floats
from tailrace.ground.files import new_file
from tailrace.ground.times import TIME
from tailrace.spark import app
from tailrace.spark.session import session
from tailrace.storage.layout import Layout
from tailrace.stream.run_options import RunOptions

RATE, EVERY_S, SECONDS = 2000, 0.5, 40.0
"""Fixes a second, the time between two files of them, and how long they come."""

_START_S = 15.0  # until then a stream starts, and its batches hold what came meanwhile
_COMMIT_S = 120.0  # until then the last file is committed, or the stream has died
_SCHEMA = "event_time timestamp, arrival_time timestamp, id string, taxi int, lon double, lat double"

Commits = list[tuple[float, list[str]]]
"""The wall-clock time of each commit in s, and the names of the files whose rows it holds."""


class FixWriter:
    """Writes a file of fixes every half of a second, whose arrival time is the time of its writing.

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
        """Write the file of a number."""
        rows, name = self._fixes.slice(number * self._rows, self._rows), f"{number:05}.parquet"
        now = time.time()
        times = pa.array([round(now * 1e6)] * rows.num_rows, pa.int64()).cast(TIME)
        for column in ("event_time", "arrival_time"):
            rows = rows.set_column(rows.schema.get_field_index(column), column, times)
        self.written[name] = now
        with new_file(self.directory / name) as new:
            pq.write_table(rows, new)

    def play(self, commits: Commits, done: Callable[[], None]) -> None:
        """Write all files, each at its time, and tell when they are committed, or have had their time for it."""
        start = time.time()
        for number in range(int(self.seconds / EVERY_S)):
            time.sleep(max(start + number * EVERY_S - time.time(), 0))
            self.write(number)
        end = time.time() + _COMMIT_S
        while len(self.written) > sum(len(names) for _, names in commits) and time.time() < end:
            time.sleep(EVERY_S / 10)
        done()

    def latencies(self, commits: Commits) -> Floats:
        """The time from a file's writing to its commit, in s, of the files written after the start."""
        first = min(self.written.values()) + _START_S
        return np.array(
            [at - self.written[name] for at, names in commits for name in names if self.written[name] >= first]
        )


def ours(spark: SparkSession, directory: Path, seconds: float) -> Row:
    """Run the live join until the feed ends, and drain it."""
    feed, commits = FixWriter(directory / "in", seconds), Commits()
    query = table_query("indexed", directory / "in")
    layout = Layout.of(directory / "tables", query.name)

    def on_batch(batch: int, rows_left: int, tables: dict[str, pa.Table]) -> None:
        if "segments" in tables:
            paths = tables["segments"]["path"].unique().to_pylist()
            commits.append((time.time(), [Path(path).name for path in paths]))

    with _beside(feed, commits, layout.request_drain):
        app.run(query, directory / "tables", RunOptions(live=True), on_batch, spark)
    return _figures(feed, commits)


def pass_through(spark: SparkSession, place: str, seconds: float) -> Row:
    """Run Spark's own stream of such files, which writes what it reads, by Arrow and deltalake as ours does."""
    directory = Path(place)
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


def beside_pass_through(rounds: int, tell: Tell, seconds: float = SECONDS) -> list[Row]:
    """Measure the latency of both, in turns: the pass-through in a process of its own, by Spark's defaults."""
    with (
        tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name,
        SparkPeer("pass-through", Path(name), CORES) as peer,
        session("tailrace bench", CORES) as spark,
    ):
        places = (Path(name) / str(number) for number in count())
        contestants: dict[str, Callable[[], Row]] = {
            "pass-through": lambda: peer.call(pass_through, str(next(places)), seconds),
            "join with a table": lambda: ours(spark, next(places), seconds),
        }
        passes = interleaved(contestants, rounds, "p50 s", tell)
    base = passes["pass-through"]
    return [
        {"contestant": who, "fixes/s": RATE} | medians(mine) | {"× pass-through": median_ratio(mine, base, "p50 s")}
        for who, mine in passes.items()
    ]


@contextmanager
def _beside(feed: FixWriter, commits: Commits, done: Callable[[], None]) -> Iterator[None]:
    """Play the feed beside the block, which ends when `done` has told it to."""
    thread = threading.Thread(target=feed.play, args=(commits, done), daemon=True)
    thread.start()
    yield
    thread.join()


def _figures(feed: FixWriter, commits: Commits) -> Row:
    waited = feed.latencies(commits)
    p50, p95 = np.percentile(waited, [50, 95])
    return {"p50 s": float(p50), "p95 s": float(p95), "files": len(waited), "commits": len(commits)}
