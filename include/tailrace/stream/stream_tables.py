"""The Delta tables that a stream writes: their schemas, and the order in which a batch is written to them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

import pyarrow as pa

from tailrace.engine.pipeline import Pipeline
from tailrace.ground.errors import Busy
from tailrace.ground.times import TIME, with_times
from tailrace.ground.written_files import FILES
from tailrace.sources import history
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import history_schemas, schemas, stream_tables
from tailrace.storage.tables import VACUUM, Tables


@dataclass(frozen=True)
class StreamTables:
    """The tables of one stream.

    Attributes
    ----------
    schemas : dict
        The schema of each table, by its name, in the order in which a batch is written: `metrics` is the last one.
    staged : dict
        The schemas of the rows that name files, by the table whose files the tasks write themselves.
    app : str
        Identifies the checkpoint in the tables' app transactions.
    """

    tables: Tables
    schemas: Mapping[str, pa.Schema]
    staged: Mapping[str, pa.Schema]
    app: str

    @classmethod
    def of(cls, layout: Layout, pipeline: Pipeline, app: str) -> Self:
        """Return the tables of the stream that has this pipeline."""
        histories = history_schemas(pipeline.readers)
        all_schemas = schemas(pipeline.kind) | histories
        ordered = {name: all_schemas[name] for name in stream_tables(histories)}
        staged = dict.fromkeys(histories, history.FILES) | ({"results": FILES} if pipeline.answer_files else {})
        return cls(Tables(layout), ordered, staged, app)

    def create(self) -> None:
        """Create the tables that do not exist yet; one that exists gets the columns that it lacks."""
        self.tables.create(dict(self.schemas), self.schemas)

    def complete(self, table_rows: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """Return the rows as the tables have them: times as timestamps, and answers with the time of their emission."""
        rows = dict(table_rows)
        if "results" in rows and "results" not in self.staged:
            now = pa.repeat(pa.scalar(datetime.now(UTC), TIME), rows["results"].num_rows)
            rows["results"] = rows["results"].append_column("emitted_at", now)
        return {name: with_times(part, self.staged.get(name, self.schemas[name])) for name, part in rows.items()}

    def append(self, name: str, rows: pa.Table, batch: int) -> None:
        """Append a batch's rows to a table, unless it has the batch."""
        self.tables.append(name, rows, self.app, batch)

    def compact(self) -> None:
        """Compact the tables; while a correction reads them, none of their files is removed."""
        with ExitStack() as held:
            try:
                held.enter_context(self.tables.layout.lock(VACUUM, 0))
            except Busy:
                self.tables.compact(self.schemas, removes=False)
            else:
                self.tables.compact(self.schemas)
