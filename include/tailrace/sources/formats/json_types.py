"""The types of the columns of JSON lines, inferred from the values of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa

from tailrace.ground.arrow.number_types import EXACT
from tailrace.sources.columns import SourceMapping
from tailrace.sources.formats.type_names import ARROW_TYPES, data_type
from tailrace.sources.segments import NULL, Types
from tailrace.sources.time_zones import WITH_ZONE, WITHOUT_ZONE, type_of_text

CARRIABLE_VALUES = "texts, numbers, true and false"
"""The values of a column that can be carried along, in words."""

_JSON_TYPES = {dtype: name for name, dtype in ARROW_TYPES.items()} | dict.fromkeys((pa.binary(), pa.string()), "string")
"""The type of a JSON value by the type that the kind needs; binary is the UTF-8 of a text."""

_TIMES = ("event_time", "arrival_time")
_NUMBER = (int, float)
_PYTHON_TYPES: dict[str, tuple[type, ...]] = dict.fromkeys(("string", WITH_ZONE, WITHOUT_ZONE), (str,))
_PYTHON_TYPES |= {"int64": (int,), "double": _NUMBER}
_PYTHON_TYPES |= {"list<double>": (list,), "bool": (bool,)}

_INT64 = 1 << 63
SAMPLE, MOST_RECORDS = 1000, 100_000
"""The number of records that determine the types of carried columns; and the most, if these have no value."""


class ShownTypes(NamedTuple):
    """The column types that a file's records show.

    Attributes
    ----------
    types : dict or None
        None if records don't show the type of every column.
    names : set of str
        The columns of the records.
    nested : set of str
        Carried columns whose only values are objects and lists.
    """

    types: Types | None
    names: set[str]
    nested: set[str]


def shown_types(
    records: Iterable[Mapping[str, Any]], columns: SourceMapping, before: Types | None = None
) -> ShownTypes:
    """Return the types of the columns that a query reads.

    The first record with a value of a fitting type in every column determines them. A key that may be null has the type
    of its first value, or `NULL` without one if records, or the files `before`, have the column. For carried columns
    several records are examined: numbers are integers if all of them are; scores only if one also exceeds 2^53.
    """
    numbers, scores = columns.numbers, columns.scores
    parts = {part: name for part, name in columns.named().items() if part not in columns.free}
    parts = {part: name for part, name in parts.items() if name not in numbers or part not in columns.values}
    keys = [name for part, name in parts.items() if columns.may_be_null(part)]
    parts = {part: name for part, name in parts.items() if not columns.may_be_null(part)}
    own = {*parts.values(), *keys}
    carried: dict[str, str | None] = dict.fromkeys(name for name in columns.free.values() if name not in own)
    of_keys = dict[str, str | None]()
    types: Types | None = None
    names, nested, wide, shown = set[str](), set[str](), set[str](), dict[str, pa.DataType | None]()
    for number, record in enumerate(records, 1):
        names |= record.keys()
        types = types or _types_of(record, parts, columns)
        for name in keys:
            if of_keys.get(name) is None and (value := record.get(name)) is not None:
                of_keys[name] = _key_type(value)
        for name, dtype in carried.items():
            if name not in shown:
                value = record.get(name)
                carried[name] = _with_value(dtype, value if name not in numbers or _is_of(value, _NUMBER) else None)
                if name in scores and isinstance(value, int) and abs(value) > EXACT:
                    wide.add(name)
            if (
                name in columns.inputs
                and name not in numbers
                and carried[name] is None
                and isinstance(record.get(name), dict | list)
            ):
                shown[name] = merged_types(shown.get(name), nested_type(record[name]))
        nested |= {name for name in carried if isinstance(record.get(name), dict | list)}
        enough = SAMPLE if all(dtype or shown.get(name) for name, dtype in carried.items()) else MOST_RECORDS
        is_shown = types is not None and (all(map(of_keys.get, keys)) or number >= MOST_RECORDS)
        if is_shown and (not carried or number >= enough):
            break
    carried |= {name: "double" for name in scores - wide if carried.get(name) == "int64"}
    objects = {name: str(dtype) for name, dtype in shown.items() if dtype is not None}
    known = objects | {name: dtype for name, dtype in carried.items() if dtype is not None}
    is_complete = types is not None and len(known) == len(carried)
    is_complete = is_complete and None not in of_keys.values() and {*keys} <= names | (before or {}).keys()
    known |= {name: of_keys.get(name) or NULL for name in keys}
    return ShownTypes(known | (types or {}) if is_complete else None, names, nested - known.keys())


def unfit_values(records: Iterable[Mapping[str, Any]], columns: SourceMapping) -> dict[str, Any]:
    """Return for each part that every record needs a value that does not fit, see `Format.unfit`."""
    waiting = columns.needed()
    unfit: dict[str, Any] = {}
    for record in islice(records, MOST_RECORDS):
        for part, name in [*waiting.items()]:
            value = record.get(name)
            if value is not None and _type(part, value, columns) is not None:
                unfit[part] = None
                del waiting[part]
            elif value is not None:
                unfit.setdefault(part, value)
        if not waiting:
            break
    return unfit


def wrong_value(record: Mapping[str, Any], types: Types) -> str | None:
    """Return the fault of a record with a value of a wrong type; None without one."""
    for name, dtype in types.items():
        value = record.get(name)
        if dtype not in _PYTHON_TYPES:  # objects and lists; no reason is given for values in them
            if value is not None and not isinstance(value, dict | list):
                return f"{name} is of the wrong type: {type(value).__name__}, not {dtype}"
            continue
        if value is not None and not _is_of(value, _PYTHON_TYPES[dtype]):
            return f"{name} is of the wrong type: {type(value).__name__}, not {dtype}"
        if dtype == "int64" and value is not None and not -_INT64 <= value < _INT64:
            return f"{name} is an integer beyond 64 bits: {value}"
        if isinstance(value, list) and not all(each is None or _is_of(each, _NUMBER) for each in value):
            return f"{name} holds what is no number"
    return None


def _types_of(record: Mapping[str, Any], parts: Mapping[str, str], columns: SourceMapping) -> Types | None:
    dtypes = {name: _type(part, record.get(name), columns) for part, name in parts.items()}
    types = {name: dtype for name, dtype in dtypes.items() if dtype is not None}
    return types if len(types) == len(dtypes) else None


def _type(part: str, value: Any, columns: SourceMapping) -> str | None:
    """Return the type of a part of the tuple, given a record's value; None if the value is unusable."""
    is_own = part in _TIMES or columns.is_name(part)
    dtype = None if is_own else _JSON_TYPES[columns.value_types[part]]
    if part in columns.key_parts:
        return _key_type(value)
    if not _is_of(value, (str, int) if dtype is None else _PYTHON_TYPES[dtype]):
        return None
    if dtype is None and isinstance(value, str):
        return type_of_text(value) if part in _TIMES else "string"
    return dtype or "int64"


def _key_type(value: Any) -> str | None:
    return next((name for name in ("bool", "int64", "string") if _is_of(value, _PYTHON_TYPES[name])), None)


def _with_value(dtype: str | None, value: Any) -> str | None:
    """Return the type of a carried column with one more value, given the type so far; None if still unknown."""
    of_value = next(
        (name for name in ("bool", "int64", "double", "string") if _is_of(value, _PYTHON_TYPES[name])), None
    )
    return "double" if (dtype, of_value) == ("int64", "double") else dtype or of_value


def _is_of(value: Any, types: tuple[type, ...]) -> bool:
    """Test whether a value has one of the types; a Python boolean does not count as an integer here."""
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


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
    """Return a struct of the fields with possible names; the first of names that differ only in case."""
    held: dict[str, tuple[str, pa.DataType]] = {}
    for name, dtype in fields.items():
        field = pa.struct([(name, dtype)])
        if name and data_type(str(field)) == field:
            held.setdefault(name.lower(), (name, dtype))
    return pa.struct(list(held.values())) if held else None
