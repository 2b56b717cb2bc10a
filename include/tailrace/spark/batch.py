"""The batch job: `evaluate` over history with a cut-off, on Spark.

Readers send each tuple to a bucket by its id, where of those with the same id the first in order of arrival stays; from
there it goes to a bucket by its key, where the kind evaluates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from tailrace import wire
from tailrace.columns import unify
from tailrace.partition.by_key import task_of
from tailrace.spark.source import ROWS
from tailrace.spark.tables import in_ms
from tailrace.spark.touched import Touched
from tailrace.stage import Stage
from tailrace.streams.segments import Segment

_ROWS_PER_BUCKET = 2_000_000


@dataclass(frozen=True)
class Log:
    """What the stream has read: its segments in order, and the tick that each found.

    Attributes
    ----------
    position, before_tick, before_end : ndarray, shape (n,)
    files : list of str
        The history's, where the stream writes one.
    """

    segments: list[Segment]
    position: NDArray[np.int64]
    before_tick: NDArray[np.int64]
    before_end: NDArray[np.int64]
    files: list[str]

    @property
    def rows(self) -> int:
        return sum(segment.rows for segment in self.segments)

    def arrived(self, tuples: pa.RecordBatch, before: int) -> pa.RecordBatch:
        """The tuples that arrived before a point of arrival time, with their ticks as the query saw them."""
        position, tick, end = (np.asarray(tuples.column(name)) for name in ("position", "tick", "end"))
        segment = np.searchsorted(self.position, position, side="right") - 1
        tick = np.maximum(tick, self.before_tick[segment])
        tuples = tuples.set_column(tuples.schema.get_field_index("tick"), "tick", pa.array(tick))
        # History may be a batch ahead of what is known of its segments: that has not arrived yet.
        known = position < self.position[-1] + self.segments[-1].rows
        return tuples.filter(pa.array(known & (np.maximum(end, self.before_end[segment]) <= before)))


@dataclass(frozen=True)
class Evaluation:
    """What is to be computed.

    Attributes
    ----------
    before : int
        The cut-off in arrival time, ms.
    events : (int, int)
        Only tuples with an event time in [low, high) can matter for the windows that are wanted.
    touched : Touched
        The windows that are wanted.
    """

    stage: Stage
    log: Log
    before: int
    events: tuple[int, int]
    touched: Touched

    def run(self, spark: SparkSession, buckets: int) -> list[pa.RecordBatch]:
        """The wanted answers over all that arrived before the cut-off, without repeats."""
        pieces: list[Any] = self.log.files or list(range(len(self.log.segments)))
        parts = max(1, min(len(pieces), 4 * spark.sparkContext.defaultParallelism))
        numbers = spark.range(0, len(pieces), numPartitions=parts)

        def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column("id").to_pylist():
                    tuples = self.log.arrived(self._tuples(pieces[number]), self.before)
                    yield _send(tuples.select(self._columns), task_of(tuples.column("id"), buckets), buckets)

        def distinct(bucket: pa.Table) -> pa.Table:
            tuples = first_of_each(_received(bucket))
            event = np.asarray(tuples.column("event_time"))
            tuples = tuples.filter(pa.array((event >= self.events[0]) & (event < self.events[1])))
            return pa.Table.from_batches([_send(tuples, task_of(tuples.column("key"), buckets), buckets)])

        def evaluate(bucket: pa.Table) -> pa.Table:
            answers = self.stage.kind.evaluate(_received(bucket))
            answers = answers.filter(pa.array(self.touched.among(answers.to_pandas())))
            return pa.Table.from_batches([_send(answers, np.zeros(answers.num_rows, np.int64), 1)])

        rows: DataFrame = numbers.mapInArrow(read, ROWS)
        rows = rows.groupBy("task").applyInArrow(distinct, ROWS)
        rows = rows.groupBy("task").applyInArrow(evaluate, ROWS)
        return [wire.unpack(data)[0]["rows"] for data in rows.toArrow().column("bytes").to_pylist()]

    @property
    def _columns(self) -> list[str]:
        return ["event_time", "arrival_time", "id", "key", *self.stage.columns.values, "position", "tick"]

    def _tuples(self, piece: int | str) -> pa.RecordBatch:
        if isinstance(piece, int):
            return self.stage.content(self.log.segments[piece]).tuples
        table = in_ms(pq.read_table(Path(piece), partitioning=None))
        return _one(table, table.schema)


def first_of_each(tuples: pa.RecordBatch) -> pa.RecordBatch:
    """Of the tuples with the same id the first in order of arrival: by tick, then arrival time, then position."""
    order = np.lexsort([np.asarray(tuples.column(name)) for name in ("position", "arrival_time", "tick")])
    _, (code,) = unify([tuples.column("id")])
    _, first = np.unique(code[order], return_index=True)
    return tuples.take(pa.array(np.sort(order[first])))


def buckets_for(log: Log, cores: int) -> int:
    """How many buckets history is spread over: all cores work, and none holds too much."""
    return max(cores, -(-log.rows // _ROWS_PER_BUCKET))


def _send(rows: pa.RecordBatch, bucket: NDArray[np.int64], buckets: int) -> pa.RecordBatch:
    packed = [wire.pack({"rows": rows.filter(pa.array(bucket == number))}) for number in range(buckets)]
    columns = [pa.array(range(buckets), pa.int32()), pa.array(["rows"] * buckets), pa.array(packed, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["task", "what", "bytes"])


def _received(bucket: pa.Table) -> pa.RecordBatch:
    parts = [wire.unpack(data)[0]["rows"] for data in bucket.column("bytes").to_pylist()]
    return _one(pa.Table.from_batches(parts), parts[0].schema)


def _one(table: pa.Table, schema: pa.Schema) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema)
