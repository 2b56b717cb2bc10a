"""Ticks: the steps of arrival time at whose ends a query decides which windows close."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.kernels.arrival_ticks import number_ticks
from tailrace.kernels.library import compiled

SCHEMA = pa.schema([(name, pa.int64()) for name in ("tick", "end", "count", "min_event", "max_event")])


@dataclass(frozen=True)
class Ticks:
    """Statistics of n ticks in order, over all tasks of a query; for one stream, or for s streams.

    Attributes
    ----------
    tick : ndarray, shape (n,)
        Strictly increasing numbers; ticks without tuples do not exist.
    end : ndarray, shape (n,)
        The arrival time (ms) before which all tuples of this tick, and of earlier ones, arrived.
    count, min_event : ndarray, shape (n,)
        The number of tuples, and their smallest event time in ms.
    max_event : ndarray, shape (s, n)
        The largest event time of each stream that counts for t_max, in ms; `BEFORE_ALL` if it brought no tuple.
    """

    tick: NDArray[np.int64]
    end: NDArray[np.int64]
    count: NDArray[np.int64]
    min_event: NDArray[np.int64]
    max_event: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.tick)

    def __getitem__(self, part: slice | NDArray[np.bool_]) -> Ticks:
        return Ticks.from_columns((column[part] for column in self.columns()), self.max_event[:, part])

    @staticmethod
    def from_columns(columns: Iterable[NDArray[np.int64]], max_event: NDArray[np.int64]) -> Ticks:
        """Build the ticks from columns of shape (n,)."""
        tick, end, count, min_event = columns
        return Ticks(tick, end, count, min_event, max_event)

    def columns(self) -> tuple[NDArray[np.int64], ...]:
        """Return the columns of shape (n,)."""
        return (self.tick, self.end, self.count, self.min_event)

    def to_arrow(self) -> pa.RecordBatch:
        """Return the ticks of one stream as a batch."""
        columns = [pa.array(column) for column in (*self.columns(), *self.max_event)]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)

    @staticmethod
    def from_arrow(batch: pa.RecordBatch) -> Ticks:
        *columns, max_event = (np.asarray(batch.column(name)) for name in SCHEMA.names)
        return Ticks.from_columns(columns, max_event[None, :])

    @staticmethod
    def none(streams: int = 1) -> Ticks:
        empty = np.zeros(0, np.int64)
        return Ticks(empty, empty, empty, empty, np.zeros((streams, 0), np.int64))


def number(
    arrival_ms: NDArray[np.int64], position: NDArray[np.int64], tick_ms: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Assign to each tuple of a segment its tick and the end of that tick; tuples are in order of position.

    Where arrival time decreases, a tuple belongs to the largest tick so far; `follow` does the same between segments.
    With `tick_ms` 0 each tuple is its own tick, numbered by its position in the log.

    Returns
    -------
    tick, end : ndarray, shape (n,)
        Both never decrease.
    """
    if tick_ms and (number_all := compiled(number_ticks, len(arrival_ms))) is not None:
        tick, end = np.empty((2, len(arrival_ms)), np.int64)
        number_all(len(arrival_ms), tick_ms, np.ascontiguousarray(arrival_ms, np.int64), tick, end)
        return tick, end
    latest = np.maximum.accumulate(arrival_ms) if len(arrival_ms) else arrival_ms
    if tick_ms == 0:
        return position, end_of(latest, 0)
    tick = latest // tick_ms
    return tick, (tick + 1) * tick_ms


def end_of(arrival_ms: NDArray[np.int64], tick_ms: int) -> NDArray[np.int64]:
    """Return the end of the tick of each arrival time, in ms; shape (n,)."""
    return (arrival_ms // tick_ms + 1) * tick_ms if tick_ms else arrival_ms + 1


def summarise(
    tick: NDArray[np.int64],
    end: NDArray[np.int64],
    event_ms: NDArray[np.int64],
    counted_ms: NDArray[np.int64] | None = None,
) -> Ticks:
    """Compute the statistics of a segment's ticks; `tick` must not decrease.

    `counted_ms` has the event times that count for t_max; by default all of `event_ms`.
    """
    if not len(tick):
        return Ticks.none()
    first = np.flatnonzero(np.r_[True, tick[1:] != tick[:-1]])
    return Ticks(
        tick[first],
        end[first] if len(first) == len(tick) else np.maximum.reduceat(end, first),
        np.diff(np.r_[first, len(tick)]),
        np.minimum.reduceat(event_ms, first),
        np.maximum.reduceat(event_ms if counted_ms is None else counted_ms, first)[None, :],
    )


def follow(ticks: Ticks, tick: int, end: int) -> Ticks:
    """Raise a segment's ticks to at least `tick`, the newest one before the segment; `end` is that tick's end."""
    late = ticks.tick <= tick
    if not late.any() and (not len(ticks) or ticks.end[0] >= end):
        return ticks
    moved = Ticks(
        np.maximum(ticks.tick, tick), np.maximum(ticks.end, end), ticks.count, ticks.min_event, ticks.max_event
    )
    return concatenate([moved])


def concatenate(parts: list[Ticks]) -> Ticks:
    """Concatenate `Ticks` of the same streams, whose numbers must not decrease.

    Rows of the same tick become one: counts are added, and the least `min_event` and the largest `end` and `max_event`
    are kept.
    """
    columns = (np.concatenate(columns) for columns in zip(*(part.columns() for part in parts), strict=True))
    ticks = Ticks.from_columns(columns, np.concatenate([part.max_event for part in parts], axis=1))
    first = np.flatnonzero(np.r_[True, ticks.tick[1:] != ticks.tick[:-1]])
    if len(first) >= len(ticks):
        return ticks
    return Ticks(
        ticks.tick[first],
        np.maximum.reduceat(ticks.end, first),
        np.add.reduceat(ticks.count, first),
        np.minimum.reduceat(ticks.min_event, first),
        np.maximum.reduceat(ticks.max_event, first, axis=1),
    )


def unite(streams: Sequence[Ticks]) -> Ticks:
    """Merge the ticks of s streams by number; each of the `Ticks` is of one stream."""
    if len(streams) == 1:
        return streams[0]
    rows = []
    for index, ticks in enumerate(streams):
        max_event = np.full((len(streams), len(ticks)), BEFORE_ALL)
        max_event[index] = ticks.max_event[0]
        rows.append(Ticks.from_columns(ticks.columns(), max_event))
    order = np.argsort(np.concatenate([ticks.tick for ticks in rows]), kind="stable")
    columns = (np.concatenate(columns)[order] for columns in zip(*(part.columns() for part in rows), strict=True))
    max_event = np.concatenate([part.max_event for part in rows], axis=1)[:, order]
    return concatenate([Ticks.from_columns(columns, max_event)])
