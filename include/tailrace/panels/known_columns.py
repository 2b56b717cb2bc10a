"""Reads tables that may be absent, or lack columns because an earlier release wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tailrace.storage.tables import Tables


def read_known(tables: Tables, name: str, columns: Mapping[str, pa.DataType], where: Any = None) -> pa.Table:
    """Read columns of a table, its own times as int64 milliseconds; a missing column is null.

    Parameters
    ----------
    columns : mapping
        The types of the columns by name; a missing table has no rows.
    where : pyarrow.dataset.Expression, optional
        As in `Tables.read`.
    """
    if not tables.has(name):
        return pa.schema(columns.items()).empty_table()
    there = set(tables.schema(name).names)
    rows = tables.read(name, [column for column in columns if column in there], where)
    for column in columns.keys() - there:
        rows = rows.append_column(column, pa.nulls(rows.num_rows, columns[column]))
    return rows.select([*columns])
