"""Binds a stream's expressions to the types of its source's columns, and returns the types of the derived ones."""

from __future__ import annotations

from tailrace.expressions.projection import NamedError, Projection
from tailrace.expressions.types import column_type
from tailrace.ground.errors import Problem, Unfit, as_unfit
from tailrace.sources.column_rules import require_fit
from tailrace.sources.columns import Columns
from tailrace.sources.segments import Types
from tailrace.sources.type_names import data_type


def with_derived(stream: str, columns: Columns, types: Types) -> Types:
    """Return the types of a stream's columns, the derived ones among them, which stand for the source's of their names.

    Raises
    ------
    Unfit
        When an expression can't be bound to the types of the source's columns, or gives no type that a tuple can come
        from.
    """
    if columns.projection is None:
        return types
    try:
        derived = bound(columns.projection, types).derived_types
    except NamedError as error:
        place = error.name if error.name in columns.fields else f"streams.{stream}.{error.field}"
        where = f"{place}: {error.position}"
        raise Unfit([Problem(where, error.fault, error.remedy)]) from None
    for part, name in columns.parts().items():
        if name in derived:
            with as_unfit():
                require_fit(f"streams.{stream}.columns.{name}", part, derived[name], columns)
    return types | {name: str(dtype) for name, dtype in derived.items()}


def bound(projection: Projection, types: Types) -> Projection:
    """Return a projection with the types of the source's columns that its expressions read, as far as they have one."""
    named = {name: data_type(types[name]) for name in projection.inputs if name in types}
    seen = {name: None if dtype is None else column_type(dtype) for name, dtype in named.items()}
    return projection.over({name: dtype for name, dtype in seen.items() if dtype is not None})
