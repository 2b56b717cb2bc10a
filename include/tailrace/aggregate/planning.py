"""Builds the kind of an aggregate query from its section."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.aggregate.aggregates import NamedAggregate
from tailrace.aggregate.function_section import FunctionSection
from tailrace.aggregate.kind import Aggregate
from tailrace.aggregate.named_section import NamedAggregateSection, NamedAggregatesSection
from tailrace.aggregate.session_kind import SessionAggregate
from tailrace.aggregate.within_expressions import CallPlace
from tailrace.functions.function import SecondColumn, Values
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.answer_columns import VALUE
from tailrace.kind.inputs import ColumnTypes
from tailrace.windows.sessions import Sessions
from tailrace.windows.windows import Windows

if TYPE_CHECKING:
    from tailrace.sql.over_aggregates import ReadExpression

_VALUE, _CONDITION = "value_", "condition_"
"""Prefixes of names of tuples' columns, so that no column of an aggregate has the name of another column."""

Keys = Mapping[str, pa.DataType]
"""The types of the parts of a composite key, by column."""


def aggregate_of(
    windows: Windows, section: FunctionSection | NamedAggregatesSection, types: ColumnTypes, keys: Keys | None = None
) -> Aggregate:
    """Build the kind, given the types of the tuples' columns."""
    if isinstance(section, NamedAggregatesSection):
        return _named(windows, section, types, keys or {})
    return single(windows, section, types, keys)


def single(windows: Windows, section: FunctionSection, types: ColumnTypes, keys: Keys | None = None) -> Aggregate:
    """Build the kind of one unnamed aggregate: its values and answers are doubles."""
    column = {} if section.column is None else {VALUE: section.column}
    field = "aggregate.where"
    conditions = {} if section.where is None else {field: section.where}
    carried = {_CONDITION + VALUE: field} if conditions else {}
    columns, dtype = column, pa.float64() if column else pa.bool_()
    if FUNCTIONS[section.function].in_own_type:
        columns, carried, dtype = {}, column | carried, types.of_carried(column)[VALUE]
    values = None
    if column or conditions:
        source = VALUE if column else None
        values = Values(source, dtype, types.id, _CONDITION + VALUE if conditions else None)
    aggregate = NamedAggregate(VALUE, section.function, values, section.parameters, True, section.estimate)
    return _kind_over(windows)(
        windows,
        columns,
        types.key,
        types.id,
        keys or {},
        aggregates=(aggregate,),
        names=(VALUE,),
        carried=carried,
        carried_types=types.of_carried(carried),
        conditions=conditions,
        having=_text_of(section.over_names.having),
    )


def _named(windows: Windows, section: NamedAggregatesSection, types: ColumnTypes, keys: Keys) -> Aggregate:
    """Build the kind of named aggregates, each of a column in its own type."""
    expressions = section.over_names
    functions = section.functions | section.hidden
    conditions = {name: each.where for name, each in section.functions.items() if each.where is not None}
    fields = {name: f"aggregate.{name}.where" for name in conditions}
    for name, hidden in expressions.hidden.items():
        if hidden.condition is not None:
            conditions[name] = hidden.condition
            fields[name] = f"{hidden.place.path}.filter {len(conditions)}"
    carried = {_VALUE + column: column for each in functions.values() for column in each.columns}
    carried |= {_CONDITION + name: field for name, field in fields.items()}
    carried_types = types.of_carried(carried)
    return _kind_over(windows)(
        windows,
        {},
        types.key,
        types.id,
        keys,
        aggregates=tuple(
            _aggregate(name, each, carried_types, types.id, expressions.place_of(name))
            for name, each in functions.items()
        ),
        names=tuple(section.each),
        carried=carried,
        carried_types=carried_types,
        expressions=tuple(expressions.texts.items()),
        conditions={fields[name]: text for name, text in conditions.items()},
        having=_text_of(expressions.having),
    )


def _text_of(having: ReadExpression | None) -> str | None:
    return None if having is None else having.text


def _kind_over(windows: Windows) -> type[Aggregate]:
    return SessionAggregate if isinstance(windows, Sessions) else Aggregate


def _aggregate(
    name: str,
    section: NamedAggregateSection,
    types: Mapping[str, pa.DataType],
    id_type: pa.DataType,
    within: CallPlace | None,
) -> NamedAggregate:
    """Bind a named aggregate to the types of the tuples' columns."""
    assert section.function is not None
    columns = [SecondColumn(_VALUE + column, types[_VALUE + column]) for column in section.columns]
    condition = None if section.where is None else _CONDITION + name
    values = None
    if columns:
        values = Values(*columns[0], id_type, condition, *columns[1:])
    elif condition is not None:
        values = Values(None, pa.bool_(), id_type, condition)
    parameters = section.parameters_of(section.function)
    return NamedAggregate(name, section.function, values, parameters, is_estimated=section.estimate, within=within)
