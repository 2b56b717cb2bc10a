"""Columns of fixes, the positions that taxis report, and the stream that they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from generators.replay import TIME

SCHEMA = pa.schema(
    {
        "event_time": TIME,
        "arrival_time": TIME,
        "id": pa.string(),
        "taxi": pa.int32(),
        "lon": pa.float64(),
        "lat": pa.float64(),
    }.items()
)
"""An id is the taxi and the number of its fix, from 0: `1131-000042`. Longitude and latitude are degrees."""

_DIGITS = 6  # of a fix's number in an id, at least


class Fixes(NamedTuple):
    """n fixes in columns, each an array of shape (n,).

    Attributes
    ----------
    event_ms, arrival_ms : ndarray of int64
        Epoch milliseconds.
    taxi, number : ndarray of integers
        The taxi, and which of its fixes this is, from 0.
    lon, lat : ndarray of float64
        Degrees.
    """

    event_ms: NDArray[np.int64]
    arrival_ms: NDArray[np.int64]
    taxi: NDArray[np.int64]
    number: NDArray[np.int64]
    lon: NDArray[np.float64]
    lat: NDArray[np.float64]

    @property
    def rows(self) -> int:
        return len(self.event_ms)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Fixes:
        """Select rows by index, mask or slice."""
        return Fixes._make(column[rows] for column in self)

    def as_batch(self) -> pa.RecordBatch:
        """Return the fixes as tuples of a stream, with the columns of `SCHEMA`."""
        taxi = pa.array(self.taxi, pa.int32())
        number = pc.utf8_lpad(pa.array(self.number).cast(pa.string()), _DIGITS, "0")
        columns = [
            pa.array(self.event_ms, TIME),
            pa.array(self.arrival_ms, TIME),
            pc.binary_join_element_wise(taxi.cast(pa.string()), number, "-"),
            taxi,
            pa.array(self.lon),
            pa.array(self.lat),
        ]
        return pa.record_batch(columns, schema=SCHEMA)


def concat(parts: Sequence[Fixes]) -> Fixes:
    """Concatenate fixes; at least one part is given."""
    return Fixes._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


def no_fixes() -> Fixes:
    return Fixes._make(np.empty(0, kind) for kind in (np.int64, np.int64, np.int64, np.int64, np.float64, np.float64))


def numbers(taxi: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of earlier rows of the same taxi, for each row; shape (n,)."""
    order = np.argsort(taxi, kind="stable")
    in_order = taxi[order]
    result = np.empty(len(taxi), np.int64)
    result[order] = np.arange(len(taxi)) - np.searchsorted(in_order, in_order)
    return result
