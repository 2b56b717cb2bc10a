"""Contestants: each runs a workload into a Delta table and returns its times.

Spark's own (a pass-through, and its windows) run in separate processes with Spark's defaults, and read one file per
batch. Ours runs in the session that its users have, or by the local engine in the benchmark's process; it begins with
smaller batches, as for its users.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.spark_peer import SparkPeer
from bench.workloads import Workload
from tailrace.query.query import Query
from tailrace.spark import app
from tailrace.stream import local_stream
from tailrace.stream.run import OnBatch
from tailrace.stream.run_options import RunOptions


@dataclass(frozen=True)
class PassTimes:
    """Times of a pass as reported by its contestant, beside the times measured from outside.

    Attributes
    ----------
    batch_s : list of float
        Duration of each batch, in s; empty where there are no batches.
    warm_rows, warm_s : float
        The rows read after the start, and the seconds for them.
    """

    batch_s: list[float]
    warm_rows: float
    warm_s: float


Pass = Callable[[SparkSession, Workload, Path, int], PassTimes]
"""(session of ours, workload, directory, parallelism) → the times of the pass."""

_SCHEMA = "id long, event_time timestamp, arrival_time timestamp, sensor string, value double"


def pass_through(spark: SparkSession, workload: Workload, directory: Path) -> PassTimes:
    """Read and sum up the rows, without keys or windows, and write one row of totals for each batch."""
    rows = _read(spark, workload).select("event_time", "sensor", "value")
    total = rows.groupBy().agg(F.count("*").alias("tuples"), F.sum("value").alias("value"))
    return _by_batches(workload, _run_to_end(total, directory, "update"))


def native(spark: SparkSession, workload: Workload, directory: Path) -> PassTimes:
    """Run Spark's own windows under a watermark that drops nothing here; later rows would be dropped."""
    return _by_batches(workload, native_windows(_read(spark, workload), workload, directory))


def native_windows(stream: DataFrame, workload: Workload, directory: Path) -> list[float]:
    """Answer a workload by Spark's own windows over a stream; return the end of each batch, in s from the start."""
    case = workload.case
    size, slide = (f"{length} milliseconds" for length in (case.size_ms, case.slide_ms))
    groups = ["sensor"] if case.keyed else []
    rows = stream.withWatermark("event_time", f"{workload.bound_ms} milliseconds")
    if case.question.spark_panes:
        rows = case.question.spark_panes(rows, F.window("event_time", slide), groups)
    answers = case.question.spark(rows, F.window("event_time", size, slide), groups)
    key = F.col("sensor") if case.keyed else F.lit(None).cast("string")
    ends = (F.col(f"window.{end}").alias(f"window_{end}") for end in ("start", "end"))
    flat_answers = answers.select(key.alias("key"), *ends, *(set(answers.columns) - {"window", "sensor"}))
    return _run_to_end(flat_answers, directory, "append")


def tailrace(spark: SparkSession, workload: Workload, directory: Path, parallelism: int) -> PassTimes:
    """Run our query like a user, but in the running session."""
    return measured_run(spark, workload.query(parallelism), directory, _options(workload))


def tailrace_local(spark: SparkSession, workload: Workload, directory: Path, parallelism: int) -> PassTimes:
    """Run our query by the local engine, which needs no Spark."""
    return _measured(partial(local_stream.run, workload.query(parallelism), directory, _options(workload)))


def _options(workload: Workload) -> RunOptions:
    """Return options that limit a batch to the rows of a file."""
    return RunOptions(-(-workload.rows // len(workload.files)))


def measured_run(spark: SparkSession, query: Query, directory: Path, options: RunOptions) -> PassTimes:
    """Run a query on Spark to the end of its input and return the pace; the first batch counts as the start."""
    return _measured(lambda on_batch: app.run(query, directory, options, on_batch, spark))


def _measured(run: Callable[[OnBatch], object]) -> PassTimes:
    times, backlog, start = list[float](), list[int](), time.perf_counter()

    def on_batch(batch: int, rows_left: int, tables: object) -> None:
        times.append(time.perf_counter() - start)
        backlog.append(rows_left)

    run(on_batch)
    return PassTimes([float(length) for length in np.diff([0.0, *times])], backlog[0], times[-1] - times[0])


SPARKS_OWN: dict[str, Callable[[SparkSession, Workload, Path], PassTimes]] = {
    "pass-through": pass_through,
    "native": native,
}
"""The contestants that are Spark's own."""


def run_by_name(spark: SparkSession, name: str, workload: dict[str, Any], directory: str) -> dict[str, Any]:
    """Run a pass of one of Spark's own contestants in its process; return the times as JSON values."""
    return asdict(SPARKS_OWN[name](spark, Workload.of_json(workload), Path(directory)))


def run_in(
    peer: SparkPeer, name: str, spark: SparkSession, workload: Workload, directory: Path, parallelism: int
) -> PassTimes:
    """Run a pass of one of Spark's own contestants in its process, without our session."""
    return PassTimes(**peer.call(run_by_name, name, workload.as_json(), str(directory)))


def _read(spark: SparkSession, workload: Workload) -> DataFrame:
    return spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(workload.directory))


def _by_batches(workload: Workload, ends: list[float]) -> PassTimes:
    """Compute the pace from the ends of batches, in s.

    The first batch counts as the start. Batches after the end of the input, which close open windows, are left out.
    """
    batch_s = [float(length) for length in np.diff([0.0, *ends])[: len(workload.files)]]
    return PassTimes(batch_s, workload.rows * (1 - 1 / len(workload.files)), sum(batch_s[1:]))


def _run_to_end(rows: DataFrame, directory: Path, mode: str) -> list[float]:
    """Run to the end of the input, and write each batch by Arrow and deltalake to a table, like ours.

    Return the end of each batch, in seconds from the start.
    """
    times, start = list[float](), time.perf_counter()

    def sink(batch: DataFrame, number: int) -> None:
        answers: pa.Table = batch.toArrow()
        if answers.num_rows:
            write_deltalake(directory / "results", answers, mode="append")
        times.append(time.perf_counter() - start)

    stream = rows.writeStream.outputMode(mode).foreachBatch(sink).trigger(availableNow=True)
    stream.option("checkpointLocation", str(directory / "checkpoint")).start().awaitTermination()
    return times
