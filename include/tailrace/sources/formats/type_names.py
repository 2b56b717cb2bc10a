"""The Arrow types for the names used in `Types`, including nested ones."""

from __future__ import annotations

import re

import pyarrow as pa

from tailrace.sources.time_zones import WITH_ZONE, WITHOUT_ZONE

ARROW_TYPES = {"string": pa.string(), "int64": pa.int64(), "double": pa.float64(), "bool": pa.bool_()}
ARROW_TYPES |= {"list<double>": pa.list_(pa.float64()), WITH_ZONE: pa.string(), WITHOUT_ZONE: pa.string()}
"""The types that columns of JSON and CSV can have, by name."""

_SIMPLE = {
    str(dtype): dtype
    for dtype in (
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.large_string(), pa.string_view()),
        *(pa.date32(), pa.date64(), pa.null(), pa.binary(), pa.large_binary()),
    )
} | ARROW_TYPES
_DECIMAL = re.compile(r"decimal(32|64|128|256)\((\d+), (-?\d+)\)\Z")
_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:, tz=([^\]]+))?\]\Z")
_DECIMALS = {"128": pa.decimal128, "256": pa.decimal256}


def data_type(name: str) -> pa.DataType | None:
    """Return the type with a name; None if unknown."""
    name = name.removesuffix(" not null")
    if name in _SIMPLE:
        return _SIMPLE[name]
    if match := _TIMESTAMP.match(name):
        return pa.timestamp(match[1], match[2])
    if match := _DECIMAL.match(name):
        make = _DECIMALS.get(match[1])
        return None if make is None else make(int(match[2]), int(match[3]))
    return _nested(name)


def _nested(name: str) -> pa.DataType | None:
    """Return a struct, list or map; the name of a list's element does not matter."""
    outer, _, inside = name.partition("<")
    if not inside.endswith(">"):
        return None
    parts = _parts(inside[:-1])
    if outer == "struct":
        fields = [part.partition(": ") for part in parts]
        types = [data_type(written) for _, _, written in fields]
        names = [field for field, _, _ in fields]
        return None if None in types else pa.struct(list(zip(names, types, strict=True)))
    if outer in ("list", "large_list") and len(parts) == 1:
        item = data_type(parts[0].partition(": ")[2])
        return None if item is None else pa.list_(item)
    if outer == "map" and len(parts) in (2, 3):  # a third part names the entries' fields
        key, value = (data_type(part.partition(" ('")[0]) for part in parts[:2])
        return None if key is None or value is None else pa.map_(key, value)
    return None


def _parts(text: str) -> list[str]:
    """Split a text at its outermost commas."""
    parts, depth, start = list[str](), 0, 0
    for at, char in enumerate(text):
        depth += (char in "<([") - (char in ">)]")
        if char == "," and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]
