"""The part of a scan of history that is too much for one process, as it is given to many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from tailrace.answers.model import AffectedAnswers
from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.ranges import Ranges
from tailrace.kind.protocol import WindowedKind
from tailrace.storage.log import Piece, Reader

REPEAT = ["id", "key", "event_time"]
"""The columns of a repeat: by them the answers that hold it are found."""


@dataclass(frozen=True)
class StreamScan:
    """The part of a job that reads one stream.

    Attributes
    ----------
    pieces : list of Piece
        All that may hold a tuple in the job's ranges, or another one with the id of one.
    columns : list of str
        The columns of these tuples, `log.ORDER` among them.
    """

    reader: Reader
    pieces: list[Piece]
    columns: list[str]


@dataclass(frozen=True)
class ScanJob:
    """The tuples whose event times lie in some ranges, to be read by many processes.

    Attributes
    ----------
    streams : tuple of StreamScan
        In the order of the kind's inputs.
    buckets : int
        Over how many the tuples are spread by their ids, and then as the kind spreads them over tasks.
    """

    kind: WindowedKind
    streams: tuple[StreamScan, ...]
    ranges: Ranges
    buckets: int


class DistributedScan(Protocol):
    """Scans what is too much for one process."""

    def evaluate(self, job: ScanJob, affected: AffectedAnswers) -> pa.Table:
        """The affected answers, without repeats; all their tuples are in the job's ranges."""

    def repeats(self, job: ScanJob) -> pa.Table:
        """Find the tuples in the job's ranges whose id arrived before; of a job of one stream, with `REPEAT`."""

    def ids_outside(self, job: ScanJob) -> pa.Array:
        """The ids of tuples in the job's ranges that came outside of these, too; of a job of one stream."""

    def find(self, reader: Reader, pieces: list[Piece], ids: pa.Array, columns: Sequence[str]) -> pa.Table:
        """These columns of the tuples with one of these ids."""


OpenScan = Callable[[int], DistributedScan]
"""Opens a distributed scan over so many buckets."""


def no_tuples(stream: StreamReader, columns: Sequence[str]) -> pa.RecordBatch:
    """An empty batch with these columns of a stream's tuples."""
    types = stream.value_types | {"key": stream.column_types.key, "id": stream.column_types.id}
    schema = pa.schema([(name, types.get(name, pa.int64())) for name in columns])
    return pa.RecordBatch.from_pylist([], schema)
