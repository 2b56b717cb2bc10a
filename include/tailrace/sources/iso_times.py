"""Reads ISO 8601 texts as instants of the years 1678 to 2261; a text without an offset is in UTC."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Ints

INSTANT = pa.timestamp("us", "UTC")

_EARLIEST_US, _LATEST_US = -9_223_372_036_854_775, 9_223_372_036_854_775
"""The first and the last microsecond that int64 holds in nanoseconds."""

_DAY = r"^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_PLAIN = rf"{_DAY}(?:[T ](?:[01]\d|2[0-3])(?::[0-5]\d(?::[0-5]\d(?:\.\d{{1,6}})?)?)?"
"""The form that Arrow reads, without the offset."""

_WITHOUT_OFFSET = rf"{_PLAIN})?$"
_WITH_OFFSET = rf"{_PLAIN}(?:Z|[-+](?:[01]\d|2[0-3])(?::?[0-5]\d)?))$"

_DATE = r"^(?P<year>\d{4})(?:(?P<sep>[-/.\\ ]?)(?P<month>\d{1,2})(?:(?P<sep2>[-/.\\ ]?)(?P<day>\d{1,2})"
_TIME = r"(?:[T ](?P<hour>\d{1,2})(?:(?P<colon>:?)(?P<minute>\d{1,2})(?:(?P<colon2>:?)(?P<second>\d{1,2})"
_FRACTION = r"(?:\.(?P<fraction>\d*))?)?)?"
_OFFSET = r"\s*(?:Z|(?P<sign>[-+])(?P<ahead>\d{1,2})(?::?(?P<ahead2>\d{1,2}))?)?\s*)?)?)?$"
_FORM = _DATE + _TIME + _FRACTION + _OFFSET

_FINER = r"\.\d{6}\d*[1-9]"

_SECOND_US = 1_000_000

_GREATEST = {"year": 9999, "month": 12, "day": 31, "hour": 23, "minute": 59, "second": 59, "ahead": 23, "ahead2": 59}
_OF_TIME = ("hour", "minute", "second")

_PROBED = 64
"""The number of texts tried first, as Arrow takes long to fail on many."""


class Instants(NamedTuple):
    """The instants of n texts, null for a text that is no time, and whether one was finer than microseconds."""

    times: pa.Array
    are_floored: bool


def instants(texts: pa.Array) -> Instants:
    """Read the instants of texts, floored to microseconds.

    Readers for different forms are tried in turn, the fastest first; each gets the texts that the ones before it left.
    """
    not_plain = None
    texts = pc.utf8_ltrim_whitespace(texts)  # a blank after the comma of a CSV is no fault
    times = pa.nulls(len(texts), INSTANT)
    for read in (_plain, _with_long_fraction, _compact, _by_fields):
        unread = pc.and_(times.is_null(), texts.is_valid())
        if not pc.any(unread).as_py():
            break
        if read is not _plain and not_plain is None:
            not_plain = unread
        times = pc.replace_with_mask(times, unread, read(texts.filter(unread)))
    us = times.cast(pa.int64())
    inside = pc.and_(pc.greater_equal(us, _EARLIEST_US), pc.less_equal(us, _LATEST_US))
    times = pc.if_else(inside, times, pa.scalar(None, INSTANT))
    if not_plain is None:
        return Instants(times, False)
    are_finer = pc.match_substring_regex(texts.filter(pc.and_(not_plain, times.is_valid())), _FINER)
    return Instants(times, bool(pc.any(are_finer).as_py()))


def _plain(texts: pa.Array) -> pa.Array:
    """Read texts of the form that Arrow reads; together if all of them have an offset, or none has."""
    for has_offset in (True, False):
        if _cast(texts[:_PROBED], has_offset) is not None and (times := _cast(texts, has_offset)) is not None:
            return times
    times = pa.nulls(len(texts), INSTANT)
    for has_offset, form in ((True, _WITH_OFFSET), (False, _WITHOUT_OFFSET)):
        some = pc.if_else(pc.match_substring_regex(texts, form), texts, None)
        if (part := _cast(some, has_offset)) is not None:
            times = pc.coalesce(times, part)
    return times


def _cast(texts: pa.Array, has_offset: bool) -> pa.Array | None:
    """Return the instants of texts that all have an offset, or all have none; None if Arrow can't read one of them."""
    try:
        return texts.cast(INSTANT if has_offset else pa.timestamp("us")).cast(pa.int64()).cast(INSTANT)
    except pa.ArrowInvalid:
        return None


def _with_long_fraction(texts: pa.Array) -> pa.Array:
    return _plain(pc.replace_substring_regex(texts, r"(\.\d{6})\d+", r"\1"))


def _compact(texts: pa.Array) -> pa.Array:
    """Read texts without separators, such as 20240501T120000Z."""
    extended = pc.replace_substring_regex(texts, r"^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)", r"\1-\2-\3T\4:\5:\6")
    return _plain(extended)


def _by_fields(texts: pa.Array) -> pa.Array:
    """Read texts of any form, or a mixture of forms."""
    fields = _Fields(pc.extract_regex(texts, _FORM))
    year, month, day, hour, minute, second, ahead, ahead2 = (fields.number(name) for name in _GREATEST)
    months = (year.astype("datetime64[Y]").astype("datetime64[M]") - 1970 * 12) + month - 1
    date = months.astype("datetime64[D]") + day - 1
    is_read = fields.are_well_formed() & (month > 0) & (day > 0) & (date.astype("datetime64[M]") == months)
    ahead = ahead * 60 + ahead2
    seconds = date.astype(np.int64) * 86_400 + hour * 3_600 + minute * 60 + second
    seconds -= np.where(fields.equal("sign", "-"), -ahead, ahead) * 60
    return pa.array(seconds * _SECOND_US + fields.microseconds(), mask=~is_read).cast(INSTANT)


class _Fields:
    """The fields of texts; empty if a text lacks the field."""

    def __init__(self, matches: pa.Array) -> None:
        self.are_matches = np.asarray(matches.is_valid())
        names = [matches.type.field(index).name for index in range(matches.type.num_fields)]
        self.texts = {name: pc.fill_null(pc.struct_field(matches, name), "") for name in names}

    def number(self, name: str) -> Ints:
        """Return a field as numbers; an absent month or day is 1, other absent fields are 0."""
        texts = self.texts[name]
        numbers = np.asarray(pc.binary_join_element_wise("0", texts, "").cast(pa.int64()))
        return np.where(self.equal(name, ""), 1, numbers) if name in ("month", "day") else numbers

    def microseconds(self) -> Ints:
        digits = pc.utf8_slice_codeunits(self.texts["fraction"], 0, 6)
        return np.asarray(pc.utf8_rpad(digits, 6, "0").cast(pa.int64()))

    def equal(self, name: str, text: str) -> NDArray[np.bool_]:
        return np.asarray(pc.equal(self.texts[name], text))

    def are_well_formed(self) -> NDArray[np.bool_]:
        """Test whether a text uses separators consistently, and its fields have two digits if it has no separators."""
        length = {name: np.asarray(pc.utf8_length(self.texts[name])) for name in _GREATEST}
        are_well = self.are_matches.copy()
        for separator, second_one, fields in (("sep", "sep2", ("month", "day")), ("colon", "colon2", _OF_TIME)):
            are_alike = np.asarray(pc.equal(self.texts[separator], self.texts[second_one]))
            are_well &= are_alike | (length[fields[-1]] == 0)
            in_full = np.logical_and.reduce([length[name] % 2 == 0 for name in fields])
            are_well &= in_full | ~self.equal(separator, "")
        are_well &= ~self.equal("sep", "") | (length["month"] == 0) | (length["day"] > 0)  # 202405 is no month
        for name, greatest in _GREATEST.items():
            are_well &= self.number(name) <= greatest
        return are_well
