"""Builds the kind of an aggregate query from its section."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tailrace.aggregate.aggregates import NamedAggregate
from tailrace.aggregate.function_section import CONDITION_PART, VALUE_PART, FunctionSection, ValuesSection
from tailrace.aggregate.kind import Aggregate
from tailrace.aggregate.named_section import NamedAggregatesSection
from tailrace.aggregate.session_kind import SessionAggregate
from tailrace.aggregate.within_expressions import CallPlace
from tailrace.functions.function import SecondColumn, Values
from tailrace.ground.arrow.answer_columns import VALUE
from tailrace.kind.column_use import of_side
from tailrace.kind.inputs import ColumnTypes, Input
from tailrace.windows.sessions import Sessions
from tailrace.windows.windows import Windows

Keys = Mapping[str, pa.DataType]
"""The types of the parts of a composite key, by column."""


def aggregate_of(
    windows: Windows, section: FunctionSection | NamedAggregatesSection, types: ColumnTypes, keys: Keys | None = None
) -> Aggregate:
    """Build the kind, given the types of the tuples' columns.

    The values and answers of one aggregate without a name are doubles; named ones read columns in their own types.
    """
    expressions = section.over_names
    needed = Input(of_side(section.uses(over=expressions), 0))
    carried_types = types.of_carried(needed.carried)
    read = {**needed.value_types, **carried_types}
    return (SessionAggregate if isinstance(windows, Sessions) else Aggregate)(
        windows,
        needed.uses,
        types.key,
        types.id,
        keys or {},
        aggregates=tuple(
            _aggregate(name, each.function, each, read, types.id, expressions.place_of(name))
            for name, each in section.aggregates.items()
            if each.function is not None
        ),
        names=(VALUE,) if isinstance(section, FunctionSection) else tuple(section.each),
        carried_types=carried_types,
        expressions=tuple(expressions.texts.items()),
        having=None if expressions.having is None else expressions.having.text,
    )


def _aggregate(
    name: str,
    function: str,
    section: ValuesSection,
    types: Mapping[str, pa.DataType],
    id_type: pa.DataType,
    within: CallPlace | None,
) -> NamedAggregate:
    """Bind an aggregate to the types of the tuples' columns."""
    is_single = isinstance(section, FunctionSection)
    parts = [VALUE if is_single else VALUE_PART + column for column in section.columns]
    columns = [SecondColumn(part, types[part]) for part in parts]
    condition, values = None if section.where is None else CONDITION_PART + name, None
    if columns:
        values = Values(*columns[0], id_type, condition, *columns[1:])
    elif condition is not None:
        values = Values(None, pa.bool_(), id_type, condition)
    return NamedAggregate(name, function, values, section.parameters_of(function), is_single, section.estimate, within)
