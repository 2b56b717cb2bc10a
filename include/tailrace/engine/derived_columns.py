"""Binds a stream's expressions to the types of its source's columns, and returns the types of derived columns."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tailrace.expressions.projection import NamedError, Projection
from tailrace.expressions.types import column_type
from tailrace.ground.errors import Problem, Unfit, as_unfit
from tailrace.sources.column_rules import require_fit
from tailrace.sources.columns import SourceMapping
from tailrace.sources.formats.type_names import data_type
from tailrace.sources.segments import Types


def with_derived(stream: str, columns: SourceMapping, types: Types) -> Types:
    """Return the types of a stream's columns; looked-up and derived columns replace the source's of the same name.

    Raises
    ------
    Unfit
        When an expression can't be bound to the types of the source's columns, or has a type that tuples can't have.
    """
    looked_up = _looked_up(columns)
    types = types | {name: str(dtype) for name, dtype in looked_up.items()}
    _require_fit(stream, columns, {name: dtype for name, dtype in looked_up.items() if name not in columns.derived})
    try:
        projection = bound(columns, types)
        derived = {} if projection is None else projection.derived_types
    except NamedError as error:
        location = error.name if error.name in columns.derives else f"streams.{stream}.{error.field}"
        where = f"{location}: {error.position}"
        raise Unfit([Problem(where, error.fault, error.remedy)]) from None
    _require_fit(stream, columns, derived)
    return types | {name: str(dtype) for name, dtype in derived.items()}


def _require_fit(stream: str, columns: SourceMapping, added: Mapping[str, pa.DataType]) -> None:
    """Refuse a column whose type its part of a tuple can't have; the refusal names its field."""
    giving = {name: f"lookup.{lookup.name}.columns.{name}" for lookup in columns.lookups for name in lookup.columns}
    giving |= {name: f"columns.{name}" for name in columns.derived}
    for part, name in columns.parts().items():
        if name in added:
            with as_unfit():
                require_fit(f"streams.{stream}.{giving[name]}", part, added[name], columns)


def bound(columns: SourceMapping, types: Types) -> Projection | None:
    """Return the projection of a source with the types of the columns that its expressions read, as far as known.

    A looked-up column replaces the source's column of the same name.
    """
    if columns.projection is None:
        return None
    known = {name: data_type(types[name]) for name in columns.inputs if name in types} | _looked_up(columns)
    seen = {name: None if (dtype := known.get(name)) is None else column_type(dtype) for name in columns.inputs}
    return columns.projection.over({name: dtype for name, dtype in seen.items() if dtype is not None})


def _looked_up(columns: SourceMapping) -> dict[str, pa.DataType]:
    """Return the types of the columns that lookups give, as far as known."""
    return {name: dtype for lookup in columns.lookups for name, dtype in lookup.types}
