"""A scan of more history than fits into this process: in buckets, one of which is in memory at a time.

Readers send each tuple to a bucket by its id, in which the stream is deduplicated. Then it goes to the buckets in which
the kind evaluates answers: by its key, or by a join's partitioning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.answers.model import AffectedAnswers
from tailrace.correction import deduplication
from tailrace.correction.scan_job import REPEAT, ScanJob, StreamScan, no_tuples
from tailrace.ground.arrow import wire
from tailrace.kind.protocol import Kind
from tailrace.partition.by_key import task_of
from tailrace.storage.log import ORDER, Piece, Reader, with_ids

MESSAGES = pa.schema([("task", pa.int32()), ("what", pa.string()), ("bytes", pa.binary())])
"""The schema of the rows sent to buckets: the bucket, "rows", and the packed rows."""

Addresses = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The index of a row, and the bucket that it is sent to; a row may be sent to several."""


class Shuffle(Protocol):
    """Runs the steps of a scan, and sends the rows of one step to the buckets of the next.

    Rows are of schema `MESSAGES`.
    """

    def run(
        self, pieces: Sequence[Any], read: Callable[[Any], pa.Table], *steps: Callable[[pa.Table], pa.Table]
    ) -> pa.Table:
        """Read each piece, and apply each step to each bucket of the previous step's result; return the last rows."""


@dataclass(frozen=True)
class BucketedScan:
    """Scans history in the steps of a shuffle."""

    shuffle: Shuffle

    def evaluate(self, job: ScanJob, affected: AffectedAnswers) -> pa.Table:
        def distinct(bucket: pa.Table) -> pa.Table:
            parts, addresses = {}, {}
            for side, stream in enumerate(job.streams):
                tuples, others = _tuples(bucket, side, stream)
                first = tuples.filter(pa.array(deduplication.counted(tuples, others)))
                parts[f"tuples.{side}"], addresses[f"tuples.{side}"] = first, addresses_of(job, side, first)
            return _to_buckets(parts, addresses, job.buckets)

        def evaluate(bucket: pa.Table) -> pa.Table:
            content = tuple(_tuples(bucket, side, stream)[0] for side, stream in enumerate(job.streams))
            return _to_driver(deduplication.evaluate(job.kind, content, affected))

        return without_replicas(job.kind, _result(self._scan(job, distinct, evaluate)))

    def repeats(self, job: ScanJob) -> pa.Table:
        def search(bucket: pa.Table) -> pa.Table:
            tuples, others = _tuples(bucket, 0, job.streams[0])
            is_repeat = ~deduplication.first_arrivals(tuples, others)
            return _to_driver(tuples.filter(pa.array(is_repeat)).select(REPEAT))

        return _result(self._scan(job, search))

    def ids_outside(self, job: ScanJob) -> pa.Array:
        def search(bucket: pa.Table) -> pa.Table:
            tuples, others = _tuples(bucket, 0, job.streams[0])
            return _to_driver(with_ids(others, pc.unique(tuples.column("id"))).select(["id"]))

        return pc.unique(_result(self._scan(job, search)).column("id"))

    def find(self, reader: Reader, pieces: list[Piece], ids: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Return these columns of the tuples with one of these ids; readers send no others."""
        return _result(self.shuffle.run(pieces, lambda piece: _to_driver(with_ids(reader.read(piece, columns), ids))))

    def _scan(self, job: ScanJob, *steps: Callable[[pa.Table], pa.Table]) -> pa.Table:
        def read(one: tuple[int, Piece]) -> pa.Table:
            side, piece = one
            stream = job.streams[side]
            tuples, others = stream.reader.split(piece, job.ranges, stream.columns)
            parts = {f"tuples.{side}": tuples, f"others.{side}": others}
            addresses = {
                name: (np.arange(part.num_rows), task_of(part.column("id"), job.buckets))
                for name, part in parts.items()
            }
            return _to_buckets(parts, addresses, job.buckets)

        pieces = [(side, piece) for side, stream in enumerate(job.streams) for piece in stream.pieces]
        return self.shuffle.run(pieces, read, *steps)


def addresses_of(job: ScanJob, side: int, tuples: pa.RecordBatch) -> Addresses:
    """Return the buckets in which tuples of an input are evaluated."""
    if not tuples.num_rows:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    routes = job.kind.partition.assign(side, job.kind.prepare(tuples, side), (), job.buckets)
    return routes.row, routes.task


def without_replicas(kind: Kind, answers: pa.Table) -> pa.Table:
    """Keep each answer of a join once: several buckets find it where tuples are replicated."""
    return kind.answers.identity.first_rows(answers) if len(kind.inputs) > 1 else answers


def _to_buckets(parts: dict[str, pa.RecordBatch], addresses: dict[str, Addresses], buckets: int) -> pa.Table:
    """Address the rows of each part to their buckets."""
    packed = []
    for number in range(buckets):
        rows = {name: row[bucket == number] for name, (row, bucket) in addresses.items()}
        packed.append(wire.pack({name: part.take(pa.array(rows[name])) for name, part in parts.items()}))
    return _rows(list(range(buckets)), packed)


def _to_driver(rows: pa.RecordBatch) -> pa.Table:
    """Address rows to the driver."""
    return _rows([0], [wire.pack({"rows": rows})])


def _rows(buckets: list[int], packed: list[bytes]) -> pa.Table:
    columns = [pa.array(buckets, pa.int32()), pa.array(["rows"] * len(buckets)), pa.array(packed, pa.binary())]
    return pa.table(columns, schema=MESSAGES)


def _tuples(bucket: pa.Table, side: int, stream: StreamScan) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Return the tuples of a stream in a bucket, and the bucket's other rows with `ORDER`."""
    messages = [wire.unpack(data)[0] for data in bucket.column("bytes").to_pylist()]
    parts = []
    for name, columns in ((f"tuples.{side}", stream.columns), (f"others.{side}", ORDER)):
        batches = [message[name] for message in messages if name in message]
        parts.append(pa.concat_batches(batches) if batches else no_tuples(stream.reader.stream, columns))
    return parts[0], parts[1]


def _result(rows: pa.Table) -> pa.Table:
    packed = rows.column("bytes").to_pylist()
    return pa.Table.from_batches([wire.unpack(data)[0]["rows"] for data in packed])
