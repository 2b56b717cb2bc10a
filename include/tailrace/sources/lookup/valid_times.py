"""The validity of a table's rows: [from, to) of event time, unbounded where null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Ints
from tailrace.ground.errors import refuse
from tailrace.ground.time_limits import LATEST_MS
from tailrace.sources.column_rules import is_text
from tailrace.sources.iso_times import instants

Mask = NDArray[np.bool_]

_ALWAYS = np.iinfo(np.int64)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_S = LATEST_MS // 1000  # in seconds that is the year 9999, in milliseconds 1978
_US_OF = {"s": 1_000_000, "ms": 1000, "us": 1}
_TIMES = "times as timestamps, dates, ISO 8601 texts, or integers of epoch milliseconds"


@dataclass(frozen=True, eq=False)
class ValidTimes:
    """The validity of each row, in microseconds: from `start` on, and before `end`; shape (n,)."""

    start: Ints
    end: Ints

    def take(self, rows: Mask) -> ValidTimes:
        """Select rows by a mask."""
        return ValidTimes(self.start[rows], self.end[rows])

    def holds(self, rows: Ints, times: Ints) -> Mask:
        """Test whether each row is valid at its time."""
        return np.asarray((self.start[rows] <= times) & (times < self.end[rows]))

    def overlap(self, ids: Ints) -> tuple[int, int] | None:
        """Find two rows with the same id that are valid at the same time; ids are given as numbers."""
        rows = np.flatnonzero(self.start < self.end)
        rows = rows[np.lexsort((self.start[rows], ids[rows]))]
        before, after = rows[:-1], rows[1:]
        both = np.flatnonzero((ids[before] == ids[after]) & (self.end[before] > self.start[after]))
        if not len(both):
            return None
        first, second = sorted((int(before[both[0]]), int(after[both[0]])))
        return first, second


def valid_times(where: str, bounds: Sequence[pa.Array | None], names: Sequence[str | None]) -> ValidTimes | None:
    """Read the validity of rows from two columns, each of which may be undeclared; None if both are.

    Raises
    ------
    Refused
        When a value is not a time, or a row ends before it starts.
    """
    start, end = bounds
    present = start if start is not None else end
    if present is None:
        return None
    low = _bounds(f"{where}: {names[0]}", start, len(present), _ALWAYS.min)
    high = _bounds(f"{where}: {names[1]}", end, len(present), _ALWAYS.max)
    if (backwards := np.flatnonzero(low > high)).size:
        row = int(backwards[0]) + 1
        fault = f"row {row} is valid to a time before the one from which it is valid"
        raise refuse(f"{where}: {names[1]}", fault, f"{names[1]} at or after {names[0]}, or null")
    return ValidTimes(low, high)


def _bounds(where: str, column: pa.Array | None, count: int, unbounded: int) -> Ints:
    """Return microseconds; nanoseconds are rounded up, as event times, which are floored, are compared with them."""
    if column is None or pa.types.is_null(column.type):
        return np.full(count, unbounded)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    elif is_text(column.type):
        column = _parsed(where, column.cast(pa.string()))
    elif pa.types.is_floating(column.type):
        column = _whole(where, column)
    if not (pa.types.is_timestamp(column.type) or pa.types.is_integer(column.type)):
        raise refuse(where, f"it is of the type {column.type}", _TIMES)
    known = np.asarray(column.is_valid())
    unit = column.type.unit if pa.types.is_timestamp(column.type) else "ms"
    values = np.asarray(pc.fill_null(column.cast(pa.int64()), 0))
    if pa.types.is_integer(column.type):
        _require_ms(where, values)
    if unit == "ns":
        values = -(-values // 1000)
    else:
        values = np.clip(values, _ALWAYS.min // _US_OF[unit] + 1, _ALWAYS.max // _US_OF[unit]) * _US_OF[unit]
    return np.where(known, values, unbounded)


def _require_ms(where: str, values: Ints) -> None:
    """Refuse integers that are near 1970 as ms: they are epoch seconds, or dates such as 20240101."""
    if (early := np.flatnonzero((values != 0) & (np.abs(values) <= _LATEST_S))).size:
        row = int(early[0])
        fault = f"{values[row]} of row {row + 1} is a time about 1970 in milliseconds"
        raise refuse(where, fault, f"{_TIMES}: it may be one of epoch seconds, or a date such as 2024-01-01")


def _whole(where: str, column: pa.Array) -> pa.Array:
    """Return doubles, which pandas writes for integers with nulls, as integers."""
    values = np.asarray(pc.fill_null(column.cast(pa.float64()), np.nan))
    is_known = ~np.isnan(values)
    if (broken := np.flatnonzero(is_known & ((np.abs(values) >= 2.0**53) | (values != np.rint(values))))).size:
        row = int(broken[0])
        raise refuse(where, f"it is of the type {column.type}, and {values[row]} of row {row + 1} is not whole", _TIMES)
    return pa.array(np.where(is_known, values, 0).astype(np.int64), mask=~is_known)


def _parsed(where: str, texts: pa.Array) -> pa.Array:
    """Read ISO texts; an empty text is null."""
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    times = instants(texts).times
    unread = pc.and_(times.is_null(), texts.is_valid())
    far = {text: _far_us(text) for text in texts.filter(unread).unique().to_pylist()}  # beyond the years of ns
    if (faulty := [text for text, us in far.items() if us is None]) != []:
        row = pc.index(texts, faulty[0]).as_py()
        raise refuse(where, f"{faulty[0]!r} of row {row + 1} is no time", _TIMES)
    replaced = pa.array([far[text] for text in texts.filter(unread).to_pylist()], pa.int64()).cast(times.type)
    return pc.replace_with_mask(times, unread, replaced)


def _far_us(text: str) -> int | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (time.replace(tzinfo=time.tzinfo or UTC) - _EPOCH) // timedelta(microseconds=1)
