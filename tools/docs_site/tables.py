"""Writes the reference of the tables, each with its columns, and the list of them, from their declarations."""

from __future__ import annotations

import pyarrow as pa

from tailrace.ground.arrow.table_schema import TableColumns, TableSchema
from tailrace.tables.answers import KINDS
from tailrace.tables.every import TABLES

_ABOUT = """\
# Columns of the tables

A query's Delta tables stand under `WAREHOUSE/QUERY/`; [Tables](../warehouse-tables.md) says who writes each. Times in a
column of type `timestamp` are UTC; other times are integers, in ms since 1970.
"""


def page() -> str:
    """Return the page."""
    own = [f"Answers of `{kind}`:\n\n{_rows(columns)}" for kind, columns in KINDS.items()]
    return "\n".join([_ABOUT, "## Columns of answers\n", *own, *map(_table, TABLES)])


def overview() -> str:
    """Return the list of the tables, each with its writer and what it holds."""
    rows = [f"| `{table.name}` | {table.writer} | {table.about} |" for table in TABLES]
    return "\n".join(["| table | writer | holds |", "| --- | --- | --- |", *rows])


def _table(table: TableSchema) -> str:
    before = table.query_columns and f" It has {table.query_columns}, then:"
    about = f"{table.about[0].upper()}{table.about[1:]}.{before}"
    about = about.replace("](", "](../")  # this page is in a folder of docs/
    return f"## `{table.name}`\n\n{about}\n\n{_rows(table.columns | table.by_kind)}"


def _rows(columns: TableColumns) -> str:
    rows = ["| column | type | meaning |", "| --- | --- | --- |"]
    rows += [f"| `{name}` | {_type(column.dtype)} | {column.meaning} |" for name, column in columns.items()]
    return "\n".join([*rows, ""])


def _type(dtype: pa.DataType | None) -> str:
    if dtype is None:
        return "by the query"
    if pa.types.is_timestamp(dtype):
        return "timestamp"
    if pa.types.is_map(dtype):
        return f"map of {_type(dtype.item_type)}"
    return f"list of {_type(dtype.value_type)}" if pa.types.is_list(dtype) else str(dtype)
