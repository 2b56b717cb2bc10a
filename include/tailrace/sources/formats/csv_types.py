"""The types of CSV columns, inferred from their texts, and the values of texts in these types.

A carried column has the first of these types that reproduces all its texts exactly: boolean (true, false), integer (at
most 18 digits), double. So a column with a leading zero,
a plus sign or more digits than are kept stays text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.arrow.number_types import EXACT
from tailrace.sources.columns import SourceMapping
from tailrace.sources.formats.csv_dialect import COMMAS, CsvDialect
from tailrace.sources.formats.type_names import ARROW_TYPES
from tailrace.sources.segments import NULL, Types
from tailrace.sources.time_zones import type_of_text

_INTEGER = r"^(0|-?[1-9]\d{0,17})$"  # 007 is text, as it would equal 7 as an integer
_NUMBER = r"^\s*-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$|^\s*-?(?i:inf|infinity|nan)\s*$"
_EXACT = r"^-?((0|[1-9]\d*)(\.\d+)?|\.\d+)([eE][+-]?\d{1,4})?$"
_SURELY_EXACT = r"^[-.\d]{1,15}$"  # a double reproduces 15 digits
_TRUTH = r"^(?i:true|false)$"
_TIME = r"^\s*\d{4}-?\d\d"
_PATTERNS = {"bool": _TRUTH, "int64": _INTEGER, "double": _NUMBER}
_WORDS = {"bool": "true or false", "int64": "integer of at most 18 digits", "double": "number"}
Mask = NDArray[np.bool_]
_TIMES = ("event_time", "arrival_time")


def shown_types(sample: pa.Table, columns: SourceMapping, before: Types, dialect: CsvDialect = COMMAS) -> Types | None:
    """Return the types of the columns that a query reads; None if the texts of a sample don't show one of them.

    Times are integers if the first one is, else texts. Ids and keys are texts, so that no later record contradicts them
    and 007 is not 7. Carried columns have their narrowest type, or `NULL` without any text. Ids, keys and carried
    columns keep their type from the files `before` as long as some value fits; each record is checked separately.
    """
    types: Types = {}
    numbers = columns.numbers
    for part, name in columns.named().items():
        if part in columns.values and name in numbers:
            continue
        texts = dialect.with_points(_present(sample.column(name)))
        dtype = shown_type(part, texts, columns)
        if (columns.is_name(part) or part in columns.free) and name in before:
            has_any = len(texts) and not _wrong(texts, before[name], part in columns.free).all()
            dtype = before[name] if has_any else dtype
        if dtype is None:
            return None
        if part not in columns.free or name not in types:
            types[name] = dtype
    return types


def unfit_texts(
    sample: pa.Table, parts: Mapping[str, str], columns: SourceMapping, dialect: CsvDialect = COMMAS
) -> dict[str, str | None]:
    """Return for each of some parts, given their columns, a text that does not fit; see `Format.unfit`."""
    unfit: dict[str, str | None] = {}
    for part, name in parts.items():
        if len(texts := _present(sample.column(name))):
            dtype = shown_type(part, dialect.with_points(texts), columns)
            unfit[part] = texts[0].as_py() if dtype is None else None
    return unfit


def text_among_numbers(texts: pa.ChunkedArray, dialect: CsvDialect = COMMAS) -> int | None:
    """Return the place of the first text that is not a number, if most of the column's texts are; otherwise None."""
    is_number = ~_wrong(dialect.with_points(texts), "double", is_exact=True)
    is_present = np.asarray(pc.not_equal(texts, "").combine_chunks())
    others = np.flatnonzero(is_present & ~is_number)
    return int(others[0]) if 0 < len(others) < np.count_nonzero(is_present & is_number) else None


def read_column(
    texts: pa.ChunkedArray, dtype: str, is_exact: bool = False, dialect: CsvDialect = COMMAS
) -> tuple[pa.ChunkedArray, Mask]:
    """Convert texts to a type, with a mask of texts that can't be converted; an empty text is null.

    `is_exact`: doubles must reproduce their texts.

    Returns
    -------
    values : ChunkedArray, length n
    malformed : ndarray, shape (n,)
    """
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    if dtype not in _PATTERNS:
        return texts, np.zeros(len(texts), bool)
    texts = dialect.with_points(texts)
    malformed = _wrong(texts, dtype, is_exact)
    values = pc.if_else(pa.array(malformed), None, pc.utf8_trim_whitespace(texts))
    return values.cast(ARROW_TYPES[dtype]), malformed


def read_narrowest(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in the narrowest type that fits all its values; null where there is none."""
    present = _present(texts)
    if not len(present):
        return pa.chunked_array([pa.nulls(len(texts))])
    return read_column(texts, _narrowest_type(present), is_exact=True)[0]


def wrong_value(
    record: Mapping[str, str], types: Types, exact: Collection[str] = (), dialect: CsvDialect = COMMAS
) -> str | None:
    """Return the reason to reject a record with a text that does not fit its column's type; None without one."""
    for name, dtype in types.items():
        texts = pa.chunked_array([pa.array([record[name]], pa.string())])
        if read_column(texts, dtype, name in exact, dialect)[1][0]:
            is_number = not read_column(texts, dtype, dialect=dialect)[1][0]
            what = "number that a double gives back as it is" if is_number else _WORDS[dtype]
            return f"{name} is no {what}: {record[name][:40]!r}"
    return None


def _wrong(texts: pa.ChunkedArray, dtype: str, is_exact: bool) -> Mask:
    """Return a mask of the n texts that are not values of a type; null fits each type."""
    if dtype not in _PATTERNS:
        return np.zeros(len(texts), bool)
    pattern = _EXACT if is_exact and dtype == "double" else _PATTERNS[dtype]
    fits = pc.fill_null(pc.match_substring_regex(texts, pattern), True)
    if pattern == _EXACT and not pc.all(pc.match_substring_regex(texts, _SURELY_EXACT), min_count=0).as_py():
        fits = pc.and_(fits, _given_back(pc.if_else(fits, texts, None)))
    return ~np.asarray(fits.combine_chunks())


def _given_back(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Test which numbers a double reproduces in its fewest digits; null counts as reproduced."""
    doubles = texts.cast(pa.float64()).cast(pa.string())
    pairs = zip(texts.to_pylist(), doubles.to_pylist(), strict=True)
    given_back = [text == double or Decimal(text) == Decimal(double) for text, double in pairs]
    return pa.chunked_array([given_back], pa.bool_())


def shown_type(part: str, texts: pa.ChunkedArray, columns: SourceMapping) -> str | None:
    """Infer the type of a part of tuples from the texts of a column without nulls; None if no text fits."""
    if part in _TIMES:
        fits = pc.or_(pc.match_substring_regex(texts, _INTEGER), pc.match_substring_regex(texts, _TIME))
        texts = texts.filter(fits).slice(0, 1)
        return ("int64" if _all(texts, _INTEGER) else type_of_text(texts[0].as_py())) if len(texts) else None
    if part in columns.lookup_keys:
        return "string" if len(texts) else NULL
    if part in columns.free:
        name = columns.free[part]
        if name not in columns.numbers:
            return _narrowest_type(texts) if len(texts) else NULL
        texts = texts.filter(pc.match_substring_regex(texts, _NUMBER))
        return _number_type(texts, name in columns.scores)
    if columns.is_name(part) or not pa.types.is_float64(columns.value_types[part]):
        return "string" if len(texts) else NULL if columns.may_be_null(part) else None
    return "double" if pc.any(pc.match_substring_regex(texts, _NUMBER), min_count=0).as_py() else None


def _number_type(texts: pa.ChunkedArray, is_score: bool) -> str | None:
    """Return the type of numbers; None without any. Scores are doubles unless one exceeds 2^53."""
    if not len(texts):
        return None
    if _wrong(texts, "int64", is_exact=True).any():
        return "double"
    return "double" if is_score and not _are_beyond_doubles(texts) else "int64"


def _are_beyond_doubles(texts: pa.ChunkedArray) -> bool:
    """Test whether an integer is too large for a double to hold exactly."""
    return bool(pc.any(pc.greater(pc.abs(texts.cast(pa.int64())), EXACT)).as_py())


def _narrowest_type(texts: pa.ChunkedArray) -> str:
    return next((dtype for dtype in _PATTERNS if not _wrong(texts, dtype, is_exact=True).any()), "string")


def _present(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return texts.filter(pc.not_equal(texts, ""))


def _all(texts: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())
