"""Selection of the segments of the next batch from each stream's unread ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.sources.reading_progress import remaining
from tailrace.sources.segments import Segment
from tailrace.storage.journal import LogPosition

SEGMENTS = 10_000  # in a batch, however small they are
MOST_WAITING = 2 * SEGMENTS
"""The number of a stream's waiting segments from which on its feed is not polled."""


class Selection(NamedTuple):
    """The segments that a batch takes of one stream.

    Attributes
    ----------
    segments : list of Segment
    rest : list of Segment
        The rest of a segment that was cut; else empty.
    """

    segments: list[Segment]
    rest: list[Segment]

    def first_left(self, unread: deque[Segment]) -> Segment | None:
        """Return the first segment that is in no batch yet; `unread` still begins with the selected ones."""
        return next(iter(self.rest or islice(unread, len(self.segments), len(self.segments) + 1)), None)

    def remove_from(self, unread: deque[Segment]) -> None:
        """Remove the selected segments from the unread ones."""
        for _ in self.segments:
            unread.popleft()
        unread.extendleft(self.rest)


def in_step(
    unread: Mapping[str, deque[Segment]], reached: Sequence[int | None], free: Collection[str] = ()
) -> list[str]:
    """Return the streams from which a batch takes rows, so that no stream gets ahead of the others by arrival time.

    Of the streams with rows left, these are the one that has reached the least arrival time (or none), and the `free`
    ones: their rows arrive when they are planned, so they are never ahead.

    Parameters
    ----------
    reached : sequence of int or None
        The arrival time that each stream has reached, in the order of the streams; or empty.
    """
    at = dict(zip(unread, (BEFORE_ALL if ms is None else ms for ms in reached), strict=False))
    left = {name: at.get(name, BEFORE_ALL) for name, segments in unread.items() if segments}
    least = min((ms for name, ms in left.items() if name not in free), default=BEFORE_ALL)
    return [name for name, ms in left.items() if ms == least or name in free]


def select(unread: Mapping[str, deque[Segment]], names: Sequence[str], room: int) -> dict[str, Selection]:
    """Select segments of the named streams: up to `room` rows in all, shared evenly.

    A stream's unused share goes to the others.
    """
    rows = {name: sum(segment.rows for segment in unread[name]) for name in names}
    count, selections = SEGMENTS, dict.fromkeys(unread, Selection([], []))
    ascending = sorted(names, key=lambda name: rows[name])
    for sharers, name in zip(range(len(names), 0, -1), ascending, strict=True):
        selections[name] = mine = _first(unread[name], room // sharers, count // sharers)
        room -= sum(segment.rows for segment in mine.segments)
        count -= len(mine.segments)
    return selections


def number_segments(
    selections: Mapping[str, Selection], before: LogPosition, stamped: Collection[str], now: int, latest: int
) -> tuple[tuple[Segment, ...], LogPosition]:
    """Number the segments of a batch that is planned at the time `now` (ms) of the driver's clock.

    `latest` is the bound of the arrival times that records bring.

    Returns
    -------
    segments : tuple of Segment
        The segments with their positions in the log, and `now` as the arrival time of `stamped` streams, or else
        `latest`. So clocks are read once, and a segment is always checked in the same way.
    position : LogPosition
        The state of the log after them.
    """
    streams, segments = dict(before.streams), list[Segment]()
    for name, mine in selections.items():
        rows, stamp = streams[name].rows, now if name in stamped else latest
        for segment in mine.segments:
            ordinal = before.segments + len(segments)
            segments.append(replace(segment, stream=name, ordinal=ordinal, position=rows, ingested_ms=stamp))
            rows += segment.rows
        if mine.segments:
            newest = mine.segments[-1]
            streams[name] = replace(
                streams[name],
                rows=rows,
                last_rows_ms=now,
                silent_since_ms=now,
                heartbeat_ms=None,
                idle=False,
                path=newest.path,
                row=newest.first_row + newest.rows,
            )
    if not segments:
        return (), before
    for name, stream in streams.items():
        if not stream.last_rows_ms:  # the silence of a stream without rows begins with the first rows of others
            streams[name] = replace(stream, last_rows_ms=now, silent_since_ms=now)
    position = replace(before, streams=streams, segments=before.segments + len(segments), quiet=False)
    return tuple(segments), position


def _first(unread: deque[Segment], room: int, count: int) -> Selection:
    """Return the first segments that fit into the room; the first one is cut if it alone has too many rows."""
    taken: list[Segment] = []
    for segment in islice(unread, count if room else 0):
        if segment.rows > room:
            if taken:
                break
            return Selection([replace(segment, rows=room)], remaining([segment], segment.first_row + room))
        taken.append(segment)
        room -= segment.rows
    return Selection(taken, [])
