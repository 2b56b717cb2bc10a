"""Finds the stream that holds back the ticks, or the frontier, of a query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tailrace.ground.duration import format_duration, format_time


class StreamWait(NamedTuple):
    """The progress of one stream.

    Attributes
    ----------
    reached : int or None
        The arrival time that the stream has reached, ms; None at first.
    max_event : int or None
        The greatest event time of its tuples, ms.
    is_idle : bool
        Whether the stream is recorded as idle, so that no tick waits for it.
    """

    reached: int | None
    max_event: int | None
    is_idle: bool


class Holding(NamedTuple):
    """The stream that holds the others back (None if none does), and the reason in words."""

    stream: str | None
    reason: str | None


def what_holds(streams: Mapping[str, StreamWait], waiting: int, is_quiet: bool) -> Holding:
    """Return the stream that holds a query back.

    Ticks wait for the stream that is not idle and has reached the least arrival time. If all have reached the same, the
    frontier follows the one with the least event time. With a single stream only the newest tick waits.

    Parameters
    ----------
    waiting : int
        The number of rows in incomplete ticks.
    is_quiet : bool
        Whether all streams are silent, so that windows are closed.
    """
    active = {name: state for name, state in streams.items() if not state.is_idle} or dict(streams)
    rows = "1 row waits" if waiting == 1 else f"{waiting:,} rows wait"
    if is_quiet or not any(state.reached is not None for state in active.values()):
        return Holding(None, None)
    if len(active) > 1:
        for waits, column in (("the ticks wait", "reached"), ("the frontier waits", "max_event")):
            if (holder := _last(active, waits, column)) is not None:
                return Holding(holder.stream, f"{holder.reason}; {rows}" if waiting else holder.reason)
    if not waiting:
        return Holding(None, None)
    reached = max(state.reached for state in active.values() if state.reached is not None)
    what = "for a later arrival or a heartbeat, which completes their tick"
    return Holding(None, f"{rows} {what}; arrival has reached {format_time(reached)}")


def _last(active: Mapping[str, StreamWait], waits: str, column: str) -> Holding | None:
    """Return the stream that is behind the others in a column; None without one."""
    times = {name: getattr(state, column) for name, state in active.items()}
    missing = next((name for name, time in times.items() if time is None), None)
    if missing is not None:
        return Holding(missing, f"{waits} for stream {missing}, which has brought no tuple yet")
    last, first = min(times, key=times.__getitem__), max(times, key=times.__getitem__)
    if times[last] == times[first]:
        return None
    what = "it has reached arrival" if column == "reached" else "its newest event time is"
    behind = format_duration(times[first] - times[last])
    return Holding(
        last, f"{waits} for stream {last}: {what} {format_time(times[last])}, {behind} behind stream {first}"
    )
