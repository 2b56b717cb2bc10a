"""The shuffle of a history scan on Spark: readers and buckets are distributed over its executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from tailrace.spark.executor import ROWS


@dataclass(frozen=True)
class SparkShuffle:
    """Runs the steps of a scan with a Spark session, see `correction.bucketed_scan.Shuffle`."""

    spark: SparkSession

    def run(
        self, pieces: Sequence[Any], read: Callable[[Any], pa.Table], *steps: Callable[[pa.Table], pa.Table]
    ) -> pa.Table:
        """Read each of the pieces, at least one, and apply each step to each bucket."""
        parts = min(len(pieces), 4 * self.spark.sparkContext.defaultParallelism)

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column("id").to_pylist():
                    yield from read(pieces[number]).to_batches()

        rows = self.spark.range(0, len(pieces), numPartitions=parts).mapInArrow(run, ROWS)
        for step in steps:
            rows = rows.groupBy("task").applyInArrow(step, ROWS)
        return rows.toArrow()
