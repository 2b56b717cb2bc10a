"""The executor on Spark: a batch is one job, whose readers send rows to the tasks."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
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
        self.spark.conf.set("spark.sql.adaptive.enabled", "false")  # or one Spark task may run several of ours

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
        except Exception:  # errors of py4j or the socket
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
    """Distribute segments to readers: neighbours together, rows evenly; at least one part results, perhaps empty."""
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


_SEED = 42
_MASK = 0xFFFFFFFF


def group_keys(tasks: int) -> list[int]:
    """Return the smallest non-negative integer that Spark places on each of `tasks` partitions.

    Spark places a group by the hash of its key modulo the number of partitions, and the hashes of 0 and 1 may be the
    same modulo `tasks`. They are computed here, since a first SQL statement costs seconds.
    """
    keys: dict[int, int] = {}
    candidates = count()
    while len(keys) < tasks:
        key = next(candidates)
        keys.setdefault(spark_hash(key) % tasks, key)
    return [keys[task] for task in range(tasks)]


def spark_hash(value: int) -> int:
    """Return the signed hash of a 32-bit integer as Spark's SQL function `hash`: Murmur3 (x86, 32 bits), seed 42."""
    k = value * 0xCC9E2D51 & _MASK
    k = _rotated(k, 15) * 0x1B873593 & _MASK
    h = (_rotated(_SEED ^ k, 13) * 5 + 0xE6546B64) & _MASK
    h ^= 4  # the length of the input in bytes
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _MASK
