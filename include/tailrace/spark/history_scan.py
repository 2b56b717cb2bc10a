"""The scan of history on Spark, for histories that are too large for one process.

Readers send each tuple to a bucket by its id, where the tuples of a stream are deduplicated; from there it goes to the
buckets where the kind evaluates: to one by its key, or where a join's partitioning places it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from tailrace.answers.model import AffectedAnswers
from tailrace.correction import deduplication
from tailrace.correction.scan_job import REPEAT, ScanJob, StreamScan, no_tuples
from tailrace.ground import wire
from tailrace.kind.protocol import Kind
from tailrace.partition.by_key import task_of
from tailrace.spark.executor import ROWS
from tailrace.storage.log import ORDER, Piece, Reader, with_ids

Step = Callable[[pa.Table], pa.Table]
Places = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The index of a row, and the bucket that it goes to; a row may go to several."""


@dataclass(frozen=True)
class SparkScan:
    """Scans history with a Spark session."""

    spark: SparkSession

    def evaluate(self, job: ScanJob, affected: AffectedAnswers) -> pa.Table:
        def distinct(bucket: pa.Table) -> pa.Table:
            parts, places = {}, {}
            for side, stream in enumerate(job.streams):
                tuples, others = _tuples(bucket, side, stream)
                first = tuples.filter(pa.array(deduplication.first_arrivals(tuples, others)))
                parts[f"tuples.{side}"], places[f"tuples.{side}"] = first, places_of(job, side, first)
            return _to_buckets(parts, places, job.buckets)

        def evaluate(bucket: pa.Table) -> pa.Table:
            content = tuple(_tuples(bucket, side, stream)[0] for side, stream in enumerate(job.streams))
            return _to_driver(deduplication.evaluate(job.kind, content, affected))

        answers = _result(_apply_by_task(_apply_by_task(self._read(job), distinct), evaluate))
        return without_replicas(job.kind, answers)

    def repeats(self, job: ScanJob) -> pa.Table:
        def search(bucket: pa.Table) -> pa.Table:
            tuples, others = _tuples(bucket, 0, job.streams[0])
            is_repeat = ~deduplication.first_arrivals(tuples, others)
            return _to_driver(tuples.filter(pa.array(is_repeat)).select(REPEAT))

        return _result(_apply_by_task(self._read(job), search))

    def ids_outside(self, job: ScanJob) -> pa.Array:
        def search(bucket: pa.Table) -> pa.Table:
            tuples, others = _tuples(bucket, 0, job.streams[0])
            return _to_driver(with_ids(others, pc.unique(tuples.column("id"))).select(["id"]))

        return pc.unique(_result(_apply_by_task(self._read(job), search)).column("id"))

    def find(self, reader: Reader, pieces: list[Piece], ids: pa.Array, columns: Sequence[str]) -> pa.Table:
        """These columns of the tuples with one of these ids; only these leave the readers."""
        return _result(
            _map_pieces(self.spark, pieces, lambda piece: _to_driver(with_ids(reader.read(piece, columns), ids)))
        )

    def _read(self, job: ScanJob) -> DataFrame:
        def read(read: tuple[int, Piece]) -> pa.Table:
            side, piece = read
            stream = job.streams[side]
            tuples, others = stream.reader.split(piece, job.ranges, stream.columns)
            parts = {f"tuples.{side}": tuples, f"others.{side}": others}
            places = {
                name: (np.arange(part.num_rows), task_of(part.column("id"), job.buckets))
                for name, part in parts.items()
            }
            return _to_buckets(parts, places, job.buckets)

        return _map_pieces(self.spark, [(s, piece) for s, one in enumerate(job.streams) for piece in one.pieces], read)


def places_of(job: ScanJob, side: int, tuples: pa.RecordBatch) -> Places:
    """The buckets in which tuples of an input are evaluated."""
    if not tuples.num_rows:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    routes = job.kind.partition.assign(side, job.kind.prepare(tuples, side), (), job.buckets)
    return routes.row, routes.task


def without_replicas(kind: Kind, answers: pa.Table) -> pa.Table:
    """Leave each answer of a join once: several buckets find it where tuples are replicated."""
    return kind.answers.identity.first_rows(answers) if len(kind.inputs) > 1 else answers


def _map_pieces(spark: SparkSession, pieces: Sequence[Any], read: Callable[[Any], pa.Table]) -> DataFrame:
    """Apply `read` to each of the pieces, at least one, spread over Spark's partitions."""
    parts = min(len(pieces), 4 * spark.sparkContext.defaultParallelism)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield from read(pieces[number]).to_batches()

    return spark.range(0, len(pieces), numPartitions=parts).mapInArrow(run, ROWS)


def _apply_by_task(rows: DataFrame, step: Step) -> DataFrame:
    return rows.groupBy("task").applyInArrow(step, ROWS)


def _to_buckets(parts: dict[str, pa.RecordBatch], places: dict[str, Places], buckets: int) -> pa.Table:
    """Address the rows of each part to their buckets."""
    packed = []
    for number in range(buckets):
        rows = {name: row[bucket == number] for name, (row, bucket) in places.items()}
        packed.append(wire.pack({name: part.take(pa.array(rows[name])) for name, part in parts.items()}))
    return _rows(list(range(buckets)), packed)


def _to_driver(rows: pa.RecordBatch) -> pa.Table:
    """Address the rows to the driver."""
    return _rows([0], [wire.pack({"rows": rows})])


def _rows(task: list[int], packed: list[bytes]) -> pa.Table:
    columns = [pa.array(task, pa.int32()), pa.array(["rows"] * len(task)), pa.array(packed, pa.binary())]
    return pa.table(columns, names=["task", "what", "bytes"])


def _tuples(bucket: pa.Table, side: int, stream: StreamScan) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The tuples of a stream in a bucket, and the others there with `ORDER`."""
    messages = [wire.unpack(data)[0] for data in bucket.column("bytes").to_pylist()]
    found = []
    for name, columns in ((f"tuples.{side}", stream.columns), (f"others.{side}", ORDER)):
        batches = [message[name] for message in messages if name in message]
        found.append(pa.concat_batches(batches) if batches else no_tuples(stream.reader.stream, columns))
    return found[0], found[1]


def _result(rows: DataFrame) -> pa.Table:
    packed = rows.toArrow().column("bytes").to_pylist()
    return pa.Table.from_batches([wire.unpack(data)[0]["rows"] for data in packed])
