"""Reads values out of JSON texts as Spark does: by a path, or by a schema."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tailrace.expressions.literals import TypeFault
from tailrace.expressions.types import BOOLEAN, DOUBLE, INTEGERS, TEXT, is_integer

_DECODER = json.JSONDecoder(object_pairs_hook=tuple)
"""Decodes an object as pairs of names and values, as a name may occur twice and Spark keeps both."""

_BLANKS = re.compile(r"[ \t\n\r]*")
_STEP = re.compile(r"\.([^.\[\]*'\"]+)|\[(\d{1,9})\]|\['([^'\[\]*]+)'\]")
_SPECIAL = {"NaN": float("nan"), "+INF": float("inf"), "INF": float("inf"), "+Infinity": float("inf")}
_SPECIAL |= {"Infinity": float("inf"), "-INF": float("-inf"), "-Infinity": float("-inf")}

Path = tuple[str | int, ...]


def parse_path(text: str) -> Path:
    """Parse a path of names and indices, such as $.a.b[0].

    Raises
    ------
    TypeFault
    """
    steps: list[str | int] = []
    at = 1
    while at < len(text) and text.startswith("$"):
        match = _STEP.match(text, at)
        if match is None:
            break
        steps.append(int(match[2]) if match[2] else match[1] or match[3])
        at = match.end()
    if at != len(text) or not text.startswith("$"):
        raise TypeFault(f"{text!r} is no path", "names and indices, as $.a.b[0]")
    return tuple(steps)


def value_at(text: str, path: Path) -> str | None:
    """Return the value at a path as text; None if there is none, or the text is not JSON.

    If several members have the same name, the first one counts in which the rest of the path has a non-null value.
    """
    try:
        start = _skip(text, 0)
        value, end = _DECODER.raw_decode(text, start)
        return "null" if value is None and not path else _below(text, start, end, path)
    except (ValueError, RecursionError):
        return None


def _below(text: str, start: int, end: int, path: Path) -> str | None:
    """Return the value at a path below the value between two positions of a text."""
    if not path:
        return _written(_DECODER.raw_decode(text, start)[0], text[start:end])
    step, *rest = path
    parts = _members(text, start) if isinstance(step, str) else enumerate(_elements(text, start))
    for name, span in parts:
        if name == step and (value := _below(text, *span, tuple(rest))) is not None:
            return value
    return None


def _written(value: Any, raw: str) -> str | None:
    """Return a value as Spark writes it: a text without quotes, a double as in Java, other values without blanks."""
    if value is None:
        return None
    if isinstance(value, str):
        return _valid(value)
    return raw if isinstance(value, int) and not isinstance(value, bool) else _valid(_compact(value))


def _compact(value: Any) -> str:
    if isinstance(value, tuple):
        return "{" + ",".join(f"{_compact(name)}:{_compact(each)}" for name, each in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    return _java_double(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _java_double(value: float) -> str:
    """Return a double as Java writes it: with an exponent below 0.001 and from 10^7 on."""
    if math.isnan(value) or math.isinf(value):
        return f'"{value}"'.replace("inf", "Infinity").replace("nan", "NaN")
    if value == 0 or 1e-3 <= abs(value) < 1e7:  # noqa: PLR2004
        return repr(value)
    digits, exponent = f"{Decimal(repr(value)).normalize():E}".split("E")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def _valid(text: str) -> str:
    """Replace lone surrogates, which UTF-8 can't encode."""
    return text.encode(errors="replace").decode()


def _skip(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    assert match is not None
    return match.end()


def _members(text: str, at: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the names of an object's members and the positions of their values; nothing for other values."""
    if text[at : at + 1] != "{":
        return
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        name, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)  # after the colon, which exists because the text was parsed
        _, end = _DECODER.raw_decode(text, start)
        yield name, (start, end)
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)


def _elements(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield the positions of an array's elements; nothing for other values."""
    if text[at : at + 1] != "[":
        return
    at = _skip(text, at + 1)
    while text[at : at + 1] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)


def require_readable(dtype: pa.DataType) -> None:
    """Refuse a type that can't be read from JSON values.

    Raises
    ------
    TypeFault
    """
    if pa.types.is_struct(dtype):
        for field in dtype:
            require_readable(field.type)
    elif pa.types.is_list(dtype):
        require_readable(dtype.value_type)
    elif not (is_integer(dtype) or dtype in (BOOLEAN, DOUBLE, TEXT)):
        raise TypeFault(f"from_json reads no {dtype} here", "string, and a cast of the field")


class _Mismatch(Exception):
    """Raised if a value does not match its type.

    The field that contains the value is null, and so is an array around it.
    """


def read_by_schema(text: str | None, dtype: pa.DataType) -> Any:
    """Return the value of a text by a schema.

    A value that does not fit is null; so are all fields of invalid JSON.
    """
    if text is None or not text.strip():
        return None
    nothing = {field.name: None for field in dtype}
    try:
        start = _skip(text, 0)
        _, end = _DECODER.raw_decode(text, start)
        return _value(text, start, end, dtype) or nothing
    except (ValueError, RecursionError, _Mismatch):
        return nothing


def _value(text: str, start: int, end: int, dtype: pa.DataType) -> Any:
    """Return the value between two positions of a text in a type; None for null."""
    value = _DECODER.raw_decode(text, start)[0]
    if value is None:
        return None
    if pa.types.is_struct(dtype):
        return _struct(text, start, dtype)
    if pa.types.is_list(dtype):
        if not isinstance(value, list):
            raise _Mismatch
        return [_value(text, *span, dtype.value_type) for span in _elements(text, start)]
    return _written(value, text[start:end]) if dtype == TEXT else _scalar(value, dtype)


def _struct(text: str, start: int, dtype: pa.DataType) -> dict[str, Any]:
    if text[start] != "{":
        raise _Mismatch
    types = {field.name: field.type for field in dtype}
    values: dict[str, Any] = dict.fromkeys(types)
    for name, span in _members(text, start):
        if name in types:
            try:
                values[name] = _value(text, *span, types[name])
            except _Mismatch:
                values[name] = None
    return values


def _scalar(value: Any, dtype: pa.DataType) -> Any:
    """Return a boolean or number in its type."""
    if isinstance(value, bool):
        if dtype == BOOLEAN:
            return value
    elif dtype == DOUBLE and isinstance(value, (int, float)):
        return _as_double(value)
    elif dtype == DOUBLE and isinstance(value, str) and value in _SPECIAL:
        return _SPECIAL[value]
    elif is_integer(dtype) and isinstance(value, int):
        bits = 8 << INTEGERS.index(dtype)
        if -(1 << bits - 1) <= value < 1 << bits - 1:
            return value
    raise _Mismatch


def _as_double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def path_reader(path: Path) -> Callable[[pa.ChunkedArray], pa.Array]:
    """Return a function that applies `value_at` to columns."""

    def read(texts: pa.ChunkedArray) -> pa.Array:
        return pa.array([None if text is None else value_at(text, path) for text in texts.to_pylist()], pa.string())

    return read


def schema_reader(dtype: pa.DataType) -> Callable[[pa.ChunkedArray], pa.Array]:
    """Return a function that applies `read_by_schema` to columns."""

    def read(texts: pa.ChunkedArray) -> pa.Array:
        return pa.array([read_by_schema(text, dtype) for text in texts.to_pylist()], dtype)

    return read
