"""The scan of history up to a cut-off: the answers without repeats, and which answers hold repeats.

This process reads what is small enough; a distributed scan reads the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.model import AffectedAnswers
from tailrace.correction import deduplication
from tailrace.engine.stage import Stage
from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.ranges import Ranges
from tailrace.kind.protocol import Kind
from tailrace.storage.log import ORDER, Log, Piece, Reader, with_ids

AT_ONCE = 1_000_000
"""Rows up to which this process reads them itself, in less time than Spark needs to start."""

_ROWS_PER_BUCKET = 2_000_000


@dataclass(frozen=True)
class ScanJob:
    """The tuples whose event times lie in some ranges, to be read by many processes.

    Attributes
    ----------
    pieces : list of Piece
        All that may hold such a tuple, or another one with the id of one.
    columns : list of str
        What of these tuples is read, `log.ORDER` among it.
    buckets : int
        Over how many the tuples are spread by their ids, and then by their keys.
    """

    kind: Kind
    reader: Reader
    pieces: list[Piece]
    ranges: Ranges
    columns: list[str]
    buckets: int


class DistributedScan(Protocol):
    """Scans what is too much for one process."""

    def evaluate(self, job: ScanJob, affected: AffectedAnswers) -> pa.Table:
        """The affected answers, without repeats; all their tuples are in the job's ranges."""

    def windows_with_repeats(self, job: ScanJob) -> pa.Table:
        """The answers, as `AnswerModel.holding`, that hold a tuple whose id is there more than once; some twice."""

    def find(self, reader: Reader, pieces: list[Piece], ids: pa.Array) -> pa.Table:
        """`log.ORDER` of the tuples with one of these ids."""


OpenScan = Callable[[int], DistributedScan]
"""Opens a distributed scan over so many buckets."""


class HistoryScan:
    """A query's log up to a cut-off.

    Parameters
    ----------
    log : callable
        Gives it; called when it is needed.
    distributed : callable
        Called when it is needed, once.
    cores : int
        How many buckets a distributed scan has at least.
    """

    def __init__(
        self,
        stage: Stage,
        log: Callable[[], Log],
        distributed: OpenScan,
        cores: int,
    ) -> None:
        self.stage, self.cores = stage, cores
        self._read, self._open = log, distributed
        self._opened: DistributedScan | None = None

    @property
    def stream(self) -> StreamReader:
        return self.stage.readers[0]

    @cached_property
    def log(self) -> Log:
        return self._read()

    def evaluate(self, affected: AffectedAnswers) -> pa.Table:
        """The affected answers over all that arrived, without repeats."""
        ranges, columns = affected.ranges(), ["event_time", "key", *self.stream.columns.values, *ORDER]
        if job := self._job(ranges, columns):
            return self._distributed(job.buckets).evaluate(job, affected)
        tuples, others = self._gather(ranges, columns)
        kept = tuples.filter(pa.array(deduplication.first_arrivals(tuples, others)))
        return pa.Table.from_batches([deduplication.evaluate(self.stage.kind, kept, affected)])

    def windows_with_repeats(self, affected: AffectedAnswers) -> pa.Table:
        """The answers, as `AnswerModel.holding`, that hold a tuple whose id arrived more than once, wherever.

        Of answers that are not affected some may be returned too, and some twice. Values are not read.
        """
        ranges, columns = affected.ranges(), ["event_time", "key", *ORDER]
        if job := self._job(ranges, columns):
            return self._distributed(job.buckets).windows_with_repeats(job)
        tuples, others = self._gather(ranges, columns)
        again = tuples.filter(pa.array(deduplication.repeated(tuples, others)))
        return pa.Table.from_batches([self.stage.kind.answers.holding(again)])

    def _job(self, ranges: Ranges, columns: list[str]) -> ScanJob | None:
        """The distributed job that reads the tuples with such event times; None where they are few."""
        near = self.log.of_events(ranges)
        if _rows(near.pieces(ranges)) <= AT_ONCE:
            return None
        far = self.log.of_ids_in(near)
        pieces = far.pieces()
        buckets = max(self.cores, -(-_rows(pieces) // _ROWS_PER_BUCKET))
        return ScanJob(self.stage.kind, far.reader(), pieces, ranges, columns, buckets)

    def _gather(self, ranges: Ranges, columns: list[str]) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """The tuples with such event times, and `ORDER` of all others with one of their ids."""
        pieces, reader = self.log.of_events(ranges).pieces(ranges), self.log.reader()
        if not pieces:
            types = self.stream.columns.value_types() | {"key": self.stream.names.key, "id": self.stream.names.id}
            schema = pa.schema([(name, types.get(name, pa.int64())) for name in columns])
            return pa.RecordBatch.from_pylist([], schema), pa.RecordBatch.from_pylist([], schema).select(ORDER)
        inside, outside = zip(*(reader.split(piece, ranges, columns) for piece in pieces), strict=True)
        tuples = pa.concat_batches(inside)
        ids = pc.unique(tuples.column("id"))
        return tuples, with_ids(pa.concat_batches([*outside, *self._elsewhere(ids, set(pieces))]), ids)

    def _elsewhere(self, ids: pa.Array, read: set[Piece]) -> list[pa.RecordBatch]:
        """`ORDER` of tuples in pieces that were not read yet: all that have one of these ids, and any others."""
        names = ids.sort().to_numpy(zero_copy_only=False)
        far = self.log.of_ids(names, names)
        pieces, reader = [piece for piece in far.pieces() if piece not in read], far.reader()
        if _rows(pieces) > AT_ONCE:
            return list(self._distributed(self.cores).find(reader, pieces, ids).to_batches())
        return [reader.read(piece, ORDER) for piece in pieces]

    def _distributed(self, buckets: int) -> DistributedScan:
        if self._opened is None:
            self._opened = self._open(buckets)
        return self._opened


def _rows(pieces: Iterable[Piece]) -> int:
    return sum(piece.rows for piece in pieces)
