"""The stateless pipeline, which reads a segment of the log, and prepares it for the clock, the tasks and the tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.disorder.tick_statistics import COUNTS
from tailrace.engine.answer_files import AnswerFiles, WrittenAnswers
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.chunk_stores import MemoryChunks, chunk_store
from tailrace.engine.query_clock import QueryClock
from tailrace.engine.repeats import ID_COLUMNS, are_distinct, with_positions
from tailrace.engine.stream_reader import StreamReader
from tailrace.engine.task import SegmentRows, Task
from tailrace.engine.task_change import TaskChange, task_change
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.columns import group_sums, pair, single_batch
from tailrace.ground.arrow.wire import Batches
from tailrace.ground.facts import TABLE, newest, tables_in_force
from tailrace.ground.files.object_path import Location
from tailrace.kind.capabilities import Preaggregating, combined, sample_of
from tailrace.kind.inputs import common_id_type
from tailrace.kind.protocol import Enrichment, Kind, windowed
from tailrace.sources import history
from tailrace.sources.lookup.lookups import NO_VERSIONS, Versions, stored_versions
from tailrace.sources.segments import Segment
from tailrace.windows.windows import Windows


@dataclass(frozen=True)
class PreparedSegment:
    """A prepared segment of a batch.

    Attributes
    ----------
    record : dict
        Its row of the table `segments`, and the counts of its answers if it is answered already.
    side : int
        The side of its stream.
    statistics : Batches
        For the query's clock, see `query_clock.SegmentStatistics`.
    rows : tuple of RecordBatch
        The rows for each task; empty for an enrichment.
    tables : Batches
        The rows that go to tables unchanged, by table.
    """

    record: dict[str, Any]
    side: int
    statistics: Batches
    rows: tuple[pa.RecordBatch, ...]
    tables: Batches

    def rows_of(self, task: int) -> SegmentRows:
        """Return the rows for one task."""
        return SegmentRows(self.record["ordinal"], self.side, self.rows[task])


@dataclass(frozen=True)
class Pipeline:
    """The stateless pipeline of a query, a frozen value that is sent to every worker.

    Attributes
    ----------
    readers : tuple of StreamReader
        The readers of the streams, in the order of the kind's inputs.
    deduplicates : bool
        Whether repeats of ids are dropped. Then tasks get one row for each tuple, and the clock gets all ids.
    tasks : int
        The number of tasks with which the checkpoint was created or rebuilt, see `tasks_in`; 0 for an enrichment.
    chunks : Path or ObjectPath or None
        The directory with the chunks of the tasks' states; None where each task has them in memory.
    answer_files : AnswerFiles or None
        Writes the answers of an enrichment; without it there are none.
    plans_from : int
        The first batch whose partition plans and numbers of tasks count; earlier ones are for another checkpoint.
    table_versions : Path or ObjectPath or None
        The directory with the versions of the tables of lookups.
    """

    kind: Kind
    readers: tuple[StreamReader, ...]
    tasks: int
    deduplicates: bool = False
    chunks: Location | None = None
    answer_files: AnswerFiles | None = None
    plans_from: int = 0
    table_versions: Location | None = None

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams."""
        return tuple(reader.name for reader in self.readers)

    @property
    def tick_ms(self) -> int:
        """The length of a tick, equal for all readers."""
        return self.readers[0].tick_ms

    @property
    def clock(self) -> QueryClock:
        """The query's clock."""
        return QueryClock(self.kind, self.streams, self.tick_ms, self.deduplicates)

    def tasks_in(self, header: BatchHeader) -> TaskChange:
        """Return the numbers of tasks before and in a batch."""
        return task_change(header, self.tasks, self.plans_from)

    def task(self, index: int, change: TaskChange | None = None) -> Task:
        """Return the task with a number, by default of those with which the checkpoint was created."""
        store = MemoryChunks() if self.chunks is None else chunk_store(self.chunks / str(index))
        tasks, since = (self.tasks, self.plans_from) if change is None else (change.now, change.since)
        return Task(windowed(self.kind), self.streams, index, store, tasks, self.deduplicates, since)

    def prepare(self, segment: Segment, header: BatchHeader) -> PreparedSegment:
        """Read a segment of a batch, and prepare it for the clock, the tasks and the tables."""
        side = self.streams.index(segment.stream)
        reader = self.readers[side]
        combines = isinstance(self.kind, Preaggregating)
        is_coded = combines and not self.deduplicates and reader.history is None
        content = reader.read(segment, is_coded, self._versions(reader, header))
        tuples = content.tuples
        record = segment.to_json() | {"accepted": tuples.num_rows, "quarantined": content.quarantine.num_rows}
        record |= {"filtered": content.filtered, "unmatched": content.unmatched}
        record["floored"] = ", ".join(sorted(content.floored)) or None
        record |= content.ranges(as_text=common_id_type(self.kind.inputs) == pa.string())
        record["distinct_ids"] = reader.has_generated_ids or are_distinct(content.stored.column("id"))
        tables = {"quarantine": content.quarantine}
        if reader.history is not None:
            tables[reader.history.name] = history.write(content.stored, segment.ordinal, reader.history)
        statistics = {
            "ticks": content.ticks.to_arrow(),
            "sample": sample_of(self.kind, tuples, header.promises),
        }
        ids = tuples.select([*ID_COLUMNS, *([RETRACTED] if reader.takes_newest else [])])
        none = single_batch(ids.schema.empty_table())  # a slice of no rows would carry the offsets of all
        statistics["ids"] = ids if self.deduplicates else none
        if isinstance(self.kind, Enrichment):
            rows: tuple[pa.RecordBatch, ...] = ()
            statistics["counts"] = pa.RecordBatch.from_pylist([], COUNTS)
            if self.answer_files is not None and tuples.num_rows:
                written = self._answer(self.kind, self.answer_files, tuples, segment, header)
                tables["results"] = written.files
                record |= written.measured
        else:
            kind = windowed(self.kind)
            all_rows = kind.prepare(tuples, side)
            all_rows = with_positions(all_rows, tuples) if self.deduplicates else combined(kind, all_rows)
            change = self.tasks_in(header)
            routes = kind.partition.assign(side, all_rows, header.plans(change.since), change.now)
            rows = tuple(routes.rows_of(all_rows, task) for task in range(change.now))
            statistics["counts"] = _counts(all_rows, kind.windows)
        some = {name: batch for name, batch in tables.items() if batch.num_rows}
        return PreparedSegment(record, side, statistics, rows, some)

    def _versions(self, reader: StreamReader, header: BatchHeader) -> Versions:
        """Return the versions of the tables that a stream's lookups read in a batch."""
        if not reader.columns.lookups:
            return NO_VERSIONS
        assert self.table_versions is not None
        facts = tables_in_force(header.facts)
        files = {subject: self.table_versions / fact.value["file"] for subject, fact in facts.items()}
        return stored_versions(reader.columns.lookups, files)

    def _answer(
        self, kind: Enrichment, files: AnswerFiles, tuples: pa.RecordBatch, segment: Segment, header: BatchHeader
    ) -> WrittenAnswers:
        version = newest(header.facts, TABLE)
        if version is None:
            raise RuntimeError("the driver stamps the first version of the table before the first batch")
        return files.write(kind, tuples, version, segment.ordinal, self.tick_ms)


def _counts(rows: pa.RecordBatch, windows: Windows) -> pa.RecordBatch:
    """Count the tuples of each tick in each pane, over all keys, for coverage."""
    time = "pane" if "pane" in rows.schema.names else "event_time"  # partials are already by pane
    tick, pane, tuples = (np.asarray(rows.column(name)) for name in ("tick", time, "tuples"))
    group_id, split = pair(tick, windows.to_scale(pane) // windows.scale_step)
    group_id, (count,) = group_sums(group_id, tuples)
    tick, pane = split(group_id)
    pane = windows.from_scale(pane * windows.scale_step)
    return pa.RecordBatch.from_arrays([pa.array(each) for each in (tick, pane, count)], schema=COUNTS)
