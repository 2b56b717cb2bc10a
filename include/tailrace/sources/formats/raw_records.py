"""Rows of Arrow tables as texts for the quarantine, whatever they contain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa


def raw_records(table: pa.Table, rows: Sequence[int]) -> list[str]:
    """Return the given rows of a table, each as the text of a JSON object by the names of its columns.

    Values that Python can't represent are written in another form: times as the integers that store them, bytes that
    are not UTF-8 with escapes. NaN and infinities are in Python's notation.
    """
    names = _distinct(table.column_names)
    try:
        return _texts(names, [column.take(pa.array(rows, pa.int64())).to_pylist() for column in table.columns], rows)
    except Exception:  # errors of many classes; no value may stop a stream
        return _texts(names, [_values(column, rows) for column in table.columns], rows)


def _texts(names: Sequence[str], columns: Sequence[Sequence[Any]], rows: Sequence[int]) -> list[str]:
    records = zip(*columns, strict=True) if columns else ([] for _ in rows)
    return [json.dumps(dict(zip(names, record, strict=True)), default=str) for record in records]


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names, with a number appended to each repeated one."""
    counts: dict[str, int] = {}
    distinct = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        distinct.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return distinct


def _values(column: pa.ChunkedArray, rows: Sequence[int]) -> list[Any]:
    try:
        values: list[Any] = column.take(pa.array(rows, pa.int64())).to_pylist()
        json.dumps(values, default=str)
    except Exception:
        return [_value(column[row]) for row in rows]
    return values


def _value(scalar: pa.Scalar) -> Any:
    """Return a value for JSON; its integer or bytes if Python can't represent it."""
    if not scalar.is_valid:
        return None
    if isinstance(scalar, pa.DictionaryScalar):
        return _value(scalar.dictionary[scalar.index.as_py()])
    if isinstance(scalar, pa.ExtensionScalar):
        return _value(scalar.value)
    return _nested(scalar) if pa.types.is_nested(scalar.type) else _simple(scalar)


def _nested(scalar: pa.Scalar) -> Any:
    if isinstance(scalar, pa.StructScalar):
        names = [field.name for field in scalar.type]
        return dict(zip(_distinct(names), (_value(scalar[index]) for index in range(len(names))), strict=True))
    if isinstance(scalar, pa.MapScalar):
        return [[_value(entry[0]), _value(entry[1])] for entry in scalar.values]
    return [_value(each) for each in scalar.values]


def _simple(scalar: pa.Scalar) -> Any:
    if isinstance(scalar, pa.StringScalar):
        return scalar.as_buffer().to_pybytes().decode(errors="backslashreplace")
    if pa.types.is_temporal(scalar.type) and not pa.types.is_interval(scalar.type):
        return scalar.value
    try:
        return json.loads(json.dumps(scalar.as_py(), default=str))
    except Exception:
        return str(scalar)
