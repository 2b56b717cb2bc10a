"""The scan of history up to a cut-off, which evaluates answers without repeats, and finds repeats.

Each stream has its own ids. This process reads histories that are small enough; a distributed scan reads larger ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.model import AffectedAnswers
from tailrace.correction import deduplication
from tailrace.correction.scan_job import REPEAT, DistributedScan, OpenScan, ScanJob, StreamScan, no_tuples
from tailrace.engine.pipeline import Pipeline
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.ranges import Ranges
from tailrace.ground.arrow.times import EVENT_US
from tailrace.kind.capabilities import FAILURE, OVERFLOWED, counting
from tailrace.kind.failed_pairs import FailedPairs
from tailrace.kind.protocol import WindowedKind, windowed
from tailrace.storage.log import ORDER, Log, Piece, with_ids

AT_ONCE = 1_000_000
"""The most rows that this process reads itself, which is faster than starting Spark."""

_ROWS_PER_BUCKET = 2_000_000


class HistoryScan:
    """The logs of a query's streams up to a cut-off.

    Parameters
    ----------
    logs : callable
        Returns the log of each stream, in the order of the kind's inputs; called when needed.
    distributed : callable
        Opens the distributed scan; called once, when needed.
    cores : int
        The least number of buckets of a distributed scan.

    Attributes
    ----------
    overflowed : int
        The number of evaluated answers that are null because they exceed their type.
    failed_pairs : FailedPairs
        The pairs for which the condition of a join fails; in windows, once for each window.
    """

    def __init__(
        self, pipeline: Pipeline, logs: Callable[[], Sequence[Log]], distributed: OpenScan, cores: int
    ) -> None:
        self.pipeline, self.cores = pipeline, cores
        self._read, self._open = logs, distributed
        self._opened: DistributedScan | None = None
        self.overflowed = 0
        self.failed_pairs = FailedPairs()

    @cached_property
    def logs(self) -> Sequence[Log]:
        return self._read()

    def evaluate(self, affected: AffectedAnswers) -> pa.Table:
        """Return the affected answers over all tuples, without repeats.

        Also count overflowed answers, and pairs for which the join's condition fails.
        """
        answers = self._evaluate(counting(windowed(self.pipeline.kind)), affected)
        if OVERFLOWED in answers.schema.names:
            self.overflowed += pc.sum(answers[OVERFLOWED], min_count=0).as_py()
            answers = answers.drop_columns([OVERFLOWED])
        if FAILURE in answers.schema.names:
            failures = answers[FAILURE].drop_null()
            reason = pc.min(failures).as_py() if len(failures) else None
            self.failed_pairs += FailedPairs(len(failures), reason)
            answers = answers.filter(answers[FAILURE].is_null()).drop_columns([FAILURE])
        return answers

    def _evaluate(self, kind: WindowedKind, affected: AffectedAnswers) -> pa.Table:
        ranges = affected.ranges()
        columns = [["event_time", EVENT_US, "key", *reader.value_types, *ORDER] for reader in self.pipeline.readers]
        near = [log.of_events(ranges) for log in self.logs]
        if job := self._job(self.logs, near, ranges, columns):
            return self._distributed(job.buckets).evaluate(replace(job, kind=kind), affected)
        content = []
        for log, part, names in zip(self.logs, near, columns, strict=True):
            tuples, others = self._gather(log, part, ranges, names)
            content.append(tuples.filter(pa.array(deduplication.counted(tuples, others))))
        return pa.Table.from_batches([deduplication.evaluate(kind, tuple(content), affected)])

    @property
    def may_have_repeats(self) -> bool:
        """Whether any id may have arrived twice, according to the id ranges of the logs' segments."""
        return any(len(log.with_repeats().segments) for log in self.logs)

    def repeats(self, side: int, ranges: Ranges) -> pa.Table:
        """Find the tuples of a stream with these event times whose id had arrived before, with any event time.

        Values are not read, nor segments whose ids overlap no other segment's.

        Returns
        -------
        Table
            With `REPEAT`, in no order.
        """
        columns, log = list(dict.fromkeys([*REPEAT, *ORDER])), self.logs[side]
        near = log.with_repeats().of_events(ranges)
        if job := self._job([log], [near], ranges, [columns]):
            return self._distributed(job.buckets).repeats(job)
        tuples, others = self._gather(log, near, ranges, columns)
        is_repeat = ~deduplication.first_arrivals(tuples, others)
        return pa.Table.from_batches([tuples.filter(pa.array(is_repeat)).select(REPEAT)])

    def ids_outside(self, side: int, affected: AffectedAnswers) -> pa.Array:
        """Return the ids of a stream that occur both inside and outside of the ranges of the affected answers.

        Values are not read.
        """
        ranges, log = affected.ranges(), self.logs[side]
        near = log.of_events(ranges)
        if job := self._job([log], [near], ranges, [ORDER]):
            return self._distributed(job.buckets).ids_outside(job)
        _, others = self._gather(log, near, ranges, ORDER)
        return pc.unique(others.column("id"))

    def event_times(self, side: int, ids: pa.Array) -> Ints:
        """Return the event time of the first tuple with each of these ids in a stream, in no order."""
        columns = [*ORDER, "event_time"]
        nothing = no_tuples(self.pipeline.readers[side], columns)
        candidates = pa.concat_batches([nothing, *self._elsewhere(self.logs[side], pc.unique(ids), set(), columns)])
        tuples = with_ids(candidates, ids)
        is_first = deduplication.first_arrivals(tuples, nothing)
        return np.asarray(tuples.column("event_time"))[is_first]

    def keyed_times(self, ranges: Ranges, keys: pa.ChunkedArray | None = None) -> pa.Table:
        """Return `key` and `event_time` of the tuples of the only stream with these event times, including repeats.

        Each combination is returned once, for all keys or for some. This process reads history piece by piece.
        """
        (log,), names = self.logs, ["key", "event_time"]
        near = log.of_events(ranges)
        reader, parts = near.reader(), [pa.Table.from_batches([no_tuples(log.stream, names)])]
        for piece in near.pieces(ranges):
            tuples = pa.Table.from_batches([reader.split(piece, ranges, names)[0]])
            if keys is not None:
                tuples = tuples.filter(pc.is_in(tuples["key"], keys.combine_chunks()))
            parts.append(tuples.group_by(names).aggregate([]).select(names))
        return pa.concat_tables(parts)

    def _job(
        self, logs: Sequence[Log], near: Sequence[Log], ranges: Ranges, columns: Sequence[list[str]]
    ) -> ScanJob | None:
        """Build the distributed job for `near`, segments that may have tuples in the ranges; None if it is small."""
        if sum(_rows(log.pieces(ranges)) for log in near) <= AT_ONCE // self.pipeline.kind.row_weight:
            return None
        far = [log.of_ids_in(part) for log, part in zip(logs, near, strict=True)]
        streams = tuple(StreamScan(log.reader(), log.pieces(), names) for log, names in zip(far, columns, strict=True))
        rows = sum(_rows(stream.pieces) for stream in streams)
        buckets = max(self.cores, -(-rows * self.pipeline.kind.row_weight // _ROWS_PER_BUCKET))
        return ScanJob(windowed(self.pipeline.kind), streams, ranges, buckets)

    def _gather(self, log: Log, near: Log, ranges: Ranges, columns: list[str]) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """Read a log's tuples in these event times, and the `ORDER` columns of other tuples with their ids."""
        pieces, reader = near.pieces(ranges), log.reader()
        if not pieces:
            return no_tuples(log.stream, columns), no_tuples(log.stream, ORDER)
        inside, outside = zip(*(reader.split(piece, ranges, columns) for piece in pieces), strict=True)
        tuples = pa.concat_batches(inside)
        ids = pc.unique(tuples.column("id"))
        others = [*outside, *self._elsewhere(log, ids, set(pieces), ORDER)]
        return tuples, with_ids(pa.concat_batches(others), ids)

    def _elsewhere(self, log: Log, ids: pa.Array, read: set[Piece], columns: Sequence[str]) -> list[pa.RecordBatch]:
        """Read unread pieces that may have one of these ids; the result may include other tuples."""
        names = ids.sort().to_numpy(zero_copy_only=False)
        far = log.of_ids(names, names)
        pieces, reader = [piece for piece in far.pieces() if piece not in read], far.reader()
        if _rows(pieces) > AT_ONCE // self.pipeline.kind.row_weight:
            return list(self._distributed(self.cores).find(reader, pieces, ids, columns).to_batches())
        return [reader.read(piece, columns) for piece in pieces]

    def _distributed(self, buckets: int) -> DistributedScan:
        if self._opened is None:
            self._opened = self._open(buckets)
        return self._opened


def _rows(pieces: Iterable[Piece]) -> int:
    return sum(piece.rows for piece in pieces)
