"""Reads tables that may be absent, such as before a query's first batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tailrace.storage.tables import Tables


def read_or_empty(tables: Tables, name: str, columns: Mapping[str, pa.DataType], where: Any = None) -> pa.Table:
    """Read columns of a table, its own times as int64 milliseconds; a missing table has no rows.

    Parameters
    ----------
    columns : mapping
        The types of the columns by name.
    where : pyarrow.dataset.Expression, optional
        As in `Tables.read`.
    """
    return tables.read(name, columns, where) if tables.has(name) else pa.schema(columns.items()).empty_table()
