"""The past of a query of the large warehouse: rows of 30 days before the half hour that it ran."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kit.console.warehouse import MINUTE_MS, Warehouse
from tailrace.ground.arrow.times import with_times
from tailrace.storage.tables import Tables

DAYS = 30
HOUR_MS, DAY_MS = 60 * MINUTE_MS, 24 * 60 * MINUTE_MS
FILE_ROWS = 300_000


class Past:
    """Adds the past to the tables of a query that ran for half an hour, whose batches and facts come after it."""

    def __init__(self, warehouse: Warehouse, name: str) -> None:
        self.tables = Tables(warehouse.layout(name))
        self.end = warehouse.now_ms - HOUR_MS
        self.start = self.end - DAYS * DAY_MS
        self.draw = np.random.default_rng(1)

    def times(self, rows: int) -> np.ndarray:
        """Times of so many things, evenly over all days."""
        return np.linspace(self.start, self.end, rows, endpoint=False).astype(np.int64)

    @staticmethod
    def texts(prefix: str, numbers: np.ndarray, digits: int) -> pa.Array:
        """Return texts of a prefix and a number of so many digits."""
        return pc.binary_join_element_wise(
            prefix, pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), digits, "0"), ""
        )

    def add(self, name: str, rows: int, **columns: Any) -> None:
        """Append rows in files as a compaction leaves them; what is not given is as in the table's newest row."""
        schema = self.tables.schema(name)
        there = self.tables.read(name)
        like = there.slice(there.num_rows - 1) if there.num_rows else pa.table({c: [None] for c in schema.names})
        for first in range(0, rows, FILE_ROWS):
            part = slice(first, first + FILE_ROWS)
            table = like.take(np.zeros(min(FILE_ROWS, rows - first), np.int64))
            for column, values in columns.items():
                table = table.set_column(table.schema.get_field_index(column), column, pa.array(values[part]))
            self.tables.add(name, with_times(table, schema))

    def add_metrics(self, batch: np.ndarray, at: np.ndarray, **columns: Any) -> None:
        """Append rows of `metrics` for two tasks a batch, which arrived at these times; further columns as in `add`."""
        rows = len(batch)
        self.add(
            "metrics",
            rows,
            batch=batch,
            task=np.arange(rows) % 2,
            committed=at,
            t_max=at - 500,
            newest_event=at,
            frontier=at - 4000,
            k_ms=self.draw.integers(2000, 8000, rows),
            newest_tick=at // 100,
            complete_tick=at // 100 - 1,
            coverage=self.draw.uniform(0.9, 1, rows),
            latency_ms=self.draw.uniform(2000, 9000, rows),
            late=self.draw.integers(0, 9, rows),
            **columns,
        )

    def move_on(self, name: str, by: int, *columns: str) -> None:
        """Add to numbers of all rows, and leave each in a file with the rows that have the same first number."""
        table, rows = self.tables.open(name), self.tables.read(name)
        for column in columns:
            rows = rows.set_column(rows.schema.get_field_index(column), column, pc.add(rows[column], by))
        table.delete()
        for number in pc.unique(rows[columns[0]]):
            part = rows.filter(pc.equal(rows[columns[0]], number))
            self.tables.add(name, with_times(part, self.tables.schema(name)))
