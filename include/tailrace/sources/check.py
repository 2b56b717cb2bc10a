"""Checks raw records: valid ones become tuples, the others go to quarantine with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.key_lists import KEY_PART, key_texts
from tailrace.ground.time_limits import AFTER_ALL, LATEST_MS
from tailrace.kind.inputs import ColumnTypes, RowCheck
from tailrace.sources.carried_columns import carried_values
from tailrace.sources.record_times import read_times
from tailrace.sources.time_units import with_units
from tailrace.sources.utf_8 import not_utf_8, without
from tailrace.sources.verdict import RecordVerdict, nulls, without_nulls

Ints = NDArray[np.int64]

_LAST_ARRIVAL_MS = 253_370_764_799_999  # the end of 9998: ticks and idle times that follow end within 9999


@dataclass(frozen=True)
class Columns:
    """Columns of a source that hold the parts of a tuple, and the bounds of the accepted event times.

    Attributes
    ----------
    key : str, tuple of str or None
        Of several columns the tuple's key is the text of their values, see `ground.key_lists`.
    values : dict
        Columns of the kind's own: name in the tuple → column of the source.
    types : dict
        The Arrow types of these, by name in the tuple: list<double>, binary or string; float64 where none is given.
    row_check : callable or None
        The kind's check of its values, beyond that they are there and, if doubles, finite.
    carried : dict
        Columns that are carried along as they are, null or not: name in the tuple → column of the source.
    earliest_ms, ahead_ms, latest_ms : int
        An event time is accepted from `earliest_ms` up to its arrival time + `ahead_ms`, and up to `latest_ms`: the
        last one whose windows all end at a time that a calendar can print.
    skew_ms : int
        How far clocks may differ. An arrival time is accepted up to so long after the record was read; and for t_max an
        event time counts up to so long after its arrival.
    timezone : str or None
        The time zone of times that state none; None: UTC.
    zones : dict
        Whether the texts of a column of times state their zone, by the first record. Without a `timezone` a record
        whose text does otherwise is rejected: what it means can't be known.
    """

    event_time: str
    arrival_time: str | None
    id: str
    key: str | tuple[str, ...] | None
    values: Mapping[str, str]
    earliest_ms: int
    ahead_ms: int
    latest_ms: int = LATEST_MS
    skew_ms: int = AFTER_ALL
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    row_check: RowCheck | None = None
    carried: Mapping[str, str] = field(default_factory=dict)
    timezone: str | None = None
    zones: Mapping[str, bool] = field(default_factory=dict)

    def value_types(self) -> dict[str, pa.DataType]:
        """Return the Arrow type of each column of the kind's own, by name in the tuple."""
        return {part: self.types.get(part, pa.float64()) for part in self.values}

    @property
    def exact(self) -> frozenset[str]:
        """The source's columns that are carried along, and not computed with in doubles."""
        return frozenset(self.carried.values()) - set(self.values.values())

    def counted_events(self, event_ms: Ints, arrival_ms: Ints) -> Ints:
        """Return the event times as far as they count for t_max, from event and arrival times of tuples, shape (n,)."""
        if not len(event_ms) or int(event_ms.max()) - int(arrival_ms.min()) <= self.skew_ms:
            return event_ms
        return np.minimum(event_ms, arrival_ms + self.skew_ms)

    def named(self) -> dict[str, str]:
        """Return the columns that the source must have, by the part of the tuple that they hold."""
        parts = {"event_time": self.event_time, "arrival_time": self.arrival_time, "id": self.id}
        named = {part: name for part, name in parts.items() if name is not None} | self.key_parts
        return named | dict(self.values) | dict(self.carried)

    @property
    def key_parts(self) -> dict[str, str]:
        """The columns of the key by the part of the tuple: `key`, or of a list `key 1`, `key 2`, …"""
        if isinstance(self.key, tuple):
            return {f"{KEY_PART}{number}": name for number, name in enumerate(self.key, 1)}
        return {} if self.key is None else {"key": self.key}

    def is_name(self, part: str) -> bool:
        """Test whether a part of the tuple is its id, or the key or a part of it: a text or an integer."""
        return part == "id" or part in self.key_parts


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
    """

    tuples: pa.RecordBatch
    rejected: Ints
    reasons: list[str]
    arrivals: list[int | None]


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
    event = read_times(verdict, raw, columns.event_time, columns.timezone, columns.zones)
    if columns.arrival_time is None:
        arrival = np.full(raw.num_rows, ingested_ms, np.int64)
    else:
        arrival = read_times(verdict, raw, columns.arrival_time, columns.timezone, columns.zones)
    _check_bounds(verdict, columns, event, arrival, ingested_ms)
    parts: dict[str, pa.Array] = {}
    id_type = types.id if pa.types.is_null(raw.column(columns.id).type) else None
    parts["id"] = _cast(raw.column(columns.id), id_type)
    verdict.reject(nulls(parts["id"]), f"{columns.id} is null")
    parts["key"] = _keys(verdict, raw, columns.key, types, coded_keys)
    values = {part: _value(verdict, raw, columns.values[part], dtype) for part, dtype in columns.value_types().items()}
    for mask, reason in columns.row_check(values) if columns.row_check else ():
        verdict.reject(mask, reason)
    parts |= values
    for part, dtype in types.of_carried(columns.carried).items():
        name = columns.carried[part]
        parts[part], outside = carried_values(raw.column(name).combine_chunks(), dtype)
        verdict.reject(outside, f"{name} out of bounds: a date or a timestamp lies in the years 1 to 9999")
    tuples = pa.RecordBatch.from_pydict(
        {"event_time": pa.array(event), "arrival_time": pa.array(arrival), "row": pa.array(row), **parts}
    )
    rejected = np.flatnonzero(verdict.code)
    if len(rejected):
        tuples = tuples.filter(pa.array(verdict.code == 0))
    reasons = [verdict.reasons[code - 1] for code in verdict.code[rejected].tolist()]
    for time in (columns.event_time, columns.arrival_time):
        if time is not None and len(rejected):
            reasons = with_units(reasons, raw.column(time).take(pa.array(rejected)), time)
    arrivals = [each if 0 < each <= LATEST_MS else None for each in arrival[rejected].tolist()]
    return Checked(tuples, rejected, reasons, arrivals)


def _keys(
    verdict: RecordVerdict, raw: pa.Table, key: str | tuple[str, ...] | None, types: ColumnTypes, coded: bool
) -> pa.Array:
    """Return the tuples' keys; `coded` is `coded_keys` of `check`."""
    if isinstance(key, tuple):
        parts = (_key(verdict, raw, name, dtype, True) for name, dtype in types.of_keys(key).items())
        texts = key_texts([*parts])
        return texts if coded else texts.dictionary_decode()
    return pa.nulls(raw.num_rows, types.key) if key is None else _key(verdict, raw, key, types.key, coded)


def _key(verdict: RecordVerdict, raw: pa.Table, name: str, dtype: pa.DataType, coded: bool) -> pa.Array:
    column = raw.column(name)
    keys = _coded(column, dtype) if coded and pa.types.is_dictionary(column.type) else _cast(column, dtype)
    verdict.reject(nulls(keys), f"{name} is null")
    return keys


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


def _value(verdict: RecordVerdict, raw: pa.Table, name: str, dtype: pa.DataType) -> pa.Array:
    """Return a column of the kind's own in the type that the kind takes; a missing double is read as 0."""
    column = raw.column(name).combine_chunks()
    verdict.reject(nulls(column), f"{name} is null")
    value = column.cast(dtype, safe=False)
    if not pa.types.is_float64(dtype):
        return value
    numbers = without_nulls(value, 0.0)
    if not np.isfinite(numbers).all():
        verdict.reject(np.isnan(numbers), f"{name} is NaN")
        verdict.reject(np.isinf(numbers), f"{name} is infinite")
    return pa.array(numbers)


def _coded(column: pa.ChunkedArray, dtype: pa.DataType) -> pa.Array:
    """Return dictionary-encoded keys as 32-bit codes into a dictionary of type `dtype` that has each key once."""
    keys = column.combine_chunks()
    dictionary = keys.dictionary.cast(dtype)
    if dictionary.null_count or len(dictionary.unique()) < len(dictionary):
        return _cast(column, dtype)
    return pa.DictionaryArray.from_arrays(keys.indices.cast(pa.int32()), dictionary)


def _cast(column: pa.ChunkedArray, dtype: pa.DataType | None) -> pa.Array:
    """Cast ids or keys to `dtype`; None: integers to int64, all else to text."""
    if dtype is None:
        dtype = pa.int64() if pa.types.is_integer(column.type) else pa.string()
    return pc.cast(column, dtype).combine_chunks()
