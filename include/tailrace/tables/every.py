"""All tables of a query; and, from their declarations, the columns that are times, and the reserved names."""

from __future__ import annotations

import pyarrow as pa

from tailrace.ground.table_schema import TableSchema
from tailrace.ground.times import TIME
from tailrace.tables.answers import CURRENT, KINDS, RESULTS, STAMPS
from tailrace.tables.calibration import PROPOSALS
from tailrace.tables.correction import CORRECTION_RUNS, CORRECTIONS, QUALITY
from tailrace.tables.stream import ACTIVITY, FACTS, HISTORY, LATE, METRICS, QUARANTINE, SEGMENTS, UPSTREAM

TABLES: tuple[TableSchema, ...] = (
    *(RESULTS, CORRECTIONS, CURRENT, LATE, HISTORY, QUARANTINE, FACTS, SEGMENTS, METRICS, ACTIVITY, UPSTREAM),
    *(CORRECTION_RUNS, QUALITY, PROPOSALS),
)

TIMES = frozenset(
    name
    for columns in (*(table.columns | table.by_kind for table in TABLES), *KINDS.values())
    for name, column in columns.items()
    if column.dtype == TIME
)
"""The time columns that the tables define. Readers return these in ms. A column that answers take from the source stays
a timestamp."""

ANSWERED = TIMES | {"key", "tuples", "corrected", *STAMPS, *CORRECTIONS.columns, *CURRENT.columns}
"""Columns that every table of answers has, or that readers add to it."""


def as_timestamps(rows: pa.Table) -> pa.Table:
    """Convert the times of rows, in integer milliseconds, to timestamps in ms."""
    for index, field in enumerate(rows.schema):
        if field.name in TIMES and pa.types.is_integer(field.type):
            times = rows.column(index).cast(pa.int64()).cast(pa.timestamp("ms", "UTC"))
            rows = rows.set_column(index, field.name, times)
    return rows


def in_ms(rows: pa.Table) -> pa.Table:
    """Convert the times of rows to int64 milliseconds, except columns that come from the source."""
    for index, field in enumerate(rows.schema):
        if field.name in TIMES and pa.types.is_timestamp(field.type):
            ms = rows.column(index).cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())
            rows = rows.set_column(index, field.name, ms)
    return rows
