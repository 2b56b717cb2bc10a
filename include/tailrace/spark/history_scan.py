"""The scan of history on Spark, for histories that are too large for one process.

Readers send each tuple to a bucket by its id, where tuples are deduplicated; from there it goes to a bucket by its key,
where the kind evaluates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tailrace.answers.model import AffectedAnswers
from tailrace.correction import deduplication
from tailrace.correction.history_scan import ScanJob
from tailrace.ground import wire
from tailrace.ground.wire import Batches
from tailrace.partition.by_key import task_of
from tailrace.spark.source import ROWS
from tailrace.storage.log import ORDER, Piece, Reader, with_ids

Step = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True)
class SparkScan:
    """Scans history with a Spark session."""

    spark: SparkSession

    def evaluate(self, job: ScanJob, affected: AffectedAnswers) -> pa.Table:
        def distinct(bucket: pa.Table) -> pa.Table:
            tuples, others = _part(bucket, "tuples"), _part(bucket, "others")
            first = tuples.filter(pa.array(deduplication.first_arrivals(tuples, others)))
            return _to_buckets({"tuples": first}, "key", job.buckets)

        def evaluate(bucket: pa.Table) -> pa.Table:
            return _to_driver(deduplication.evaluate(job.kind, _part(bucket, "tuples"), affected))

        return _result(_apply_by_task(_apply_by_task(self._read(job), distinct), evaluate))

    def windows_with_repeats(self, job: ScanJob) -> pa.Table:
        def search(bucket: pa.Table) -> pa.Table:
            tuples, others = _part(bucket, "tuples"), _part(bucket, "others")
            repeats = tuples.filter(pa.array(deduplication.repeated(tuples, others)))
            return _to_driver(job.kind.answers.holding(repeats))

        return _result(_apply_by_task(self._read(job), search))

    def find(self, reader: Reader, pieces: list[Piece], ids: pa.Array) -> pa.Table:
        """`log.ORDER` of the tuples with one of these ids; only these leave the readers."""
        return _result(
            _map_pieces(self.spark, pieces, lambda piece: _to_driver(with_ids(reader.read(piece, ORDER), ids)))
        )

    def _read(self, job: ScanJob) -> DataFrame:
        def read(piece: Piece) -> pa.Table:
            tuples, others = job.reader.split(piece, job.ranges, job.columns)
            return _to_buckets({"tuples": tuples, "others": others}, "id", job.buckets)

        return _map_pieces(self.spark, job.pieces, read)


def _map_pieces(spark: SparkSession, pieces: list[Piece], read: Callable[[Piece], pa.Table]) -> DataFrame:
    """Apply `read` to each of the pieces, at least one, spread over Spark's partitions."""
    parts = min(len(pieces), 4 * spark.sparkContext.defaultParallelism)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield from read(pieces[number]).to_batches()

    return spark.range(0, len(pieces), numPartitions=parts).mapInArrow(run, ROWS)


def _apply_by_task(rows: DataFrame, step: Step) -> DataFrame:
    return rows.groupBy("task").applyInArrow(step, ROWS)


def _to_buckets(parts: Batches, by: str, buckets: int) -> pa.Table:
    """Address the rows of each part to their buckets, by a hash of a column."""
    bucket = {what: task_of(part.column(by), buckets) for what, part in parts.items()}
    packed = [
        wire.pack({what: part.filter(pa.array(bucket[what] == number)) for what, part in parts.items()})
        for number in range(buckets)
    ]
    return _rows(list(range(buckets)), packed)


def _to_driver(rows: pa.RecordBatch) -> pa.Table:
    """Address the rows to the driver."""
    return _rows([0], [wire.pack({"rows": rows})])


def _rows(task: list[int], packed: list[bytes]) -> pa.Table:
    columns = [pa.array(task, pa.int32()), pa.array(["rows"] * len(task)), pa.array(packed, pa.binary())]
    return pa.table(columns, names=["task", "what", "bytes"])


def _part(bucket: pa.Table, what: str) -> pa.RecordBatch:
    return pa.concat_batches([wire.unpack(data)[0][what] for data in bucket.column("bytes").to_pylist()])


def _result(rows: DataFrame) -> pa.Table:
    packed = rows.toArrow().column("bytes").to_pylist()
    return pa.Table.from_batches([wire.unpack(data)[0]["rows"] for data in packed])
