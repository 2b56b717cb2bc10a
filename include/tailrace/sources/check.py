"""Checks raw records: valid ones become tuples, the others go to quarantine with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.expressions.projection import Projection
from tailrace.ground.arrow.number_types import cast_values
from tailrace.ground.arrow.times import ARRIVAL_US, EVENT_US
from tailrace.ground.time_limits import LATEST_MS
from tailrace.kind.column_use import AGGREGATION, ColumnUse
from tailrace.kind.inputs import ColumnTypes
from tailrace.sources.carried_columns import OUT_OF_BOUNDS, carried_values
from tailrace.sources.columns import SourceMapping
from tailrace.sources.formats.utf_8 import not_utf_8, without
from tailrace.sources.ids_and_keys import read_ids, read_keys
from tailrace.sources.lookup.lookups import NO_VERSIONS, Versions, look_up
from tailrace.sources.record_times import read_times
from tailrace.sources.sound_times import Sound, Times, select
from tailrace.sources.time_units import is_finer, with_units
from tailrace.sources.verdict import RecordVerdict, nulls, without_nulls

Ints = NDArray[np.int64]

_LAST_ARRIVAL_MS = 253_370_764_799_999  # the end of 9998, so that later ticks and idle times end within 9999


@dataclass(frozen=True)
class Checked:
    """Result of the check: the accepted tuples, and the rejected records with their reasons.

    Attributes
    ----------
    tuples : RecordBatch
        `event_time`, `arrival_time` (int64, ms), `EVENT_US`, `ARRIVAL_US`, `row` (int64), `id`, `key`, the values and
        the carried columns.
    rejected : ndarray, shape (m,)
        Indices into the raw records.
    reasons : list of str, length m
        The reason to reject each of them.
    arrivals : list, length m
        Arrival time of each rejected record in ms; None where it could not be read or is out of range.
    filtered : int
        The number of records that are left out, by the stream's `where` or a lookup.
    sound : Times
        The times of the tuples, and of the filtered records with valid times, which move ticks and t_max, too.
    is_tuple : BooleanArray or None
        Which of these are tuples; None: all.
    unmatched : int
        The number of filtered records that a lookup dropped because they meet no row.
    floored : frozenset of str
        The columns with times that are finer than microseconds, which were floored.
    """

    tuples: pa.RecordBatch
    rejected: Ints
    reasons: list[str]
    arrivals: list[int | None]
    filtered: int
    sound: Times
    is_tuple: pa.BooleanArray | None
    unmatched: int = 0
    floored: frozenset[str] = frozenset()


def check(
    raw: pa.Table,
    columns: SourceMapping,
    row: Ints,
    types: ColumnTypes,
    ingested_ms: int | None,
    coded_keys: bool = False,
    versions: Versions = NO_VERSIONS,
) -> Checked:
    """Split raw records, shape (n,), into tuples and rejects.

    Parameters
    ----------
    row : ndarray, shape (n,)
        The position of each record in its segment.
    types : ColumnTypes
        The types of the tuples' key and carried columns.
    ingested_ms : int or None
        The arrival time of all records, if the source has no column for it. Otherwise the time at which they were read,
        which bounds their arrival times; None if it is unknown.
    coded_keys : bool
        Whether the tuples' keys may stay dictionary-encoded if the source encodes them, with each key once in the
        dictionary.
    versions : dict
        The versions of the lookups' tables that hold for these records.
    """
    verdict = RecordVerdict(raw.num_rows)
    raw = _without_other_texts(verdict, raw)
    verdict.floored |= {name for name in raw.column_names if is_finer(raw.column(name))}
    raw, dropped = with_looked_up(verdict, raw, columns, versions)
    filtered = dropped
    if columns.projection is not None:
        raw, filtered = _project(verdict, raw, columns.projection, dropped)
    event, event_us = read_times(verdict, raw, columns.event_time, columns.timezone, columns.zones)
    if columns.arrival_time is None:
        arrival, arrival_us = (np.full(raw.num_rows, each, np.int64) for each in (ingested_ms, 0))
    else:
        arrival, arrival_us = read_times(verdict, raw, columns.arrival_time, columns.timezone, columns.zones)
    _check_bounds(verdict, columns, event, arrival, ingested_ms)
    times, code, whole = Times(event, arrival, row), verdict.code, raw
    if filtered is not None:
        stays = pa.array(~filtered)
        event, arrival, row, event_us, arrival_us = (select(each, stays) for each in (*times, event_us, arrival_us))
        verdict.code = code[~filtered]
        read = {name for part, name in columns.parts().items() if part not in ("event_time", "arrival_time")}
        raw = raw.select([name for name in raw.column_names if name in read]).filter(stays)
    parts = _parts(verdict, raw, columns, types, coded_keys)
    own = {"event_time": event, "arrival_time": arrival, "row": row, EVENT_US: event_us, ARRIVAL_US: arrival_us}
    tuples = pa.RecordBatch.from_pydict({name: pa.array(each) for name, each in own.items()} | parts)
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
        return Checked(tuples, rejected, reasons, arrivals, 0, accepted, None, 0, frozenset(verdict.floored))
    sound = Sound.from_times(times, filtered, code, verdict.code)
    left_out = int(np.count_nonzero(filtered))
    unmatched = 0 if dropped is None else int(np.count_nonzero(dropped))
    return Checked(tuples, rejected, reasons, arrivals, left_out, *sound, unmatched, frozenset(verdict.floored))


def _parts(
    verdict: RecordVerdict, raw: pa.Table, columns: SourceMapping, types: ColumnTypes, coded_keys: bool
) -> dict[str, pa.Array]:
    """Read the id, the key, the values and the carried columns of records; reject records with unfit ones."""
    parts: dict[str, pa.Array] = {}
    parts["id"] = read_ids(verdict, raw, columns.id, types.id)
    parts["key"] = read_keys(verdict, raw, columns, types, coded_keys)
    values = {use.part: _value(verdict, raw, use) for use in columns.uses if use.dtype is not None}
    for mask, reason in columns.row_check(values) if columns.row_check else ():
        verdict.reject(mask, reason)
    parts |= values
    names, required, aggregated = columns.carried, columns.required, columns.aggregated
    for part, dtype in types.of_carried(names).items():
        name, is_required = names[part], part in required
        if is_required:
            verdict.reject(nulls(raw.column(name).combine_chunks()), f"{name} is null")
        parts[part], outside = carried_values(raw.column(name).combine_chunks(), dtype)
        verdict.reject(outside, f"{name} {OUT_OF_BOUNDS}")
        if (is_required or part in aggregated) and pa.types.is_floating(dtype):
            _reject_infinite(verdict, without_nulls(parts[part], 0.0), name)
    return parts


def with_looked_up(
    verdict: RecordVerdict, raw: pa.Table, columns: SourceMapping, versions: Versions
) -> tuple[pa.Table, NDArray[np.bool_] | None]:
    """Add the columns of the lookups, and return the records that they leave out; None where they leave out none."""
    if not columns.lookups:
        return raw, None
    event = None
    if any(lookup.needs_event_time for lookup in columns.lookups):
        event = read_times(verdict, raw, columns.event_time, columns.timezone, columns.zones).whole
    raw, dropped = look_up(verdict, raw, columns.lookups, versions, event)
    return raw, dropped if dropped.any() else None


def _project(
    verdict: RecordVerdict, raw: pa.Table, projection: Projection, dropped: NDArray[np.bool_] | None
) -> tuple[pa.Table, NDArray[np.bool_] | None]:
    """Derive columns, and reject records for which an expression fails, unless they are left out already.

    Returns
    -------
    raw : Table
    filtered : ndarray, shape (n,), or None
        The records that the condition leaves out; None where it leaves out none.
    """
    projected = projection.run(raw)
    stays = np.ones(raw.num_rows, bool) if dropped is None else ~dropped
    for failure in projected.failures:
        verdict.reject(failure.mask & stays, failure.reason)
    filtered = ~(projected.kept & stays) & (verdict.code == 0)
    return projected.table, filtered if filtered.any() else None


def _check_bounds(
    verdict: RecordVerdict, columns: SourceMapping, event: Ints, arrival: Ints, ingested_ms: int | None
) -> None:
    """Reject records by their times; if the least and the greatest time are valid, so are all others."""
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
    """Reject records with a text that is not UTF-8, which no table takes, and replace the text by null."""
    for index, name in enumerate(raw.column_names):
        column = raw.column(index)
        if (is_other := not_utf_8(column)) is not None:
            verdict.reject(is_other, f"{name} is no UTF-8")
            raw = raw.set_column(index, name, without(column, is_other))
    return raw


def _value(verdict: RecordVerdict, raw: pa.Table, use: ColumnUse) -> pa.Array:
    """Return a column in the type that the kind takes; only doubles that are aggregated may be null."""
    name, dtype, is_double = use.column, use.dtype, pa.types.is_float64(use.dtype)
    column = raw.column(name).combine_chunks()
    if not (is_double and use.way == AGGREGATION):
        verdict.reject(nulls(column), f"{name} is null")
    value = cast_values(column, dtype)
    if is_double:
        _reject_infinite(verdict, without_nulls(value, 0.0), name)
    return value


def _reject_infinite(verdict: RecordVerdict, numbers: NDArray[np.floating[Any]], name: str) -> None:
    if not np.isfinite(numbers).all():
        verdict.reject(np.isnan(numbers), f"{name} is NaN")
        verdict.reject(np.isinf(numbers), f"{name} is infinite")
