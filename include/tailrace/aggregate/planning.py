"""Builds the kind of a query with named aggregates from its section."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tailrace.aggregate.aggregates import NamedAggregate
from tailrace.aggregate.named_kind import NamedAggregates
from tailrace.aggregate.named_section import NamedAggregatesSection
from tailrace.aggregate.typed import Values
from tailrace.kind.inputs import ColumnTypes
from tailrace.windows.windows import Windows

_VALUE, _CONDITION = "value_", "condition_"
"""Stand before the names of a tuple's columns: so no column of an aggregate is called as another column of tuples."""


def named_aggregates(
    windows: Windows, section: NamedAggregatesSection, types: ColumnTypes, keys: Mapping[str, pa.DataType] | None = None
) -> NamedAggregates:
    """Build the kind, given the types of the tuples' columns and of a list of keys."""
    functions = {name: each for name, each in section.each.items() if each.function is not None}
    conditions = {name: each.where for name, each in functions.items() if each.where is not None}
    fields = {name: f"aggregate.{name}.where" for name in conditions}
    columns = {_VALUE + each.column: each.column for each in functions.values() if each.column is not None}
    columns |= {_CONDITION + name: field for name, field in fields.items()}
    column_types = types.of_carried(columns)
    aggregates = []
    for name, each in functions.items():
        column = None if each.column is None else _VALUE + each.column
        condition = _CONDITION + name if name in conditions else None
        values = None
        if column is not None or condition is not None:
            dtype = pa.bool_() if column is None else column_types[column]
            values = Values(column, dtype, types.id, condition)
        assert each.function is not None
        aggregates.append(NamedAggregate(name, each.function, values, each.parameters))
    return NamedAggregates(
        windows,
        columns,
        types.key,
        types.id,
        keys or {},
        aggregates=tuple(aggregates),
        column_types=column_types,
        names=tuple(section.each),
        expressions=tuple(section.expressions.items()),
        conditions={fields[name]: text for name, text in conditions.items()},
    )
