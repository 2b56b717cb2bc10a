"""Recognizes the form of a column's times, and gives the expression that reads them if a source can't."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.advice.quoting import quoted
from tailrace.sources.time_zones import has_zone

DateOrder = Literal["day", "month"]
"""The first part of a date such as 03/04/2026."""

_LEAST_SHARE = 0.5
_ISO = r"^\s*\d{4}-\d\d-\d\d([T ]\d\d:?\d\d(:?\d\d([.,]\d+)?)?([zZ]|[+-]\d\d(:?\d\d)?)?)?\s*$"
_DATE = r"^\s*(?P<first>\d{{1,2}})\{0}(?P<second>\d{{1,2}})\{0}\d{{4}}(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?\s*$"
_SEPARATORS = "./-"
_INTEGER, _NUMBER = r"^\s*\d{9,18}\s*$", r"^\s*\d{9,18}(\.\d+)?\s*$"
_MOST_MONTHS = 12
_CENTURY_S = 946_684_800, 4_102_444_800
_UNITS = {"seconds": 1, "milliseconds": 1000, "microseconds": 1_000_000, "nanoseconds": 1_000_000_000}
_READ_BY = {
    "seconds": "cast({0} as bigint) * 1000",
    "microseconds": "cast({0} as bigint) div 1000",
    "nanoseconds": "cast({0} as bigint) div 1000000",
}


@dataclass(frozen=True)
class TimeForm:
    """The form of the times of a column.

    Attributes
    ----------
    words : str
        The form in words.
    share : float
        The share of the column's values that are times of this form.
    is_local : bool
        Whether some times have no zone, so that a time zone has to be declared.
    is_mixed : bool
        Whether other times have a zone.
    read_by : str or None
        The expression that gives the times from the column `{0}`; None if a source can read the column directly.
    is_ambiguous : bool
        Whether no value distinguishes days from months, so that only the user knows.
    is_count : bool
        Whether they are counts of seconds or smaller units, which any number could be.
    """

    words: str
    share: float
    is_local: bool
    read_by: str | None = None
    is_ambiguous: bool = False
    is_count: bool = False
    is_mixed: bool = False

    def expression(self, name: str) -> str | None:
        """Return the expression that gives the times of a column; None if a source can read it directly."""
        return None if self.read_by is None else self.read_by.format(quoted(name))


def time_form(column: pa.ChunkedArray, order: DateOrder | None = None) -> TimeForm | None:
    """Return the form of a column's times; None if less than half of its values are times.

    `order` is the user's choice for dates such as 03/04/2026.
    """
    dtype, values = column.type, column.drop_null()
    if pa.types.is_timestamp(dtype):
        words = f"timestamps {'in UTC' if dtype.tz else 'without a zone'}"
        return TimeForm(words, 1.0, is_local=dtype.tz is None)
    if pa.types.is_date(dtype):
        return TimeForm("dates", 1.0, is_local=True, read_by="concat(cast({0} as string), 'T00:00:00')")
    if not len(values):
        return None
    if pa.types.is_integer(dtype) or pa.types.is_floating(dtype):
        return _counts(np.asarray(values.combine_chunks()).astype(float), pa.types.is_floating(dtype))
    if not pa.types.is_string(dtype) and not pa.types.is_large_string(dtype):
        return None
    texts = values.cast(pa.string())
    return _iso(texts) or _dates(texts, order) or _texts_of_counts(texts)


def _iso(texts: pa.ChunkedArray) -> TimeForm | None:
    is_time = pc.match_substring_regex(texts, _ISO)
    if (share := _share(is_time)) < _LEAST_SHARE:
        return None
    zoned = has_zone(texts.filter(is_time).combine_chunks())
    words = "with a zone" if zoned.all() else "some with a zone, some without" if zoned.any() else "without a zone"
    is_mixed = bool(zoned.any() and not zoned.all())
    return TimeForm(f"ISO 8601, {words}", share, is_local=not zoned.all(), is_mixed=is_mixed)


def _dates(texts: pa.ChunkedArray, order: DateOrder | None) -> TimeForm | None:
    for separator in _SEPARATORS:
        pattern = _DATE.format(separator)
        is_date = pc.match_substring_regex(texts, pattern)
        if (share := _share(is_date)) < _LEAST_SHARE:
            continue
        parts = pc.extract_regex(texts.filter(is_date), pattern).combine_chunks()
        first, second = (np.asarray(parts.field(name).cast(pa.int64())) for name in ("first", "second"))
        shown = {
            name
            for name, numbers in (("day", first), ("month", second))
            if (numbers > _MOST_MONTHS).any()  # so this part is the day
        }
        known: str | None = order or (next(iter(shown)) if len(shown) == 1 else None)
        known_order: DateOrder = "month" if known == "month" else "day"
        words = f"dates such as {texts.filter(is_date)[0].as_py().strip()}, {known_order} first"
        read_by = _reading(separator, known_order)
        return TimeForm(words, share, is_local=True, read_by=read_by, is_ambiguous=known is None)
    return None


def _reading(separator: str, order: DateOrder) -> str:
    """Return the expression that writes dates of this form, with or without a time, as ISO 8601."""

    def part(number: int) -> str:
        return f"split_part(trim({{0}}), '{separator}', {number})"

    day, month = (1, 2) if order == "day" else (2, 1)
    year, of_month, of_day = (part(number) for number in (3, month, day))
    date = f"left({year}, 4), '-', lpad({of_month}, 2, '0'), '-', lpad({of_day}, 2, '0')"
    return f"concat({date}, if(contains({{0}}, ':'), concat('T', regexp_extract({{0}}, '([0-9][0-9]:.*)$', 1)), ''))"


def _texts_of_counts(texts: pa.ChunkedArray) -> TimeForm | None:
    is_count = pc.match_substring_regex(texts, _NUMBER)
    if _share(is_count) < _LEAST_SHARE:
        return None
    counts = texts.filter(is_count)
    is_whole = pc.all(pc.match_substring_regex(counts, _INTEGER)).as_py()
    numbers = pc.utf8_trim_whitespace(counts).cast(pa.float64())
    form = _counts(np.asarray(numbers.combine_chunks()), not is_whole)
    if form is None:
        return None
    read_by = form.read_by or "cast({0} as bigint)"
    return TimeForm(form.words, form.share * _share(is_count), is_local=False, read_by=read_by, is_count=True)


def _counts(numbers: np.ndarray[tuple[int], np.dtype[np.float64]], has_fractions: bool) -> TimeForm | None:
    for unit, size in _UNITS.items():
        share = float(np.mean((numbers >= _CENTURY_S[0] * size) & (numbers < _CENTURY_S[1] * size)))
        if share < _LEAST_SHARE:
            continue
        if has_fractions and unit != "seconds":
            return None
        read_by = "cast(cast({0} as double) * 1000 as bigint)" if has_fractions else _READ_BY.get(unit)
        return TimeForm(f"{unit} since 1970", share, is_local=False, read_by=read_by, is_count=True)
    return None


def _share(is_such: pa.ChunkedArray) -> float:
    return float(pc.mean(is_such.cast(pa.float64())).as_py() or 0.0)
