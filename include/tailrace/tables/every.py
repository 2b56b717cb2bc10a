"""All tables of a query, and from their declarations the columns of times and the reserved names."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from tailrace.ground.arrow.table_schema import TableColumns, TableSchema
from tailrace.ground.arrow.times import TIME
from tailrace.tables.answers import CURRENT, KINDS, RESULTS, STAMPS
from tailrace.tables.calibration import PROPOSALS
from tailrace.tables.correction import CORRECTION_RUNS, CORRECTIONS, QUALITY
from tailrace.tables.stream import ACTIVITY, FACTS, HISTORY, LATE, METRICS, QUARANTINE, SEGMENTS, UPSTREAM, is_history

TABLES: tuple[TableSchema, ...] = (
    *(RESULTS, CORRECTIONS, CURRENT, LATE, HISTORY, QUARANTINE, FACTS, SEGMENTS, METRICS, ACTIVITY, UPSTREAM),
    *(CORRECTION_RUNS, QUALITY, PROPOSALS),
)


def _times(*declared: TableColumns) -> frozenset[str]:
    return frozenset(name for columns in declared for name, column in columns.items() if column.dtype == TIME)


ANSWER_TIMES = _times(STAMPS, *KINDS.values())
"""The columns of answers with tailrace's own times, which readers return in ms; others keep the source's type."""

_TIMES = {table.name: _times(table.columns, table.by_kind) for table in TABLES if not table.query_columns}

ANSWERED = ANSWER_TIMES | {"key", "tuples", "corrected", *STAMPS, *CORRECTIONS.columns, *CURRENT.columns}
"""Columns that every table of answers has, or that readers add to it."""


def times_of(table: str) -> frozenset[str]:
    """Return the columns of a table that are declared as times; answers and their logs have the same ones."""
    return _TIMES[HISTORY.name] if is_history(table) else _TIMES.get(table, ANSWER_TIMES)


def as_timestamps(rows: pa.Table, times: Collection[str] = ANSWER_TIMES) -> pa.Table:
    """Convert the named columns of rows from integer milliseconds to timestamps in ms."""
    for index, field in enumerate(rows.schema):
        if field.name in times and pa.types.is_integer(field.type):
            timestamps = rows.column(index).cast(pa.int64()).cast(pa.timestamp("ms", "UTC"))
            rows = rows.set_column(index, field.name, timestamps)
    return rows


def in_ms(rows: pa.Table, table: str) -> pa.Table:
    """Convert the declared times of a table's rows from timestamps to int64 milliseconds."""
    times = times_of(table)
    for index, field in enumerate(rows.schema):
        if field.name in times and pa.types.is_timestamp(field.type):
            ms = rows.column(index).cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())
            rows = rows.set_column(index, field.name, ms)
    return rows
