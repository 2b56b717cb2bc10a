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

_PREFIX = "value_"
"""Stands before the name of a source's column in tuples, which have columns of their own."""


def named_aggregates(
    windows: Windows, section: NamedAggregatesSection, types: ColumnTypes, keys: Mapping[str, pa.DataType] | None = None
) -> NamedAggregates:
    """Build the kind, given the types of the tuples' columns, and those of a list of keys."""
    names = dict.fromkeys(each.column for each in section.each.values() if each.column is not None)
    columns = {_PREFIX + name: name for name in names}
    column_types = types.of_carried(columns)
    aggregates = []
    for name, each in section.each.items():
        if each.function is None:
            continue
        values = None
        if each.column is not None:
            column = _PREFIX + each.column
            values = Values(column, column_types[column], types.id)
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
    )
