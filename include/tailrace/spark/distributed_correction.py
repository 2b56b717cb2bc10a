"""The correction with Spark, for histories that are too large for one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from tailrace.correction import correct as correction
from tailrace.correction.bucketed_scan import BucketedScan
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.report import CorrectionReport
from tailrace.ground.connections import connection_variables
from tailrace.query.query import Query
from tailrace.spark.executor import ROWS
from tailrace.spark.session import session
from tailrace.storage.warehouses import Warehouse, connections_of, location_of


def correct(
    query: Query,
    warehouse: Warehouse,
    correction_range: CorrectionRange = CorrectionRange(),  # noqa: B008 (frozen)
) -> CorrectionReport:
    """Correct late tuples like `correction.correct`; Spark is only started if much has to be read."""
    with ExitStack() as sessions:

        def scan(buckets: int) -> BucketedScan:
            names = [*query.connections, *connections_of(location_of(warehouse))]
            variables = connection_variables(names)
            opened = session(f"tailrace correct {query.name}", buckets, environment=variables)
            return BucketedScan(SparkShuffle(sessions.enter_context(opened)))

        return correction.correct(query, warehouse, correction_range, scan)


@dataclass(frozen=True)
class SparkShuffle:
    """Runs the steps of a scan with a Spark session, see `correction.bucketed_scan.Shuffle`."""

    spark: SparkSession

    def run(
        self, pieces: Sequence[Any], read: Callable[[Any], pa.Table], *steps: Callable[[pa.Table], pa.Table]
    ) -> pa.Table:
        """Read each piece (at least one), and apply each step to each bucket."""
        parts = min(len(pieces), 4 * self.spark.sparkContext.defaultParallelism)

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column("id").to_pylist():
                    yield from read(pieces[number]).to_batches()

        rows = self.spark.range(0, len(pieces), numPartitions=parts).mapInArrow(run, ROWS)
        for step in steps:
            rows = rows.groupBy("task").applyInArrow(step, ROWS)
        return rows.toArrow()
