"""The stream app: a declared query over bounded input, in the foreground."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tailrace.errors import Problem, Refused, refuse
from tailrace.query import Query
from tailrace.spark.intake import Intake
from tailrace.spark.journal import Journal
from tailrace.spark.layout import Layout, Origin
from tailrace.spark.operator import labels, run_tasks
from tailrace.spark.session import session
from tailrace.spark.sink import Sink
from tailrace.spark.source import read_journal
from tailrace.spark.tables import STREAM_TABLES, Tables, schemas
from tailrace.stage import Stage, columns_of
from tailrace.streams import history
from tailrace.streams.formats import FORMATS, list_files
from tailrace.streams.segments import Types, is_integer

BATCH_ROWS = 1_000_000

Progress = Callable[[int, int, dict[str, pa.Table]], None]
"""Told after each batch: its number, how many rows are still to be read, and the rows it gave to each table."""


class Ended(Refused):
    """The stream was ended by a bounded run."""


@dataclass(frozen=True)
class Source:
    """A query's source as it was found: its files in order, and the types of the columns that are read."""

    files: list[Path]
    types: Types

    @staticmethod
    def find(query: Query, known: Types) -> Source:
        """Look at every file before anything is written; `known` are the types of what was read before.

        Raises
        ------
        Refused
            When a file is missing or unreadable, lacks a column, or has one of the wrong type.
        """
        source, columns = query.stream[1].source, columns_of(query)
        files, types = list_files(source.path, source.format), known
        for file in files:
            found = FORMATS[source.format].types(file, columns) or types
            for part in ("id", "key"):
                name = columns.named().get(part)
                if name and types and is_integer(types[name]) != is_integer(found[name]):
                    raise refuse(
                        f"{file}: column {name}",
                        f"its type is {found[name]}, in files before it {types[name]}",
                        "one of them",
                    )
            types = types or found
        if not types and any(part.rows for file in files for part in FORMATS[source.format].split(file)):
            raise refuse(
                str(source.path),
                f"no record has a value of a fitting type in each of {', '.join(columns.named().values())}",
                "times as ISO 8601 text or epoch milliseconds, ids and keys as text or integers, values as numbers",
            )
        return Source(files, types)


def run(
    query: Query,
    warehouse: Path,
    keep_open: bool = False,
    batch_rows: int = BATCH_ROWS,
    progress: Progress | None = None,
    spark: SparkSession | None = None,
) -> int:
    """Run the query to the end of its input, from where its checkpoint stands.

    Parameters
    ----------
    keep_open : bool
        End without closing what is open, so that a later run can go on.
    spark : SparkSession, optional
        A session that is there, with as many shuffle partitions as the query's parallelism; else one of its own.

    Returns
    -------
    int
        How many batches were run.

    Raises
    ------
    Refused
        When the source is not fit, or the checkpoint is closed, in use, or was begun for another query.
    """
    layout, stream = Layout.of(warehouse, query.name), query.stream[1]
    origin = layout.origin()
    if origin is not None:
        layout.agree(origin, query.structure())
    elif layout.table("metrics").exists():
        raise refuse(
            str(layout.stream), "it is lost, though the stream's tables are there", "to restore it; or to begin anew"
        )
    source = Source.find(query, origin.types if origin else {})
    if not source.types:  # no record yet, and so nothing that tells the types
        return 0
    with layout.lock("stream"):
        origin = layout.origin() or layout.found(query.structure(), source.types)  # another may have begun it meanwhile
        stage = Stage.of(query, origin.types, layout.table("history"))
        intake = Intake(
            Journal(layout.journal),
            source.files,
            FORMATS[stream.source.format].split,
            query.policy.model_dump_json(),
            batch_rows,
            flush=not keep_open,
            now_ms=None if stream.arrival_time else time.time_ns() // 1_000_000,
        )
        return _Run(query, layout, origin, stage, intake, progress).go(spark)


@dataclass(frozen=True)
class _Run:
    query: Query
    layout: Layout
    origin: Origin
    stage: Stage
    intake: Intake
    progress: Progress | None

    def go(self, there: SparkSession | None) -> int:
        first = self.committed()
        if self.intake.batches == first:  # all that was planned is done
            if self.intake.ended:
                raise Ended(
                    [
                        Problem(
                            str(self.layout.home),
                            "the stream was ended by a bounded run, and its windows are closed",
                            "another warehouse, or another name for the query; --keep-open leaves a run open",
                        )
                    ]
                )
            if self.intake.plan() is None:
                return 0
        wanted = schemas(self.stage.kind.answer)
        tables = Tables(self.layout)
        id_type = pa.int64() if is_integer(self.origin.types[self.stage.columns.id]) else pa.string()
        past = history.schema(id_type, self.stage.kind.key_type, list(self.stage.columns.values))
        tables.create(wanted | ({} if self.stage.history is None else {"history": past}), STREAM_TABLES)
        sink = Sink(tables, wanted | {"history": history.FILES}, self.origin.id, self.done)
        own = session(f"tailrace {self.query.name}", self.query.parallelism)
        with own if there is None else nullcontext(there) as spark:
            groups = labels(spark, self.query.parallelism)
            rows = read_journal(spark, self.intake.journal, self.stage, groups)
            output = run_tasks(rows, self.stage.kind, self.stage.stream, groups).writeStream.foreachBatch(sink.write)
            stream = output.option("checkpointLocation", str(self.layout.checkpoint)).start()
            try:
                self.wait(stream)
            finally:
                stream.stop()
        return self.intake.batches - first

    def done(self, batch: int, written: dict[str, pa.Table]) -> None:
        """Between two batches: tell, and decide what the next one is."""
        if self.progress is not None:
            self.progress(batch, self.intake.rows_left, written)
        if batch + 1 == self.intake.batches:
            self.intake.plan()

    def wait(self, stream: StreamingQuery) -> None:
        while stream.isActive and self.committed() < self.intake.batches:
            time.sleep(0.05)
        failure = stream.exception()
        if failure is not None:
            raise RuntimeError(f"the stream failed: {_reason(failure)}")

    def committed(self) -> int:
        """How many batches Spark has committed."""
        commits = self.layout.checkpoint / "commits"
        done = [int(file.name) for file in commits.iterdir() if file.name.isdigit()] if commits.is_dir() else []
        return max(done, default=-1) + 1


def _reason(failure: Any) -> str:
    """What a failed stream died of: the innermost cause, without the plan that Spark prints."""
    while failure._cause is not None:
        failure = failure._cause
    return str(failure._desc).strip()
