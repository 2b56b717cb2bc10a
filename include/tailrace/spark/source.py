"""The journal as a Spark streaming source: one entry a batch, its segments distributed among the readers."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from tailrace.engine.batch_header import BatchHeader
from tailrace.sources.segments import Segment
from tailrace.storage.journal import BatchRecord, Journal
from tailrace.storage.replay import Replay, merged

if TYPE_CHECKING:
    from tailrace.engine.stage import Message, Stage

ROWS = "task int, what string, bytes binary"
"""The schema of the rows through Spark, which are opaque: Spark needs no kind's schema."""


def read_journal(
    spark: SparkSession,
    journal: Journal,
    stage: Stage,
    keys: list[int],
    replay: Replay = Replay(),  # noqa: B008 (frozen)
    until: int | None = None,
    first: int = 0,
) -> DataFrame:
    """The stream of the messages that the stage makes of the journal's segments, for each task under its group key.

    Batch n is entry n, also where Spark's checkpoint was lost and all entries are run again; or `first` + n; or what
    the replay tells by which the checkpoint is made. Entries from `until` on are left alone.
    """
    readers = spark.sparkContext.defaultParallelism
    packed = pickle.dumps(stage)  # so the process that Spark starts for offsets alone need not import the stage

    class Reader(DataSourceStreamReader):
        """A stream reader with offsets {"entry": number of entries}; a replay follows Spark's own log of offsets."""

        def initialOffset(self) -> dict[str, int]:
            return {"entry": first}

        def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
            is_over = until is not None and start["entry"] >= until
            return start if is_over or start["entry"] not in journal else {"entry": replay.end(start["entry"])}

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
            entries = [journal[number] for number in range(start["entry"], end["entry"])]
            return [InputPartition(part) for part in share(merged(entries), readers)] if entries else []

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            data, first, segments = partition.value
            stage: Stage = pickle.loads(packed)
            header = BatchHeader.unpack(data)
            messages: Iterator[Message] = (m for segment in segments for m in stage.messages(segment, header))
            for message in messages:
                yield _rows([message], keys)
            if first:
                yield _rows([(task, "entry", data) for task in range(stage.tasks)], keys)

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return "tailrace_journal"

        def schema(self) -> str:
            return ROWS

        def streamReader(self, schema: Any) -> DataSourceStreamReader:
            return Reader()

    spark.dataSource.register(Source)
    return spark.readStream.format("tailrace_journal").load()


def share(entry: BatchRecord, readers: int) -> list[tuple[bytes, bool, list[Segment]]]:
    """Share out an entry among readers: neighbouring segments together, rows evenly.

    A part is the entry's header, True for the first reader, which passes the header on, and the reader's segments.
    """
    total = max(sum(segment.rows for segment in entry.segments), 1)
    parts: list[list[Segment]] = [[] for _ in range(readers)]
    rows_before = 0
    for segment in entry.segments:
        parts[min((rows_before + segment.rows // 2) * readers // total, readers - 1)].append(segment)
        rows_before += segment.rows
    non_empty = [part for part in parts if part] or [[]]
    header = entry.header.pack()
    return [(header, number == 0, part) for number, part in enumerate(non_empty)]


def _rows(messages: list[Message], keys: list[int]) -> pa.RecordBatch:
    task, what, data = zip(*messages, strict=True)
    columns = [
        pa.array([keys[t] for t in task], pa.int32()),
        pa.array(what, pa.string()),
        pa.array(data, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["task", "what", "bytes"])
