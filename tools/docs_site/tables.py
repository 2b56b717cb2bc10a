"""Writes the reference of the tables: each with its columns, from the columns that the schemas are made of."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tailrace.storage import table_columns
from tailrace.storage.table_columns import HISTORY, KINDS, LATE_ITEMS, TableColumns

_PAGES: tuple[tuple[str, str, tuple[TableColumns, ...]], ...] = (
    ("results", "The answers as the stream gave them: the kind's columns, and", (table_columns.STAMPS,)),
    ("corrections", "Later versions of answers: the columns of `results`, and", (table_columns.CORRECTIONS,)),
    ("late", "The tuples that came too late for an answer.", (table_columns.LATE, LATE_ITEMS)),
    ("history", "The accepted tuples, where the source is no log with arrival times.", (HISTORY,)),
    ("quarantine", "The records that are no tuples.", (table_columns.QUARANTINE,)),
    ("facts", "The changes of the configuration.", (table_columns.FACTS,)),
    ("segments", "What was read of the source, in order.", (table_columns.SEGMENTS,)),
    ("metrics", "Measurements by batch and task; of a join with a table by batch.", (table_columns.METRICS,)),
    ("activity", "What the drivers of a live stream did, by wall-clock time.", (table_columns.ACTIVITY,)),
    (
        "upstream",
        "The versions of another query's answers that a query of a [chain](../chains.md) reads: the other query's "
        "columns of answers, and",
        (table_columns.UPSTREAM,),
    ),
    ("correction_runs", "The ledger of corrections.", (table_columns.CORRECTION_RUNS,)),
    ("quality", "The measured errors of streamed answers.", (table_columns.QUALITY,)),
    ("proposals", "The settings that calibrations propose.", (table_columns.PROPOSALS,)),
)
_ABOUT = """\
# Columns of the tables

A query's Delta tables stand under `WAREHOUSE/QUERY/`; [Tables](../warehouse-tables.md) says who writes each. Times in a
column of type `timestamp` are UTC; other times are integers, in ms since 1970.
"""
_CURRENT = """\
## `current`

The newest version of each answer, in the columns of `tailrace results`: the kind's, then `coverage` (the share of the
answer's tuples among those and the late ones), `k_ms` and `as_of` as in `results`.
"""


def page() -> str:
    """Return the page."""
    own = [f"Answers of {kind}:\n\n{_rows(columns)}" for kind, columns in KINDS.items()]
    tables = [f"## `{name}`\n\n{about}\n\n{_rows(*columns)}" for name, about, columns in _PAGES]
    return "\n".join([_ABOUT, "## Columns of answers\n", *own, _CURRENT, *tables])


def _rows(*parts: TableColumns) -> str:
    rows = ["| column | type | meaning |", "| --- | --- | --- |"]
    rows += [f"| `{name}` | {_type(column.dtype)} | {column.meaning} |" for name, column in _columns(parts)]
    return "\n".join([*rows, ""])


def _columns(parts: tuple[TableColumns, ...]) -> Iterator[tuple[str, table_columns.Column]]:
    for part in parts:
        yield from part.items()


def _type(dtype: pa.DataType | None) -> str:
    if dtype is None:
        return "by the query"
    if pa.types.is_timestamp(dtype):
        return "timestamp"
    if pa.types.is_map(dtype):
        return f"map of {_type(dtype.item_type)}"
    return f"list of {_type(dtype.value_type)}" if pa.types.is_list(dtype) else str(dtype)
