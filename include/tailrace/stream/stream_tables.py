"""The Delta tables that a stream writes: their schemas, and the order in which a batch is written to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.answers.versions import without_retracted
from tailrace.engine.pipeline import Pipeline
from tailrace.ground.arrow.times import TIME, with_times
from tailrace.ground.errors import Busy
from tailrace.ground.files.written_files import FILES
from tailrace.sources import history
from tailrace.sources.discovery.object_files import open_location
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import history_schemas, schemas, stream_tables
from tailrace.storage.tables import VACUUM, Tables

_PART_ROWS = 100_000  # answers that are read from files at a time


@dataclass(frozen=True)
class StreamTables:
    """The tables of one stream.

    Attributes
    ----------
    schemas : dict
        The schema of each table, by its name, in the order in which a batch is written: `metrics` is the last one.
    staged : dict
        The schemas of rows that name files, by table, for tables whose files the tasks write.
    app : str
        The id of the checkpoint in the tables' app transactions.
    """

    tables: Tables
    schemas: Mapping[str, pa.Schema]
    staged: Mapping[str, pa.Schema]
    app: str

    @classmethod
    def open(cls, layout: Layout, pipeline: Pipeline, app: str) -> Self:
        """Return the tables of the stream with this pipeline."""
        histories = history_schemas(pipeline.readers)
        all_schemas = schemas(pipeline.kind) | histories
        ordered = {name: all_schemas[name] for name in stream_tables(histories)}
        staged = dict.fromkeys(histories, history.FILES) | ({"results": FILES} if pipeline.answer_files else {})
        return cls(Tables(layout), ordered, staged, app)

    def create(self) -> None:
        """Create the tables that do not exist yet."""
        self.tables.create(self.schemas)

    def complete(self, table_rows: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """Return the rows in the tables' form: times as timestamps, and answers with the time of their emission."""
        rows = dict(table_rows)
        if "results" in rows and "results" not in self.staged:
            now = pa.repeat(pa.scalar(datetime.now(UTC), TIME), rows["results"].num_rows)
            rows["results"] = rows["results"].append_column("emitted_at", now)
        return {name: with_times(part, self.staged.get(name, self.schemas[name]), name) for name, part in rows.items()}

    def append(self, name: str, rows: pa.Table, batch: int) -> None:
        """Append a batch's rows to a table, unless it has the batch."""
        self.tables.append(name, rows, self.app, batch)

    def last_batch(self, name: str) -> int:
        """Return the last batch in a table; −1 without one."""
        return self.tables.last_batch(name, self.app)

    def answers(self, rows: Mapping[str, pa.Table]) -> Iterator[pa.Table]:
        """Yield the answers of a batch's rows, in parts; answers written by the tasks are read from their files."""
        results = rows.get("results")
        if results is None:
            return
        if "results" not in self.staged:
            yield without_retracted(results)
            return
        directory = self.tables.layout.table("results")
        for name in results["path"].to_pylist():
            for part in pq.ParquetFile(open_location(directory / name)).iter_batches(_PART_ROWS):
                yield pa.table(part)

    def compact(self) -> None:
        """Compact the tables; no files are removed while a correction reads them."""
        with ExitStack() as held:
            try:
                held.enter_context(self.tables.layout.lock(VACUUM, 0))
            except Busy:
                self.tables.compact(self.schemas, removes=False)
            else:
                self.tables.compact(self.schemas)
