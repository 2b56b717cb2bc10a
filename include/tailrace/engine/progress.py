"""The progress of a stream, as reported by the rows of a batch in `metrics`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tailrace.ground.time_limits import EARLIEST_MS


@dataclass(frozen=True)
class Progress:
    """The progress as of the newest batch in `metrics`, which all other tables contain, too.

    Attributes
    ----------
    until : int
        The arrival time up to which everything was processed, ms; 0 at first.
    frontier : int
        F, the frontier (the watermark), ms: windows that end at or before it have closed. `EARLIEST_MS` before any.
    ended : bool
        Whether the newest batch ended a bounded run; the stream may still go on.
    newest_tick : int or None
        The newest tick that a tuple or a heartbeat has reached; None before any.
    complete_tick : int or None
        The last complete tick; None before any.
    reached : tuple of int or None
        The arrival time that each stream has reached, ms, in the order of the kind's inputs; None before any.
    newest_event : int or None
        The greatest event time so far, ms; None before any.
    """

    until: int
    frontier: int
    ended: bool
    newest_tick: int | None = None
    complete_tick: int | None = None
    reached: tuple[int | None, ...] = ()
    newest_event: int | None = None

    @property
    def has_open(self) -> bool:
        """Whether a tuple of an open answer has come."""
        return self.newest_event is not None and self.newest_event >= self.frontier

    @staticmethod
    def from_metrics(metrics: Iterable[Mapping[str, Any]]) -> Progress:
        """Read the progress from the rows of one batch in `metrics`, one a task; times in ms."""
        rows = list(metrics)
        names = ("committed", "frontier", "newest_tick", "complete_tick", "newest_event")
        until, frontier, newest, complete, event = (
            max((row[name] for row in rows if row[name] is not None), default=None) for name in names
        )
        reached = tuple(rows[0]["reached"] or ()) if rows else ()  # equal in all tasks
        frontier = EARLIEST_MS if frontier is None else frontier
        return Progress(until or 0, frontier, any(row["flushed"] for row in rows), newest, complete, reached, event)
