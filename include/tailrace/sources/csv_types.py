"""The types of the columns of CSV, by the texts of a sample, and the values of texts in these types."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.sources.check import Columns
from tailrace.sources.json_types import ARROW_TYPES
from tailrace.sources.segments import Types
from tailrace.sources.time_zones import type_of_text

_INTEGER = r"^(0|-?[1-9]\d{0,17})$"  # 007 is a text: as an integer it would be the same as 7
_NUMBER = r"^\s*-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$|^\s*-?(?i:inf|infinity|nan)\s*$"
_TRUTH = r"^(?i:true|false)$"
_TIME = r"^\s*\d{4}-?\d\d"
_PATTERNS = {"bool": _TRUTH, "int64": _INTEGER, "double": _NUMBER}
_WORDS = {"bool": "true or false", "int64": "integer of at most 18 digits", "double": "number"}
_TIMES, _NAMES = ("event_time", "arrival_time"), ("id", "key")


def shown_types(sample: pa.Table, columns: Columns, before: Types) -> Types | None:
    """The types of the columns that a query reads; None where the texts of a sample don't show one of them.

    Times are integers if the first one is, else texts. Ids and keys are texts, so that no later record contradicts them
    and 007 is not 7. Of carried columns it is the narrowest of boolean, integer, double and text that has all values.
    Names and carried columns keep their type of the files `before` as long as some value has it: each record is judged
    alone.
    """
    types: Types = {}
    for part, name in columns.named().items():
        texts = _present(sample.column(name))
        kind = _shown_type(part, texts, columns)
        if part in (*_NAMES, *columns.carried) and name in before and _any(texts, before[name]):
            kind = before[name]
        if kind is None:
            return None
        if part not in columns.carried or name not in types:
            types[name] = kind
    return types


def read_column(texts: pa.ChunkedArray, kind: str) -> tuple[pa.ChunkedArray, NDArray[np.bool_]]:
    """The values of texts in a type, and which of them it does not have; an empty text is null.

    Returns
    -------
    values : ChunkedArray, length n
    wrong : ndarray, shape (n,)
    """
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    if kind not in _PATTERNS:
        return texts, np.zeros(len(texts), bool)
    fits = pc.match_substring_regex(texts, _PATTERNS[kind])
    wrong = ~np.asarray(pc.fill_null(fits, True).combine_chunks())
    values = pc.if_else(fits, pc.utf8_trim_whitespace(texts), None)
    return values.cast(ARROW_TYPES[kind]), wrong


def wrong_value(record: Mapping[str, str], types: Types) -> str | None:
    """The reason for which a record has a text that is no value of its column's type; None where there is none."""
    for name, kind in types.items():
        _, wrong = read_column(pa.chunked_array([pa.array([record[name]], pa.string())]), kind)
        if wrong[0]:
            return f"{name} is no {_WORDS[kind]}: {record[name][:40]!r}"
    return None


def _shown_type(part: str, texts: pa.ChunkedArray, columns: Columns) -> str | None:
    if part in _TIMES:
        fits = pc.or_(pc.match_substring_regex(texts, _INTEGER), pc.match_substring_regex(texts, _TIME))
        texts = texts.filter(fits).slice(0, 1)
        return ("int64" if _all(texts, _INTEGER) else type_of_text(texts[0].as_py())) if len(texts) else None
    if part in columns.carried:
        narrowest = next((kind for kind, pattern in _PATTERNS.items() if _all(texts, pattern)), "string")
        return narrowest if len(texts) else None
    if part in _NAMES or not pa.types.is_float64(columns.value_types()[part]):
        return "string" if len(texts) else None
    return "double" if pc.any(pc.match_substring_regex(texts, _NUMBER), min_count=0).as_py() else None


def _present(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return texts.filter(pc.not_equal(texts, ""))


def _any(texts: pa.ChunkedArray, kind: str) -> bool:
    """Whether some text is a value of a type."""
    if kind not in _PATTERNS:
        return len(texts) > 0
    return bool(pc.any(pc.match_substring_regex(texts, _PATTERNS[kind]), min_count=0).as_py())


def _all(texts: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())
