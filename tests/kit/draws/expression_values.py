"""The values of an expression over rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tailrace.expressions.projection import Projection
from tailrace.expressions.types import column_type

FAILS = object()
"""In place of a value: the record fails."""


def values_over(table: pa.Table, text: str) -> list[Any]:
    """The values of an expression over the rows of a table; FAILS for a record that fails."""
    types = {name: column_type(dtype) for name, dtype in zip(table.column_names, table.schema.types, strict=True)}
    needed = Projection.parse({"out": text}, None).inputs
    read = {name: types[name] for name in needed if name in types}
    projected = Projection.parse({"out": text}, None, read).run(table)
    failed = {row for failure in projected.failures for row in failure.mask.nonzero()[0].tolist()}
    values = projected.table.column("out").to_pylist()
    return [FAILS if row in failed else value for row, value in enumerate(values)]


def value_over(table: pa.Table, text: str) -> Any:
    """The value of an expression over the only row of a table, or FAILS."""
    (value,) = values_over(table, text)
    return value
