"""Reads when answers were emitted, by the wall clock, and so how far a stream was behind."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.panels.panel import Shown
from tailrace.panels.series import downsample
from tailrace.storage.tables import Tables, within

MOST_ROWS = 500_000
"""The most answers of a range whose times are read singly; beyond, the first and last ones of each file are used."""

_TIMES = ["as_of", "emitted_at"]


class WallClock(Shown):
    """For each point, the arrival time up to which answers include tuples, and the latest time of their emission."""

    at: list[int]
    emitted_at: list[int | None]


def read_wall_clock(tables: Tables, low: int, high: int) -> WallClock:
    """Read when the answers for arrival times in (low, high] were emitted; ms."""
    rows = pa.table({name: pa.array([], pa.int64()) for name in _TIMES})
    if tables.has("results"):
        files = pa.table(tables.open("results").get_add_actions(flatten=True))
        files = _overlapping(files, low, high)
        count = pc.sum(files["num_records"]).as_py() or 0
        if count > MOST_ROWS:
            rows = _of_files(files)
        elif count:
            rows = tables.read("results", _TIMES, within("as_of", low, high))
    return WallClock(**downsample(rows, "as_of", {"emitted_at": "max"}))


def _overlapping(files: pa.Table, low: int, high: int) -> pa.Table:
    """Select the files with answers in a range, and those without statistics."""
    if not {"min.as_of", "max.as_of"} <= set(files.column_names):
        return files
    ends = (pc.cast(files[f"{end}.as_of"], pa.timestamp("ms", "UTC"), safe=False) for end in ("max", "min"))
    last, first = (column.cast(pa.int64()) for column in ends)
    return files.filter(pc.fill_null(pc.and_(pc.greater(last, low), pc.less_equal(first, high)), True))


def _of_files(files: pa.Table) -> pa.Table:
    """Return the times of the first and the last answers of files, as far as known from statistics."""
    parts = []
    for end in ("min", "max"):
        names = [f"{end}.{name}" for name in _TIMES]
        if set(names) <= set(files.column_names):
            columns = [pc.cast(files[name], pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64()) for name in names]
            parts.append(pa.table(columns, names=_TIMES))
    return pa.concat_tables(parts) if parts else pa.table({name: pa.array([], pa.int64()) for name in _TIMES})
