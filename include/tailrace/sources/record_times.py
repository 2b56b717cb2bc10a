"""Reads the times of records as epoch milliseconds in UTC, and the microseconds after them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tailrace.ground.arrow.columns import Ints
from tailrace.ground.time_limits import LATEST_MS
from tailrace.sources.iso_times import instants
from tailrace.sources.local_times import localised
from tailrace.sources.time_zones import has_zone
from tailrace.sources.verdict import RecordVerdict, nulls, without_nulls

_MOST_MS = np.iinfo(np.int64).max // 1000 - 1
_PER_MS = {"ms": 1, "us": 1000, "ns": 1_000_000}


class ReadTimes(NamedTuple):
    """n times: milliseconds since 1970, floored, and the microseconds after these, 0 to 999; shapes (n,)."""

    ms: Ints
    us: Ints

    @property
    def whole(self) -> Ints:
        """The times in microseconds; only for valid times, as others could overflow."""
        return np.clip(self.ms, -_MOST_MS, _MOST_MS) * 1000 + self.us

    @staticmethod
    def from_values(values: Ints, unit: str) -> ReadTimes:
        """Split times that are counted in a unit; finer ones are floored to microseconds."""
        if unit == "s":  # clipped, since the product could overflow into the accepted times
            values, unit = np.clip(values, -LATEST_MS, LATEST_MS) * 1000, "ms"
        if unit == "ms":
            return ReadTimes(values, np.zeros(len(values), np.int64))
        ms = values // _PER_MS[unit]
        rest = values - ms * _PER_MS[unit]
        return ReadTimes(ms, rest if unit == "us" else rest // 1000)


def read_times(
    verdict: RecordVerdict, raw: pa.Table, name: str, timezone: str | None, zones: Mapping[str, bool]
) -> ReadTimes:
    """Return the times of a column, and reject a time that is null, unreadable or of an unknown zone.

    `timezone` and `zones` are as in `SourceMapping`.
    """
    value = _utc_or_local(verdict, raw, name)
    column = raw.column(name)
    if pa.types.is_integer(column.type) or (timezone is None and name not in zones):
        return value
    if pa.types.is_timestamp(column.type):
        is_local = np.full(raw.num_rows, timezone is not None and column.type.tz is None)
    else:
        is_local = ~has_zone(column.combine_chunks())
        if timezone is None:
            stated = zones[name]
            fault = (
                "has no zone, and the first record has one" if stated else "has a zone, and the first record has none"
            )
            verdict.reject(is_local == stated, f"{name} {fault}: timezone says what times without one mean")
            return value
    if timezone is not None and is_local.any():
        utc, gap = localised(value.ms, timezone)
        verdict.reject(gap & is_local, f"{name} is no time in {timezone}: clocks went forward then")
        value = value._replace(ms=np.where(is_local, utc, value.ms))
    return value


def _utc_or_local(verdict: RecordVerdict, raw: pa.Table, name: str) -> ReadTimes:
    """Return the times of a column, in UTC or its own zone; reject unreadable times."""
    column = raw.column(name).combine_chunks()
    missing = nulls(column)
    verdict.reject(missing, f"{name} is null")
    if pa.types.is_string(column.type):
        column, are_floored = instants(column)
        verdict.floored |= {name} if are_floored else set()
        verdict.reject(
            nulls(column) & ~missing,
            f"{name} is no time that could be read: ISO 8601, from 1678 to 2261",
        )
    unit = column.type.unit if pa.types.is_timestamp(column.type) else "ms"
    return ReadTimes.from_values(without_nulls(column.cast(pa.int64()), 0), unit)
