"""The ids and keys of tuples, from the columns of raw records.

A null is no id. In a key it is a value like any other, as in SQL's GROUP BY, and has its own group.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.arrow.key_lists import key_texts
from tailrace.kind.inputs import ColumnTypes
from tailrace.sources.carried_columns import OUT_OF_BOUNDS, carried_type, carried_values
from tailrace.sources.columns import SourceMapping
from tailrace.sources.segments import is_integer
from tailrace.sources.verdict import RecordVerdict, nulls


def id_type(type_name: str) -> pa.DataType:
    """Return the type of ids, given their column's type by name: int64 for integers of any width, else text."""
    return pa.int64() if is_integer(type_name) else pa.string()


def key_type(type_name: str) -> pa.DataType:
    """Return the type of keys, given their column's type by name.

    Booleans, dates and timestamps have the type of a carried column, other keys the type of ids.
    """
    dtype = carried_type(type_name)
    return dtype if dtype is not None and is_grouped_as_is(dtype) else id_type(type_name)


def is_grouped_as_is(dtype: pa.DataType) -> bool:
    """Test whether keys of a type are neither integers nor texts: a boolean, a date or a timestamp."""
    return bool(pa.types.is_boolean(dtype) or pa.types.is_date(dtype) or pa.types.is_timestamp(dtype))


def read_ids(verdict: RecordVerdict, raw: pa.Table, name: str, dtype: pa.DataType) -> pa.Array:
    """Return the ids, integers as int64 and others as text, and reject nulls; a column of nulls has type `dtype`."""
    column = raw.column(name)
    if not pa.types.is_null(column.type):
        dtype = pa.int64() if pa.types.is_integer(column.type) else pa.string()
    ids = pc.cast(column, dtype).combine_chunks()
    verdict.reject(nulls(ids), f"{name} is null")
    return ids


def read_keys(
    verdict: RecordVerdict, raw: pa.Table, columns: SourceMapping, types: ColumnTypes, coded: bool
) -> pa.Array:
    """Return the tuples' keys; `coded` is as `coded_keys` in `check`."""
    if isinstance(columns.key, tuple):
        named = types.of_keys(columns.key).items()
        texts = key_texts([_key(verdict, raw, name, dtype, columns, True) for name, dtype in named])
        return texts if coded else texts.dictionary_decode()
    if columns.key is None:
        return pa.nulls(raw.num_rows, types.key)
    return _key(verdict, raw, columns.key, types.key, columns, coded)


def _key(
    verdict: RecordVerdict, raw: pa.Table, name: str, dtype: pa.DataType, columns: SourceMapping, coded: bool
) -> pa.Array:
    column = raw.column(name).combine_chunks()
    keys = _coded(column, dtype) if coded and pa.types.is_dictionary(column.type) else None
    if keys is not None:
        is_null = nulls(column)
    else:
        keys, is_outside = carried_values(column, dtype)
        verdict.reject(is_outside, f"{name} {OUT_OF_BOUNDS}")
        is_null = nulls(keys)
    if not columns.groups_nulls:
        verdict.reject(is_null, f"{name} is null")
    return keys


def _coded(keys: pa.DictionaryArray, dtype: pa.DataType) -> pa.DictionaryArray | None:
    """Return keys as 32-bit codes into a dictionary of type `dtype` without repeats, which has null if a key is null.

    Return None if the column's own dictionary does not have such values.
    """
    if is_grouped_as_is(dtype):
        return None
    dictionary, code = keys.dictionary.cast(dtype), keys.indices.cast(pa.int32())
    if dictionary.null_count or len(dictionary.unique()) < len(dictionary):
        return None
    if code.null_count:
        code = code.fill_null(len(dictionary))
        dictionary = pa.concat_arrays([dictionary, pa.nulls(1, dtype)])
    return pa.DictionaryArray.from_arrays(code, dictionary)
