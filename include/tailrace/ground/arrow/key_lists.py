"""Keys of several columns: encodes a tuple's values as a canonical JSON text, such as ["DE",null], and decodes it.

Dates and timestamps are texts, as `json_rows` writes them; the column's type distinguishes them from other texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.arrow.columns import Ints, encode
from tailrace.ground.arrow.json_rows import json_texts

KEY_PART = "key "
"""The prefix of the columns that hold the parts of a composite key; a number from 1 on follows."""

_JSON_TYPES = {str, int, bool, type(None)}
_FEW_CODES = 4  # codes per row, up to which a table of all codes is cheaper than hashing


def key_texts(parts: Sequence[pa.Array]) -> pa.DictionaryArray:
    """Encode the keys of n tuples, given a column for each part, as texts; these are equal if all parts are equal.

    Each distinct combination, and each distinct value of a part, is formatted once.

    Parameters
    ----------
    parts : list of Array, length n
        Of types allowed for keys, perhaps dictionary-encoded; null is a value like any other.

    Returns
    -------
    DictionaryArray
        32-bit codes; each text is once in the dictionary, and every text belongs to a tuple.
    """
    encoded = [_encoded(part) for part in parts]
    code, size = np.zeros(len(parts[0]), np.int64), 1
    for texts, part_code in encoded:
        code, size = _dense(code * max(len(texts), 1) + part_code, size * max(len(texts), 1))
    first = _first_rows(code, size)
    columns = [texts.take(pa.array(part_code[first])) for texts, part_code in encoded]
    joined = pc.binary_join_element_wise(*columns, ",")
    keys = pc.binary_join_element_wise("[", joined, "]", "")
    return pa.DictionaryArray.from_arrays(pa.array(code.astype(np.int32)), keys)


def key_columns(keys: pa.Array | pa.ChunkedArray, types: Mapping[int, pa.DataType]) -> list[pa.Array]:
    """Return the parts of keys as columns of the given types; each distinct text is parsed once."""
    encoded = pc.dictionary_encode(keys)
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    lists = [json.loads(text) for text in encoded.dictionary.to_pylist()]
    columns = (_column([values[index] for values in lists], dtype) for index, dtype in types.items())
    return [column.take(encoded.indices) for column in columns]


def canonical_key(text: str, length: int) -> str | None:
    """Return a JSON array in the form that `key_texts` writes.

    Return None if it is not an array of `length` texts, integers, booleans and nulls.
    """
    try:
        values = json.loads(text)
        if not isinstance(values, list) or len(values) != length or {*map(type, values)} - _JSON_TYPES:
            return None
        return str(key_texts([pa.array([each]) for each in values]).dictionary[0].as_py())
    except (ValueError, OverflowError):  # not JSON, not UTF-8, or not an int64
        return None


def _column(values: list[Any], dtype: pa.DataType) -> pa.Array:
    is_time = pa.types.is_date(dtype) or pa.types.is_timestamp(dtype)
    return pa.array(values, pa.string()).cast(dtype) if is_time else pa.array(values, dtype)


def _encoded(part: pa.Array) -> tuple[pa.Array, Ints]:
    """Return the JSON texts of a part's distinct values, and the code of each row."""
    values, code = encode(part)
    return json_texts(values), code.astype(np.int64)


def _dense(code: Ints, size: int) -> tuple[Ints, int]:
    """Renumber the occurring codes (below `size`) from 0 on; return them, and their distinct number."""
    if size <= _FEW_CODES * len(code) + 1024:
        occurs = np.zeros(size, bool)
        occurs[code] = True
        return (np.cumsum(occurs) - 1)[code], int(occurs.sum())
    encoded = pa.array(code).dictionary_encode()
    return np.asarray(encoded.indices).astype(np.int64), len(encoded.dictionary)


def _first_rows(code: Ints, size: int) -> Ints:
    """Return a row with each code."""
    row = np.zeros(size, np.int64)
    row[code] = np.arange(len(code))
    return row
