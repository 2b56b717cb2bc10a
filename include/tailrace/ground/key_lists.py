"""Lists of keys as one key: the canonical JSON text of a tuple's values, such as ["DE","web"], and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.columns import Ints, encode

KEY_PART = "key "
"""The prefix of the columns that hold the parts of a composite key; a number from 1 on follows."""

_ESCAPED = r'["\\\x00-\x1f]'
_FEW_CODES = 4  # codes a row: up to here a table of all codes is cheaper than hashing


def key_texts(parts: Sequence[pa.Array]) -> pa.DictionaryArray:
    """Encode the keys of n tuples, given a column for each part, as texts that are equal where all parts are equal.

    Each distinct combination, and each distinct value of a part, is formatted once.

    Parameters
    ----------
    parts : list of Array, length n
        Of type string or int64, perhaps dictionary-encoded; nulls stand for any value.

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
    columns = (pa.array([values[index] for values in lists], dtype) for index, dtype in types.items())
    return [column.take(encoded.indices) for column in columns]


def canonical_key(text: str, length: int) -> str | None:
    """Return a JSON array in the form that `key_texts` writes.

    Return None if it is not an array of `length` texts and integers.
    """
    try:
        values = json.loads(text)
        if not isinstance(values, list) or len(values) != length or {*map(type, values)} - {str, int}:
            return None
        return str(key_texts([pa.array([each]) for each in values]).dictionary[0].as_py())
    except (ValueError, OverflowError):  # not JSON, not UTF-8, or not an int64
        return None


def _encoded(part: pa.Array) -> tuple[pa.Array, Ints]:
    """Return the JSON texts of a part's distinct values, and the code of each row."""
    if not pa.types.is_dictionary(part.type):
        texts, code = encode(part.fill_null(_any_value(part.type)))
    elif len(part.dictionary):
        texts, code = part.dictionary, np.asarray(part.indices.fill_null(0))
    else:
        texts, code = pa.array([_any_value(part.type.value_type)]), np.zeros(len(part), np.int64)
    return _json_texts(texts), code.astype(np.int64)


def _any_value(dtype: pa.DataType) -> int | str:
    return 0 if pa.types.is_integer(dtype) else ""


def _dense(code: Ints, size: int) -> tuple[Ints, int]:
    """Renumber the codes (below `size`) that occur, from 0 on; return them, and the number of distinct codes."""
    if size <= _FEW_CODES * len(code) + 1024:
        occurs = np.zeros(size, bool)
        occurs[code] = True
        return (np.cumsum(occurs) - 1)[code], int(occurs.sum())
    encoded = pa.array(code).dictionary_encode()
    return np.asarray(encoded.indices).astype(np.int64), len(encoded.dictionary)


def _first_rows(code: Ints, size: int) -> Ints:
    """Return, for each code, a row that has it."""
    row = np.zeros(size, np.int64)
    row[code] = np.arange(len(code))
    return row


def _json_texts(values: pa.Array) -> pa.Array:
    """Write each value as JSON: an integer in decimal, a text in quotes, with escapes only where JSON needs them."""
    if pa.types.is_integer(values.type):
        return values.cast(pa.string())
    escaped = pc.match_substring_regex(values, _ESCAPED)
    quoted = pc.binary_join_element_wise('"', values, '"', "")
    if not pc.any(escaped, min_count=0).as_py():
        return quoted
    texts = [json.dumps(value, ensure_ascii=False) for value in values.filter(escaped).to_pylist()]
    return pc.replace_with_mask(quoted, escaped, pa.array(texts, pa.string()))
