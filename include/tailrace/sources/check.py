"""Checks raw records: valid ones become tuples, the others go to quarantine with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.expressions.projection import Projection
from tailrace.ground.time_limits import LATEST_MS
from tailrace.kind.inputs import ColumnTypes
from tailrace.sources.carried_columns import carried_values
from tailrace.sources.columns import Columns
from tailrace.sources.ids_and_keys import read_ids, read_keys
from tailrace.sources.record_times import read_times
from tailrace.sources.time_units import with_units
from tailrace.sources.utf_8 import not_utf_8, without
from tailrace.sources.verdict import RecordVerdict, nulls, without_nulls

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

_LAST_ARRIVAL_MS = 253_370_764_799_999  # the end of 9998: ticks and idle times that follow end within 9999


class Times(NamedTuple):
    """The times (ms) of m records, and their positions in the segment; each of shape (m,)."""

    event: Ints
    arrival: Ints
    row: Ints


class Sound(NamedTuple):
    """The times of the tuples and of the filtered records whose times are sound, and which of them are tuples."""

    times: Times
    is_tuple: pa.BooleanArray

    @staticmethod
    def of(times: Times, filtered: NDArray[np.bool_], by_times: Codes, in_all: Codes) -> Sound:
        """Return those of n records, given the verdicts by their times, and by all else of those not filtered."""
        if not by_times.any() and not in_all.any():
            return Sound(times, pa.array(~filtered))
        code = by_times.copy()
        code[~filtered] = in_all
        is_sound = pa.array(code == 0)
        return Sound(Times(*(select(each, is_sound) for each in times)), pa.array(~filtered).filter(is_sound))


def select(column: NDArray[Any], mask: pa.BooleanArray) -> NDArray[Any]:
    """Return the values of a mask, by Arrow, which is quicker at it than numpy."""
    return np.asarray(pa.array(column).filter(mask))


@dataclass(frozen=True)
class Checked:
    """Result of the check: the accepted tuples, and the rejected records with their reasons.

    Attributes
    ----------
    tuples : RecordBatch
        `event_time`, `arrival_time` (int64, ms), `row` (int64), `id`, `key`, the values and the carried columns.
    rejected : ndarray, shape (m,)
        Indices into the raw records.
    reasons : list of str, length m
        The reason against each rejected record.
    arrivals : list, length m
        Arrival time of each rejected record in ms; None where it could not be read or is out of range.
    filtered : int
        The number of records that are left out by the stream's `where`.
    sound : Times
        Of the tuples and of the filtered records whose times are sound, which move ticks and t_max, too.
    is_tuple : BooleanArray or None
        Which of these are tuples; None: all.
    """

    tuples: pa.RecordBatch
    rejected: Ints
    reasons: list[str]
    arrivals: list[int | None]
    filtered: int
    sound: Times
    is_tuple: pa.BooleanArray | None


def check(
    raw: pa.Table, columns: Columns, row: Ints, types: ColumnTypes, ingested_ms: int | None, coded_keys: bool = False
) -> Checked:
    """Split raw records, shape (n,), into tuples and rejects.

    Parameters
    ----------
    row : ndarray, shape (n,)
        The position of each record in its segment.
    types : ColumnTypes
        The types of the tuples' key and carried columns.
    ingested_ms : int or None
        Arrival time of all records where the source has no column for it; else when they were read, which bounds their
        arrival times. None: that is not known.
    coded_keys : bool
        Whether the tuples' keys may stay dictionary-encoded, each key once in the dictionary, where the source has them
        so.
    """
    verdict = RecordVerdict(raw.num_rows)
    raw = _without_other_texts(verdict, raw)
    filtered = None
    if columns.projection is not None:
        raw, filtered = _project(verdict, raw, columns.projection)
    event = read_times(verdict, raw, columns.event_time, columns.timezone, columns.zones)
    if columns.arrival_time is None:
        arrival = np.full(raw.num_rows, ingested_ms, np.int64)
    else:
        arrival = read_times(verdict, raw, columns.arrival_time, columns.timezone, columns.zones)
    _check_bounds(verdict, columns, event, arrival, ingested_ms)
    times, code, whole = Times(event, arrival, row), verdict.code, raw
    if filtered is not None:
        stays = pa.array(~filtered)
        event, arrival, row = (select(each, stays) for each in times)
        verdict.code = code[~filtered]
        read = {name for part, name in columns.parts().items() if part not in ("event_time", "arrival_time")}
        raw = raw.select([name for name in raw.column_names if name in read]).filter(stays)
    parts: dict[str, pa.Array] = {}
    parts["id"] = read_ids(verdict, raw, columns.id, types.id)
    parts["key"] = read_keys(verdict, raw, columns.key, types, coded_keys)
    value_of = partial(_value, verdict, raw, nullable=columns.nullable)
    values = {part: value_of(columns.values[part], dtype) for part, dtype in columns.value_types().items()}
    for mask, reason in columns.row_check(values) if columns.row_check else ():
        verdict.reject(mask, reason)
    parts |= values
    for part, dtype in types.of_carried(columns.carried).items():
        name = columns.carried[part]
        parts[part], outside = carried_values(raw.column(name).combine_chunks(), dtype)
        verdict.reject(outside, f"{name} out of bounds: a date or a timestamp lies in the years 1 to 9999")
        if columns.finite and pa.types.is_floating(dtype):
            _reject_infinite(verdict, without_nulls(parts[part], 0.0), name)
    tuples = pa.RecordBatch.from_pydict(
        {"event_time": pa.array(event), "arrival_time": pa.array(arrival), "row": pa.array(row), **parts}
    )
    rejected = np.flatnonzero(verdict.code)
    if len(rejected):
        tuples = tuples.filter(pa.array(verdict.code == 0))
    reasons = [verdict.reasons[code - 1] for code in verdict.code[rejected].tolist()]
    arrivals = [each if 0 < each <= LATEST_MS else None for each in arrival[rejected].tolist()]
    rejected = rejected if filtered is None else np.flatnonzero(~filtered)[rejected]
    for time in (columns.event_time, columns.arrival_time):
        if time is not None and len(rejected):
            reasons = with_units(reasons, whole.column(time).take(pa.array(rejected)), time)
    if filtered is None:
        accepted = Times(*(np.asarray(tuples.column(name)) for name in ("event_time", "arrival_time", "row")))
        return Checked(tuples, rejected, reasons, arrivals, 0, accepted, None)
    sound = Sound.of(times, filtered, code, verdict.code)
    left_out = int(np.count_nonzero(filtered))
    return Checked(tuples, rejected, reasons, arrivals, left_out, *sound)


def _project(
    verdict: RecordVerdict, raw: pa.Table, projection: Projection
) -> tuple[pa.Table, NDArray[np.bool_] | None]:
    """Derive columns, and reject the records for which an expression fails.

    Returns
    -------
    raw : Table
    filtered : ndarray, shape (n,), or None
        The records that the condition leaves out; None where it leaves out none.
    """
    projected = projection.run(raw)
    for failure in projected.failures:
        verdict.reject(failure.mask, failure.reason)
    filtered = ~projected.kept & (verdict.code == 0)
    return projected.table, filtered if filtered.any() else None


def _check_bounds(
    verdict: RecordVerdict, columns: Columns, event: Ints, arrival: Ints, ingested_ms: int | None
) -> None:
    """Reject records by their times; where the least and the greatest of all are sound, no record is looked at."""
    if not len(event):
        return
    first, last, arrived, newest = map(int, (event.min(), event.max(), arrival.min(), arrival.max()))
    name = columns.arrival_time
    if arrived < 0 or newest > _LAST_ARRIVAL_MS:
        is_outside = (arrival < 0) | (arrival > _LAST_ARRIVAL_MS)
        verdict.reject(is_outside, f"{name} out of bounds: an arrival time lies between 1970 and 9998")
    if name is not None and ingested_ms is not None and newest > ingested_ms + columns.skew_ms:
        is_future = arrival > ingested_ms + columns.skew_ms
        verdict.reject(is_future, f"{name} out of bounds: later than the clock when it was read")
    name = columns.event_time
    if first < columns.earliest_ms:
        verdict.reject(event < columns.earliest_ms, f"{name} out of bounds: before the earliest accepted")
    if last - columns.ahead_ms > arrived:
        # Subtracted from the event time: the sum of arrival and ahead_ms could overflow.
        is_ahead = event - columns.ahead_ms > arrival
        verdict.reject(is_ahead, f"{name} out of bounds: too far ahead of arrival")
    if last > columns.latest_ms:
        verdict.reject(event > columns.latest_ms, f"{name} out of bounds: its last window ends after 9999")


def _without_other_texts(verdict: RecordVerdict, raw: pa.Table) -> pa.Table:
    """Reject records with a text that is no UTF-8, which no table takes; it is null from here on."""
    for place, name in enumerate(raw.column_names):
        column = raw.column(place)
        if (is_other := not_utf_8(column)) is not None:
            verdict.reject(is_other, f"{name} is no UTF-8")
            raw = raw.set_column(place, name, without(column, is_other))
    return raw


def _value(verdict: RecordVerdict, raw: pa.Table, name: str, dtype: pa.DataType, nullable: bool) -> pa.Array:
    """Return a column of the kind's own in the type that the kind takes, with the nulls that doubles may be."""
    column, is_double = raw.column(name).combine_chunks(), pa.types.is_float64(dtype)
    if not (nullable and is_double):
        verdict.reject(nulls(column), f"{name} is null")
    value = column.cast(dtype, safe=False)
    if is_double:
        _reject_infinite(verdict, without_nulls(value, 0.0), name)
    return value


def _reject_infinite(verdict: RecordVerdict, numbers: NDArray[np.floating[Any]], name: str) -> None:
    if not np.isfinite(numbers).all():
        verdict.reject(np.isnan(numbers), f"{name} is NaN")
        verdict.reject(np.isinf(numbers), f"{name} is infinite")
