"""The progress of a stream, read from its tables. No Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.dataset as ds

from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables


@dataclass(frozen=True)
class Progress:
    """The progress as of the newest batch in `metrics`, which all other tables hold, too.

    Attributes
    ----------
    until : int
        The point of arrival time up to which everything was taken in, ms; 0 before anything was.
    frontier : int
        F, the frontier (the watermark), ms: windows that end at or before it have closed.
    ended : bool
        True if a bounded run has ended the stream.
    newest_tick : int or None
        The newest tick that a tuple or a heartbeat has reached; None before any.
    complete_tick : int or None
        The last complete tick; None before any.
    reached : tuple of int or None
        The arrival time that each stream has reached, ms, in the order of the kind's inputs; None before any.
    """

    until: int
    frontier: int
    ended: bool
    newest_tick: int | None = None
    complete_tick: int | None = None
    reached: tuple[int | None, ...] = ()

    @staticmethod
    def read(layout: Layout) -> Progress | None:
        """Read the progress; None where the table `metrics` does not exist yet."""
        tables = Tables(layout)
        if not tables.has("metrics"):
            return None
        last = tables.greatest("metrics", "batch")
        if last is None:
            return Progress(0, 0, False)
        columns = ["committed", "newest_tick", "complete_tick", "frontier", "flushed", "reached"]
        return Progress.of(tables.read("metrics", columns, ds.field("batch") == last).to_pylist())

    @staticmethod
    def of(metrics: Iterable[Mapping[str, Any]]) -> Progress:
        """Take the progress from the rows of one batch in `metrics`, one a task; times in ms."""
        rows = list(metrics)
        until, frontier = (max((row[name] or 0 for row in rows), default=0) for name in ("committed", "frontier"))
        newest, complete = (
            max((row[name] for row in rows if row[name] is not None), default=None)
            for name in ("newest_tick", "complete_tick")
        )
        reached = tuple(rows[0]["reached"] or ()) if rows else ()  # alike in all tasks
        return Progress(until, frontier, any(row["flushed"] for row in rows), newest, complete, reached)


def committed_until(layout: Layout) -> int | None:
    """The arrival time in ms up to which stream and history have committed; None where nothing is committed yet."""
    progress = Progress.read(layout)
    return None if progress is None or not progress.until else progress.until
