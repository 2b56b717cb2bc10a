"""Conversion of times between integer milliseconds, the package's unit, and the timestamps of tables."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

TIME = pa.timestamp("us", "UTC")
"""The type of times in tables."""

INT96_UNIT = "us"
"""The unit in which Parquet's INT96 times (Spark's) are read: Arrow's default, ns, wraps outside 1677–2262."""

TIMES = frozenset(
    [
        *("event_time", "arrival_time", "pane_start", "window_start", "window_end", "left_time", "right_time"),
        *("as_of", "emitted_at", "arrived", "frontier", "t_max", "committed", "newest_event"),
        *("started_at", "arrived_from", "arrived_to", "bucket_start", "bucket_end", "made_at", "until"),
    ]
)
"""The time columns that the product's tables define. Readers return them in ms; a carried column stays a timestamp."""


ANSWERED = TIMES | {"key", "tuples", "coverage", "k_ms", "facts_version", "interval", "retracted", "corrected"}
"""Columns that every table of answers has."""

SEPARATORS = " ,;{}()\n\t="
"""Characters that Delta forbids in the names of columns."""


def with_times(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Cast rows to a table's columns and types; times are given as int64 milliseconds."""
    return pa.table([_cast(rows.column(field.name), field.type) for field in schema], schema=schema)


def in_ms(rows: pa.Table) -> pa.Table:
    """Convert the times of rows to int64 milliseconds, except carried columns."""
    for index, field in enumerate(rows.schema):
        if field.name in TIMES and pa.types.is_timestamp(field.type):
            ms = rows.column(index).cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())
            rows = rows.set_column(index, field.name, ms)
    return rows


def _cast(column: pa.ChunkedArray, dtype: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_timestamp(dtype) and pa.types.is_integer(column.type):
        return pc.cast(pc.cast(column, pa.timestamp("ms", "UTC")), dtype)
    return pc.cast(column, dtype)
