"""The types of objects and lists in JSON, inferred from their values, for expressions that read their fields."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tailrace.sources.type_names import data_type

_SCALARS: dict[type, pa.DataType] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


def nested_type(value: Any) -> pa.DataType | None:
    """Return the type that a value shows; None for null, for empty values, and for fields with impossible names."""
    if isinstance(value, dict):
        fields = {name: dtype for name, each in value.items() if (dtype := nested_type(each)) is not None}
        return _struct(fields)
    if isinstance(value, list):
        merged = None
        for each in value:
            merged = merged_types(merged, nested_type(each))
        return None if merged is None else pa.list_(merged)
    return _SCALARS.get(type(value))


def merged_types(one: pa.DataType | None, other: pa.DataType | None) -> pa.DataType | None:
    """Return the common type of two types: all their fields, numbers as doubles; where they clash, the first one."""
    if one is None or other is None or one == other:
        return other if one is None else one
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        types = {field.name: field.type for field in one}
        for field in other:
            types[field.name] = merged_types(types.get(field.name), field.type)
        return _struct(types)
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(merged_types(one.value_type, other.value_type))
    return pa.float64() if {one, other} == {pa.int64(), pa.float64()} else one


def _struct(fields: dict[str, pa.DataType]) -> pa.DataType | None:
    """Return a struct of the fields with possible names; of names that differ only in case, the first."""
    held: dict[str, tuple[str, pa.DataType]] = {}
    for name, dtype in fields.items():
        field = pa.struct([(name, dtype)])
        if name and data_type(str(field)) == field:
            held.setdefault(name.lower(), (name, dtype))
    return pa.struct(list(held.values())) if held else None
