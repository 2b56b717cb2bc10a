"""Finds texts that are not UTF-8, which Parquet's reader accepts, but readers of a table's answers do not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_LAST_ASCII = 0x7F


def not_utf_8(column: pa.ChunkedArray) -> NDArray[np.bool_] | None:
    """Return a mask of the n texts that are not UTF-8; None if all are, or the column has no texts."""
    if all(map(_is_ascii, column.chunks)):
        return None
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        faults = np.array([not is_utf_8(text) for text in _bytes(column).to_pylist()], bool)
        return faults if faults.any() else None  # a dictionary may contain one that no row has
    return None


def without(column: pa.ChunkedArray, mask: NDArray[np.bool_]) -> pa.ChunkedArray:
    """Return a column of texts with null where the mask is true."""
    return pc.if_else(pa.array(mask), None, _bytes(column)).cast(pa.string())


def is_utf_8(text: bytes | None) -> bool:
    """Return whether bytes are UTF-8; None counts as such."""
    try:
        (text or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_ascii(texts: pa.Array) -> bool:
    """Return whether an array has only ASCII bytes: a fast check that suffices for most texts."""
    if isinstance(texts, pa.DictionaryArray):
        return _is_ascii(texts.dictionary)
    if pa.types.is_string_view(texts.type):
        return False
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        return True
    data = texts.buffers()[2]
    return data is None or data.size == 0 or bool(np.frombuffer(data, np.uint8).max() <= _LAST_ASCII)


def _bytes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = pa.chunked_array([chunk.dictionary_decode() for chunk in column.chunks])
    return column.cast(pa.binary())
