"""The contestants on Spark: each takes a workload into a Delta table and gives its times.

Those on Spark take a file a batch; ours begins with smaller ones, as it does for users.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tailrace.bench.workloads import Workload
from tailrace.spark import app
from tailrace.stream.batch_planner import RunOptions


@dataclass(frozen=True)
class Pace:
    """What a contestant tells of a pass, beside what is measured of it from outside.

    Attributes
    ----------
    batch_s : list of float
        How long each batch took, in seconds; empty where there are none.
    warm_rows, warm_s : float
        The rows taken in after the start, and the seconds that took.
    """

    batch_s: list[float]
    warm_rows: float
    warm_s: float


Pass = Callable[[SparkSession, Workload, Path, int], Pace]
"""(session, workload, directory, parallelism) → how it went."""

_SCHEMA = "id long, event_time timestamp, arrival_time timestamp, sensor string, value double"


def pass_through(spark: SparkSession, workload: Workload, directory: Path, parallelism: int) -> Pace:
    """No state: the rows of each batch are read and added up, and one row is written."""
    rows = _read(spark, workload).select("event_time", "sensor", "value")
    total = rows.groupBy().agg(F.count("*").alias("tuples"), F.sum("value").alias("value"))
    return _by_batches(workload, _drain(total, directory, "update"))


def native(spark: SparkSession, workload: Workload, directory: Path, parallelism: int) -> Pace:
    """Spark's own windows under a watermark that loses nothing here; what came after it would be dropped."""
    case = workload.case
    size, slide = (f"{length} milliseconds" for length in (case.size_ms, case.slide_ms))
    groups = ["sensor"] if case.keyed else []
    rows = _read(spark, workload).withWatermark("event_time", f"{workload.bound_ms} milliseconds")
    if case.question.spark_panes:
        rows = case.question.spark_panes(rows, F.window("event_time", slide), groups)
    answers = case.question.spark(rows, F.window("event_time", size, slide), groups)
    key = F.col("sensor") if case.keyed else F.lit(None).cast("string")
    ends = (F.col(f"window.{end}").alias(f"window_{end}") for end in ("start", "end"))
    flat = answers.select(key.alias("key"), *ends, *(set(answers.columns) - {"window", "sensor"}))
    return _by_batches(workload, _drain(flat, directory, "append"))


def tailrace(spark: SparkSession, workload: Workload, directory: Path, parallelism: int) -> Pace:
    """Ours, as a user runs it, but in the session that is there."""
    times, left, start = list[float](), list[int](), time.perf_counter()

    def done(batch: int, rows_left: int, tables: object) -> None:
        times.append(time.perf_counter() - start)
        left.append(rows_left)

    app.run(workload.query(parallelism), directory, RunOptions(-(-workload.rows // len(workload.files))), done, spark)
    return Pace([float(length) for length in np.diff([0.0, *times])], left[0], times[-1] - times[0])


CONTESTANTS: dict[str, Pass] = {"pass-through": pass_through, "native": native, "tailrace": tailrace}


def _read(spark: SparkSession, workload: Workload) -> DataFrame:
    return spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(workload.directory))


def _by_batches(workload: Workload, ends: list[float]) -> Pace:
    """The first batch is the start; what comes after the last of the input closes what is open."""
    batch_s = [float(length) for length in np.diff([0.0, *ends])[: len(workload.files)]]
    return Pace(batch_s, workload.rows * (1 - 1 / len(workload.files)), sum(batch_s[1:]))


def _drain(rows: DataFrame, directory: Path, mode: str) -> list[float]:
    """Run to the end of the input, each batch to Arrow and by deltalake to a table, as ours does.

    Returns when each batch was done, in seconds from the start.
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
