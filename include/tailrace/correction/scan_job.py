"""A distributed job for the part of a history scan that exceeds one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from tailrace.answers.model import AffectedAnswers
from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.arrow.ranges import Ranges
from tailrace.kind.protocol import WindowedKind
from tailrace.storage.log import Piece, Reader

REPEAT = ["id", "key", "event_time"]
"""The columns of a repeat that identify the answers with it."""


@dataclass(frozen=True)
class StreamScan:
    """The part of a job that reads one stream.

    Attributes
    ----------
    pieces : list of Piece
        All pieces that may contain a tuple in the job's ranges, or another tuple with the same id.
    columns : list of str
        The columns of these tuples, `log.ORDER` among them.
    """

    reader: Reader
    pieces: list[Piece]
    columns: list[str]


@dataclass(frozen=True)
class ScanJob:
    """A job for many processes: reads the tuples whose event times lie in some ranges.

    Attributes
    ----------
    streams : tuple of StreamScan
        In the order of the kind's inputs.
    buckets : int
        The number of buckets, over which tuples are spread by id, and then by the kind's partitioning.
    """

    kind: WindowedKind
    streams: tuple[StreamScan, ...]
    ranges: Ranges
    buckets: int


class DistributedScan(Protocol):
    """Scans histories that exceed one process."""

    def evaluate(self, job: ScanJob, affected: AffectedAnswers) -> pa.Table:
        """Return the affected answers, without repeats; all their tuples are in the job's ranges."""

    def repeats(self, job: ScanJob) -> pa.Table:
        """Find the tuples in the job's ranges whose id arrived before, with `REPEAT`; for a job of one stream."""

    def ids_outside(self, job: ScanJob) -> pa.Array:
        """Return the ids of tuples in the job's ranges that also occur outside of them; for a job of one stream."""

    def find(self, reader: Reader, pieces: list[Piece], ids: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Return these columns of the tuples with one of these ids."""


OpenScan = Callable[[int], DistributedScan]
"""Opens a distributed scan with a number of buckets."""


def no_tuples(stream: StreamReader, columns: Sequence[str]) -> pa.RecordBatch:
    """Return an empty batch with these columns of a stream's tuples."""
    types = stream.value_types | {"key": stream.column_types.key, "id": stream.column_types.id}
    schema = pa.schema([(name, types.get(name, pa.int64())) for name in columns])
    return pa.RecordBatch.from_pylist([], schema)
