"""The value of an expression over one row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tailrace.expressions.projection import Projection
from tailrace.expressions.types import column_type

FAILS = object()
"""In place of a value: the record fails."""


def value_over(table: pa.Table, text: str) -> Any:
    """The value of an expression over the only row of a table, or FAILS."""
    types = {name: column_type(dtype) for name, dtype in zip(table.column_names, table.schema.types, strict=True)}
    needed = Projection.of({"out": text}, None).inputs
    read = {name: types[name] for name in needed if name in types}
    projected = Projection.of({"out": text}, None, read).run(table)
    return FAILS if projected.failures else projected.table.column("out").to_pylist()[0]
