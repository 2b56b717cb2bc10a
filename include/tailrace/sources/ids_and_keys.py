"""The ids and keys of tuples, from the columns of raw records."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.key_lists import key_texts
from tailrace.kind.inputs import ColumnTypes
from tailrace.sources.verdict import RecordVerdict, nulls


def read_ids(verdict: RecordVerdict, raw: pa.Table, name: str, dtype: pa.DataType) -> pa.Array:
    """Return the ids, integers as int64 and others as text, and reject nulls; `dtype` is for a column of nulls."""
    ids = _cast(raw.column(name), dtype if pa.types.is_null(raw.column(name).type) else None)
    verdict.reject(nulls(ids), f"{name} is null")
    return ids


def read_keys(
    verdict: RecordVerdict, raw: pa.Table, key: str | tuple[str, ...] | None, types: ColumnTypes, coded: bool
) -> pa.Array:
    """Return the tuples' keys; `coded` is `coded_keys` of `check`."""
    if isinstance(key, tuple):
        parts = (_key(verdict, raw, name, dtype, True) for name, dtype in types.of_keys(key).items())
        texts = key_texts([*parts])
        return texts if coded else texts.dictionary_decode()
    return pa.nulls(raw.num_rows, types.key) if key is None else _key(verdict, raw, key, types.key, coded)


def _key(verdict: RecordVerdict, raw: pa.Table, name: str, dtype: pa.DataType, coded: bool) -> pa.Array:
    column = raw.column(name)
    keys = _coded(column, dtype) if coded and pa.types.is_dictionary(column.type) else _cast(column, dtype)
    verdict.reject(nulls(keys), f"{name} is null")
    return keys


def _coded(column: pa.ChunkedArray, dtype: pa.DataType) -> pa.Array:
    """Return dictionary-encoded keys as 32-bit codes into a dictionary of type `dtype` without repeats."""
    keys = column.combine_chunks()
    dictionary = keys.dictionary.cast(dtype)
    if dictionary.null_count or len(dictionary.unique()) < len(dictionary):
        return _cast(column, dtype)
    return pa.DictionaryArray.from_arrays(keys.indices.cast(pa.int32()), dictionary)


def _cast(column: pa.ChunkedArray, dtype: pa.DataType | None) -> pa.Array:
    """Cast ids or keys to `dtype`; None: integers to int64, others to text."""
    if dtype is None:
        dtype = pa.int64() if pa.types.is_integer(column.type) else pa.string()
    return pc.cast(column, dtype).combine_chunks()
