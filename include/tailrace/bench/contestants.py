"""The contestants: each takes a workload through Spark into a Delta table, a file a batch, and gives its times."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tailrace.bench.workloads import Workload
from tailrace.spark import app
from tailrace.spark.intake import Plan

Pass = Callable[[SparkSession, Workload, Path, int], list[float]]
"""(session, workload, directory, parallelism) → when each batch was done, in seconds from the start of the query."""

_SCHEMA = "id long, event_time timestamp, arrival_time timestamp, sensor string, value double"


def pass_through(spark: SparkSession, workload: Workload, directory: Path, parallelism: int) -> list[float]:
    """No state: the rows of each batch are read and added up, and one row is written."""
    rows = _read(spark, workload).select("event_time", "sensor", "value")
    total = rows.groupBy().agg(F.count("*").alias("tuples"), F.sum("value").alias("value"))
    return _drain(total, directory, "update")


def native(spark: SparkSession, workload: Workload, directory: Path, parallelism: int) -> list[float]:
    """Spark's own windows under a watermark that loses nothing here; what came after it would be dropped."""
    window = F.window("event_time", f"{workload.size_ms} milliseconds", f"{workload.slide_ms} milliseconds")
    rows = _read(spark, workload).withWatermark("event_time", f"{workload.bound_ms} milliseconds")
    sums = rows.groupBy(window.alias("window"), "sensor").agg(
        F.sum("value").alias("value"), F.count("*").alias("tuples")
    )
    flat = sums.select(
        "sensor",
        F.col("window.start").alias("window_start"),
        F.col("window.end").alias("window_end"),
        "value",
        "tuples",
    )
    return _drain(flat, directory, "append")


def tailrace(spark: SparkSession, workload: Workload, directory: Path, parallelism: int) -> list[float]:
    """Ours, as a user runs it, but in the session that is there."""
    times, start = list[float](), time.perf_counter()
    app.run(
        workload.query(parallelism),
        directory,
        Plan(batch_rows=1),
        progress=lambda *_: times.append(time.perf_counter() - start),
        spark=spark,
    )
    return times


CONTESTANTS: dict[str, Pass] = {"pass-through": pass_through, "native": native, "tailrace": tailrace}


def _read(spark: SparkSession, workload: Workload) -> DataFrame:
    return spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(workload.directory))


def _drain(rows: DataFrame, directory: Path, mode: str) -> list[float]:
    """Run to the end of the input, each batch to Arrow and by deltalake to a table, as ours does."""
    times, start = list[float](), time.perf_counter()

    def sink(batch: DataFrame, number: int) -> None:
        answers: pa.Table = batch.toArrow()
        if answers.num_rows:
            write_deltalake(directory / "results", answers, mode="append")
        times.append(time.perf_counter() - start)

    stream = rows.writeStream.outputMode(mode).foreachBatch(sink).trigger(availableNow=True)
    stream.option("checkpointLocation", str(directory / "checkpoint")).start().awaitTermination()
    return times
