"""Ticks: the steps of arrival time at whose ends a query decides which windows close."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SCHEMA = pa.schema([(name, pa.int64()) for name in ("tick", "end", "count", "min_event", "max_event")])


@dataclass(frozen=True)
class Ticks:
    """Statistics of n ticks in order, over the whole query and not a single task.

    Attributes
    ----------
    tick : ndarray, shape (n,)
        Strictly increasing numbers; ticks without tuples do not exist.
    end : ndarray, shape (n,)
        The point of arrival time, in ms, before which all tuples of the tick (and of those before it) arrived.
    count, min_event, max_event : ndarray, shape (n,)
        The number of tuples, and their smallest and largest event time in ms.
    """

    tick: NDArray[np.int64]
    end: NDArray[np.int64]
    count: NDArray[np.int64]
    min_event: NDArray[np.int64]
    max_event: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.tick)

    def __getitem__(self, part: slice | NDArray[np.bool_]) -> Ticks:
        return Ticks(*(column[part] for column in self.columns()))

    def columns(self) -> tuple[NDArray[np.int64], ...]:
        return (self.tick, self.end, self.count, self.min_event, self.max_event)

    def to_arrow(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pa.array(column) for column in self.columns()], schema=SCHEMA)

    @staticmethod
    def from_arrow(batch: pa.RecordBatch) -> Ticks:
        return Ticks(*(np.asarray(batch.column(name)) for name in SCHEMA.names))


def number(
    arrival_ms: NDArray[np.int64], position: NDArray[np.int64], tick_ms: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Assign to each tuple of a segment its tick and the end of that tick; tuples are in order of position.

    Where arrival goes backwards, a tuple belongs to the largest tick so far; `follow` does the same from
    segment to segment. With tick 0 each tuple is a tick of its own, numbered by its position in the log.

    Returns
    -------
    tick, end : ndarray, shape (n,)
        Both are monotone: they never fall.
    """
    latest = np.maximum.accumulate(arrival_ms) if len(arrival_ms) else arrival_ms
    if tick_ms == 0:
        return position, latest + 1
    tick = latest // tick_ms
    return tick, (tick + 1) * tick_ms


def summarise(tick: NDArray[np.int64], end: NDArray[np.int64], event_ms: NDArray[np.int64]) -> Ticks:
    """Compute the statistics of a segment's ticks; `tick` must not fall."""
    if not len(tick):
        empty = np.zeros(0, np.int64)
        return Ticks(empty, empty, empty, empty, empty)
    first = np.flatnonzero(np.r_[True, tick[1:] != tick[:-1]])
    return Ticks(
        tick[first],
        end[first] if len(first) == len(tick) else np.maximum.reduceat(end, first),
        np.diff(np.r_[first, len(tick)]),
        np.minimum.reduceat(event_ms, first),
        np.maximum.reduceat(event_ms, first),
    )


def follow(ticks: Ticks, tick: int, end: int) -> Ticks:
    """Raise a segment's ticks to at least `tick`, the largest one before the segment, which ends at `end`."""
    late = ticks.tick <= tick
    if not late.any() and (not len(ticks) or ticks.end[0] >= end):
        return ticks
    moved = Ticks(np.maximum(ticks.tick, tick), np.maximum(ticks.end, end), *ticks.columns()[2:])
    return merge([moved])


def merge(parts: list[Ticks]) -> Ticks:
    """Merge consecutive sequences of ticks into one; equal ticks become one."""
    tick, end, count, low, high = (
        np.concatenate(columns) for columns in zip(*(p.columns() for p in parts), strict=True)
    )
    if not len(tick):
        return Ticks(tick, end, count, low, high)
    first = np.flatnonzero(np.r_[True, tick[1:] != tick[:-1]])
    return Ticks(
        tick[first],
        np.maximum.reduceat(end, first),
        np.add.reduceat(count, first),
        np.minimum.reduceat(low, first),
        np.maximum.reduceat(high, first),
    )
