"""How far a stream has come, by its tables. No Spark."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.dataset as ds

from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables


@dataclass(frozen=True)
class Progress:
    """As of the last batch that every table has: one that is in `metrics` is in all of them.

    Attributes
    ----------
    until : int
        The point of arrival time up to which everything was taken in, ms; 0 before anything was.
    frontier : int
        F: windows that end at or before it have closed.
    ended : bool
        Whether a bounded run has ended the stream.
    """

    until: int
    frontier: int
    ended: bool

    @staticmethod
    def read(layout: Layout) -> Progress | None:
        """None where the stream has no table yet."""
        tables = Tables(layout)
        if not tables.has("metrics"):
            return None
        last = tables.greatest("metrics", "batch")
        if last is None:
            return Progress(0, 0, False)
        rows = tables.read("metrics", ["committed", "frontier", "flushed"], ds.field("batch") == last).to_pylist()
        until, frontier = (max((row[name] or 0 for row in rows), default=0) for name in ("committed", "frontier"))
        return Progress(until, frontier, any(row["flushed"] for row in rows))


def committed_until(layout: Layout) -> int | None:
    """The arrival time in ms up to which stream and history have committed; None where the query never ran."""
    found = Progress.read(layout)
    return None if found is None or not found.until else found.until
