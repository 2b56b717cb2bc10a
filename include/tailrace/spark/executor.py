"""The executor on Spark: a batch is one job, whose readers send rows to the tasks."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.executor import rows_by_table
from tailrace.engine.messages import Inbox, Message, messages_of, unpacked_tables
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.task_states import TaskStates
from tailrace.sources.segments import Segment
from tailrace.spark.batch_job import WorkerJob
from tailrace.spark.group_keys import group_keys

ROWS = "task int, what string, bytes binary"
"""The schema of the rows through Spark, which are opaque, so that Spark needs no kind's schema."""

_SCHEMA = pa.schema([("task", pa.int32()), ("what", pa.string()), ("bytes", pa.binary())])


_BEGIN: Message = ("begin", b"")
"""The message that makes a group of the job run."""


@dataclass
class SparkExecutor:
    """Runs batches on a session's executors, with a description for Spark's UI.

    Attributes
    ----------
    name : str
        The query's name.
    """

    spark: SparkSession
    pipeline: Pipeline
    states: TaskStates
    name: str

    def __post_init__(self) -> None:
        self.spark.conf.set("spark.sql.adaptive.enabled", "false")  # it would run several tasks one after the other

    def run(self, header: BatchHeader, segments: Sequence[Segment], before: int) -> dict[str, pa.Table]:
        """Run a batch as a job, see `Executor.run`.

        Raises
        ------
        RuntimeError
            When Spark's JVM has ended, so that a retry can't help.
        """
        try:
            return self._run(header, segments, before)
        except Exception as error:
            if self._has_jvm():
                raise
            raise RuntimeError("Spark's JVM has ended") from error

    def _has_jvm(self) -> bool:
        java: Any = self.spark.sparkContext._jvm
        try:
            java.java.lang.System.currentTimeMillis()
        except Exception:  # from py4j or the socket
            return False
        return True

    def _run(self, header: BatchHeader, segments: Sequence[Segment], before: int) -> dict[str, pa.Table]:
        context = self.spark.sparkContext
        rows = sum(segment.rows for segment in segments)
        context.setJobDescription(f"{self.name}: batch {header.batch}, {rows:,} rows")
        parts = share(segments, context.defaultParallelism)
        pipeline, packed = self.pipeline, header.pack()
        keys = group_keys(max(pipeline.tasks_in(header).now, 1))  # the first group also runs the clock
        self.spark.conf.set("spark.sql.shuffle.partitions", str(len(keys)))
        job = WorkerJob(uuid.uuid4().hex, pipeline, self.states, before)

        def read(indexes: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            unpacked = BatchHeader.unpack(packed)
            for index in (each for batch in indexes for each in batch.column("id").to_pylist()):
                if index == 0:  # each group runs, even without rows
                    yield from (_rows(key, [_BEGIN]) for key in keys)
                for segment in parts[index]:
                    for group, message in messages_of(pipeline.prepare(segment, unpacked), len(keys)):
                        yield _rows(keys[group], [message])

        def advance(group: tuple[Any, ...], messages: pa.Table) -> pa.Table:
            index = keys.index(group[0].as_py())
            pairs = zip(messages["what"].to_pylist(), messages["bytes"].to_pylist(), strict=True)
            inbox = Inbox.from_messages(pair for pair in pairs if pair != _BEGIN)
            return pa.Table.from_batches([_rows(keys[index], job.advance(index, BatchHeader.unpack(packed), inbox))])

        read_rows = self.spark.range(len(parts), numPartitions=len(parts)).mapInArrow(read, ROWS)
        done = read_rows.groupBy("task").applyInArrow(advance, ROWS).toArrow()
        return rows_by_table(unpacked_tables(zip(done["what"].to_pylist(), done["bytes"].to_pylist(), strict=True)))

    def cancel(self) -> None:
        """Cancel the job of the running batch; Spark's threads would log the interruption."""
        self.spark.sparkContext.setLogLevel("OFF")
        self.spark.sparkContext.cancelAllJobs()


def share(segments: Sequence[Segment], readers: int) -> list[list[Segment]]:
    """Distribute segments to readers: neighbouring ones together, rows evenly; at least one part, perhaps empty."""
    total = max(sum(segment.rows for segment in segments), 1)
    parts: list[list[Segment]] = [[] for _ in range(readers)]
    rows_before = 0
    for segment in segments:
        parts[min((rows_before + segment.rows // 2) * readers // total, readers - 1)].append(segment)
        rows_before += segment.rows
    return [part for part in parts if part] or [[]]


def _rows(key: int, messages: Sequence[Message]) -> pa.RecordBatch:
    what, data = zip(*messages, strict=True) if messages else ((), ())
    columns = [pa.array([key] * len(messages), pa.int32()), pa.array(what, pa.string()), pa.array(data, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)
