"""The stateless stage: it reads and prepares a segment of the log, and addresses its rows to tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.disorder.tick_statistics import COUNTS
from tailrace.engine.answer_files import AnswerFiles
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.chunk_stores import MemoryChunks, chunk_store
from tailrace.engine.repeats import ID_COLUMNS, are_distinct, with_positions
from tailrace.engine.stream_reader import TABLE, StreamReader, readers_of, table_types
from tailrace.engine.task import Task
from tailrace.ground import wire
from tailrace.ground.columns import group_sums, pair, single_batch
from tailrace.ground.facts import newest
from tailrace.ground.object_path import Location
from tailrace.kind.capabilities import Combines, JoinsTable, combined, sample_of
from tailrace.kind.inputs import common_id_type
from tailrace.kind.protocol import Kind
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.sources import history
from tailrace.sources.segments import Segment, Types

Message = tuple[int, str, bytes]
"""A row through Spark: the task it goes to, what it is, its bytes."""


@dataclass(frozen=True)
class Stage:
    """The stateless stage of a query, a frozen value that is sent to every worker.

    Attributes
    ----------
    readers : tuple of StreamReader
        Of the streams, in the order of the kind's inputs.
    deduplicates : bool
        Whether tasks drop repeats of ids. Then rows go to them one a tuple, and the ids of all tuples to every task.
    chunks : Path or ObjectPath or None
        The directory with the chunks of the tasks' states; None: each task has them in memory.
    answer_files : AnswerFiles or None
        Of a kind that joins a dimension table: writes its answers. Without it the kind answers nothing.
    plans_from : int
        The first batch whose partition plans count: those before it are of another number of tasks.
    """

    kind: Kind
    readers: tuple[StreamReader, ...]
    tasks: int
    deduplicates: bool = False
    chunks: Location | None = None
    answer_files: AnswerFiles | None = None
    plans_from: int = 0

    @staticmethod
    def of(
        query: Query, types: Mapping[str, Types], histories: Mapping[str, Location], chunks: Location | None = None
    ) -> Stage:
        """The stage of a declared query; the other parameters are those of `readers_of`.

        `types` has those of the dimension table, too, if there is one.
        """
        readers = readers_of(query, types, histories)
        streams = [reader.column_types for reader in readers]
        kind = build(query, [*streams, table_types(types[TABLE])] if query.table else streams)
        return Stage(kind, readers, query.parallelism, query.disorder.deduplicate, chunks)

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams."""
        return tuple(reader.name for reader in self.readers)

    @property
    def tick_ms(self) -> int:
        """The length of a tick, alike for all readers."""
        return self.readers[0].tick_ms

    def task(self, index: int) -> Task:
        """One of the tasks, by its number."""
        store = MemoryChunks() if self.chunks is None else chunk_store(self.chunks / str(index))
        tasks = self.tasks, self.deduplicates, self.plans_from
        return Task(self.kind, self.streams, self.tick_ms, index, store, *tasks)

    def messages(self, segment: Segment, header: BatchHeader) -> list[Message]:
        """Read a segment of a batch; returns the messages to the tasks: prepared rows, statistics, rows for tables."""
        side = self.streams.index(segment.stream)
        reader = self.readers[side]
        combines = isinstance(self.kind, Combines) and not isinstance(self.kind, JoinsTable)
        content = reader.read(segment, coded_keys=combines and not self.deduplicates and reader.history is None)
        rows = self.kind.prepare(content.tuples, side)
        rows = with_positions(rows, content.tuples) if self.deduplicates else combined(self.kind, rows)
        routes = self.kind.partition.assign(side, rows, header.plans(self.plans_from), self.tasks)
        about = segment.to_json() | {"accepted": content.tuples.num_rows, "quarantined": content.quarantine.num_rows}
        about |= content.ranges(as_text=common_id_type(self.kind.inputs) == pa.string())
        about["distinct_ids"] = reader.has_generated_ids or are_distinct(content.tuples.column("id"))
        aside = {"quarantine": content.quarantine}
        if self.answer_files is not None and isinstance(self.kind, JoinsTable) and content.tuples.num_rows:
            version = newest(header.facts, "table")
            if version is None:
                raise RuntimeError("the driver stamps the first version of the table before the first batch")
            written = self.answer_files.write(self.kind, content.tuples, version, segment.ordinal, self.tick_ms)
            aside["results"] = written.files
            about |= written.measured
        if reader.history is not None:
            aside[reader.history.name] = history.write(content.tuples, segment.ordinal, reader.history)
        sample = sample_of(self.kind, content.tuples if header.sample else content.tuples.slice(0, 0))
        shared = {"ticks": content.ticks.to_arrow(), "counts": self._counts(rows), "sample": sample}
        ids = content.tuples.select(ID_COLUMNS)
        none = single_batch(ids.schema.empty_table())  # a slice of no rows would bring the offsets of all
        shared["ids"] = ids if self.deduplicates else none
        messages: list[Message] = [
            (task, "segment", wire.pack({"rows": routes.rows_of(rows, task), **shared}, **about))
            for task in range(self.tasks)
        ]
        to = segment.ordinal % self.tasks  # any task would do: these only pass through
        return messages + [(to, name, wire.pack({name: batch})) for name, batch in aside.items() if batch.num_rows]

    def _counts(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The number of tuples of each tick in each pane, over all keys; coverage is computed from it.

        None where no tuple waits for a pane.
        """
        if isinstance(self.kind, JoinsTable):
            return pa.RecordBatch.from_pylist([], COUNTS)
        time = "pane" if "pane" in rows.schema.names else "event_time"  # partials are by pane already
        tick, pane, tuples = (np.asarray(rows.column(name)) for name in ("tick", time, "tuples"))
        pane_ms = self.kind.windows.pane_ms
        code, split = pair(tick, pane // pane_ms)
        code, (count,) = group_sums(code, tuples)
        tick, pane = split(code)
        return pa.RecordBatch.from_arrays([pa.array(each) for each in (tick, pane * pane_ms, count)], schema=COUNTS)
