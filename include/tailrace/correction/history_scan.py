"""The scan of history up to a cut-off: the answers without repeats, and which answers hold repeats.

The ids of each stream are a space of their own. This process reads what is small enough; a distributed scan reads the
rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.by_window import ByWindow
from tailrace.answers.model import AffectedAnswers
from tailrace.correction import deduplication
from tailrace.correction.scan_job import DistributedScan, OpenScan, ScanJob, StreamScan, no_tuples
from tailrace.engine.stage import Stage
from tailrace.ground.columns import Ints
from tailrace.ground.ranges import Ranges
from tailrace.storage.log import ORDER, Log, Piece, with_ids

AT_ONCE = 1_000_000
"""Rows up to which this process reads them itself, in less time than Spark needs to start."""

_ROWS_PER_BUCKET = 2_000_000


class HistoryScan:
    """The logs of a query's streams up to a cut-off.

    Parameters
    ----------
    logs : callable
        Gives the log of each stream, in the order of the kind's inputs; called when they are needed.
    distributed : callable
        Called when it is needed, once.
    cores : int
        How many buckets a distributed scan has at least.
    """

    def __init__(self, stage: Stage, logs: Callable[[], Sequence[Log]], distributed: OpenScan, cores: int) -> None:
        self.stage, self.cores = stage, cores
        self._read, self._open = logs, distributed
        self._opened: DistributedScan | None = None

    @cached_property
    def logs(self) -> Sequence[Log]:
        return self._read()

    def evaluate(self, affected: AffectedAnswers) -> pa.Table:
        """The affected answers over all that arrived, without repeats."""
        ranges = affected.ranges()
        columns = [["event_time", "key", *reader.value_types, *ORDER] for reader in self.stage.readers]
        if job := self._job(self.logs, ranges, columns):
            return self._distributed(job.buckets).evaluate(job, affected)
        content = []
        for log, names in zip(self.logs, columns, strict=True):
            tuples, others = self._gather(log, ranges, names)
            content.append(tuples.filter(pa.array(deduplication.first_arrivals(tuples, others))))
        return pa.Table.from_batches([deduplication.evaluate(self.stage.kind, tuple(content), affected)])

    def windows_with_repeats(self, affected: AffectedAnswers) -> pa.Table:
        """The windows, as `ByWindow.holding`, that hold a tuple whose id arrived more than once, wherever.

        Of windows that are not affected some may be returned too, and some twice. Values are not read.
        """
        ranges, columns = affected.ranges(), ["event_time", "key", *ORDER]
        if job := self._job(self.logs, ranges, [columns]):
            return self._distributed(job.buckets).windows_with_repeats(job)
        (log,), model = self.logs, self.stage.kind.answers
        assert isinstance(model, ByWindow)
        tuples, others = self._gather(log, ranges, columns)
        again = tuples.filter(pa.array(deduplication.repeated(tuples, others)))
        return pa.Table.from_batches([model.holding(again)])

    def ids_outside(self, side: int, affected: AffectedAnswers) -> pa.Array:
        """The ids of a stream's tuples in the ranges of the affected answers that came outside of these, too.

        Values are not read.
        """
        ranges, log = affected.ranges(), self.logs[side]
        if job := self._job([log], ranges, [ORDER]):
            return self._distributed(job.buckets).ids_outside(job)
        _, others = self._gather(log, ranges, ORDER)
        return pc.unique(others.column("id"))

    def event_times(self, side: int, ids: pa.Array) -> Ints:
        """The event time of the first tuple to arrive with each of these ids, in a stream; not in order."""
        columns = [*ORDER, "event_time"]
        nothing = no_tuples(self.stage.readers[side], columns)
        found = pa.concat_batches([nothing, *self._elsewhere(self.logs[side], pc.unique(ids), set(), columns)])
        tuples = with_ids(found, ids)
        is_first = deduplication.first_arrivals(tuples, nothing)
        return np.asarray(tuples.column("event_time"))[is_first]

    def _job(self, logs: Sequence[Log], ranges: Ranges, columns: Sequence[list[str]]) -> ScanJob | None:
        """The distributed job that reads the tuples of logs with such event times; None where they are few."""
        near = [log.of_events(ranges) for log in logs]
        if sum(_rows(log.pieces(ranges)) for log in near) <= AT_ONCE // self.stage.kind.row_weight:
            return None
        far = [log.of_ids_in(part) for log, part in zip(logs, near, strict=True)]
        streams = tuple(StreamScan(log.reader(), log.pieces(), names) for log, names in zip(far, columns, strict=True))
        rows = sum(_rows(stream.pieces) for stream in streams)
        buckets = max(self.cores, -(-rows * self.stage.kind.row_weight // _ROWS_PER_BUCKET))
        return ScanJob(self.stage.kind, streams, ranges, buckets)

    def _gather(self, log: Log, ranges: Ranges, columns: list[str]) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """The tuples with such event times, and `ORDER` of all others with one of their ids."""
        pieces, reader = log.of_events(ranges).pieces(ranges), log.reader()
        if not pieces:
            return no_tuples(log.stream, columns), no_tuples(log.stream, ORDER)
        inside, outside = zip(*(reader.split(piece, ranges, columns) for piece in pieces), strict=True)
        tuples = pa.concat_batches(inside)
        ids = pc.unique(tuples.column("id"))
        others = [*outside, *self._elsewhere(log, ids, set(pieces), ORDER)]
        return tuples, with_ids(pa.concat_batches(others), ids)

    def _elsewhere(self, log: Log, ids: pa.Array, read: set[Piece], columns: Sequence[str]) -> list[pa.RecordBatch]:
        """Tuples in pieces that were not read yet: all that have one of these ids, and any others."""
        names = ids.sort().to_numpy(zero_copy_only=False)
        far = log.of_ids(names, names)
        pieces, reader = [piece for piece in far.pieces() if piece not in read], far.reader()
        if _rows(pieces) > AT_ONCE // self.stage.kind.row_weight:
            return list(self._distributed(self.cores).find(reader, pieces, ids, columns).to_batches())
        return [reader.read(piece, columns) for piece in pieces]

    def _distributed(self, buckets: int) -> DistributedScan:
        if self._opened is None:
            self._opened = self._open(buckets)
        return self._opened


def _rows(pieces: Iterable[Piece]) -> int:
    return sum(piece.rows for piece in pieces)
