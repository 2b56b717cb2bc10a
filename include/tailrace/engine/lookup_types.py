"""The types of tables' columns, and of lookups, which add them to a stream; refuses keys that can't match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from tailrace.ground.errors import Problem, Unfit
from tailrace.ground.facts import Subject
from tailrace.kind.inputs import ColumnTypes
from tailrace.sources.carried_columns import carried_type
from tailrace.sources.columns import SourceMapping
from tailrace.sources.ids_and_keys import id_type
from tailrace.sources.lookup.key_index import meets
from tailrace.sources.lookup.lookup_table import column_type, key_type
from tailrace.sources.segments import Types

_ALIKE = "columns of one type, or an integer and a text: 7 meets '7'"


def with_lookup_types(columns: SourceMapping, types: Types, tables: Mapping[Subject, ColumnTypes]) -> SourceMapping:
    """Bind the lookups of a stream to the types of their tables.

    Parameters
    ----------
    types : dict
        The types of the source's columns, as far as they are known.
    tables : dict
        The types of the tables' columns, by the subject of their versions.

    Raises
    ------
    Unfit
        When a key's type can't match the table's.
    """
    if not columns.lookups:
        return columns
    known: dict[str, pa.DataType | None] = {name: carried_type(type_name) for name, type_name in types.items()}
    lookups = []
    for lookup in columns.lookups:
        of_table = tables[lookup.subject]
        for name, of_key in zip(lookup.keys, lookup.table.keys, strict=True):
            dtype, other = known.get(name), key_type(of_table, of_key)
            if dtype is not None and not meets(dtype, other):
                where = f"streams.{columns.stream}.lookup.{lookup.name}.key"
                fault = f"{name} is of the type {dtype}, and {of_key} of the table {lookup.table.path} is {other}"
                raise Unfit([Problem(where, fault, _ALIKE)])
        own = tuple((name, column_type(of_table, name)) for name in lookup.columns)
        known |= dict(own)
        lookups.append(replace(lookup, types=own))
    return replace(columns, lookups=tuple(lookups))


def table_types(types: Types) -> ColumnTypes:
    """Return the types of a table's columns; the inverse of `named_types`."""
    carried = {name: carried_type(type_name) for name, type_name in types.items() if name != "id"}
    return ColumnTypes(id=id_type(types["id"]), carried=carried)


def named_types(types: ColumnTypes) -> Types:
    """Name the types of a table's columns, for a checkpoint's manifest."""
    return {"id": str(types.id)} | {name: str(dtype) for name, dtype in types.carried.items()}
