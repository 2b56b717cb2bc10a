"""Reads the progress of each stream of a query, its late tuples by segment, and which stream holds back others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.arrow.columns import Ints
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.ground.words import counted
from tailrace.panels.holding import StreamWait, what_holds
from tailrace.panels.query_view import QueryView
from tailrace.panels.read_segments import ReadSegments, late_by_segment, read_segments
from tailrace.storage.checkpoint import check_journal
from tailrace.storage.journal import Journal, LogPosition
from tailrace.storage.progress import read_progress
from tailrace.storage.tables import Tables, within
from tailrace.tables.stream import LATE

MOST_ROWS = 1_000_000
"""The most rows of the table `late` in a range that are counted by file."""

_NO_LATE = LATE.empty(["stream", "arrived", "tuples"])


@dataclass(frozen=True)
class StreamProgress:
    """A stream's progress.

    Attributes
    ----------
    segments : ReadSegments
    late, late_of_directories : ndarray, shape (n,), or None
        The late tuples of the range by segment: in ticks that only one file has, or only files of one directory. None
        if there are too many rows.
    reached : int or None
        The arrival time that it has reached, ms.
    is_idle, is_holding : bool
        Whether the stream is recorded as idle, so that no tick waits for it; and whether others wait for it.
    """

    name: str
    segments: ReadSegments
    late: Ints | None
    late_of_directories: Ints | None
    reached: int | None
    is_idle: bool
    is_holding: bool


class SourceProgress(NamedTuple):
    """The progress of all streams; `notes` explain unknown values, `holding` says what holds the query back."""

    streams: list[StreamProgress]
    holding: str | None
    notes: list[str]


def read_streams(view: QueryView, late: pa.Table | None, batches: int, waiting: int) -> SourceProgress:
    """Read how far the streams have come after the first batches, and count late tuples by segment.

    Parameters
    ----------
    late : Table or None
        The result of `late_by_tick`; None where unknown.
    waiting : int
        The number of rows in incomplete ticks.
    """
    names, tick = list(view.query.streams), max(view.query.tick_ms, 1)
    progress, position = read_progress(view.tables), _position(view)
    reached = dict(zip(names, progress.reached if progress else (), strict=False))
    idle = {name for name, stream in position.streams.items() if stream.idle}
    newest_end = {name: BEFORE_ALL if (ms := reached.get(name)) is None else ms + tick for name in names}
    segments = read_segments(view.tables, batches, newest_end)
    states = {name: StreamWait(reached.get(name), segments[name].max_event, name in idle) for name in names}
    held = what_holds(states, waiting, position.quiet)
    notes = []
    streams, unknown = list[StreamProgress](), 0
    for name in names:
        of_files = of_directories = None
        if late is not None:
            mine, read = late.filter(pc.equal(late["stream"], name)), segments[name]
            ends = mine["arrived"].to_numpy(), mine["tuples"].to_numpy()
            of_files, ambiguous = late_by_segment(read, read.file, *ends)
            of_directories, _ = late_by_segment(read, read.directories[1], *ends)
            unknown += ambiguous
        is_idle, is_holding = name in idle, name == held.stream
        streams.append(
            StreamProgress(name, segments[name], of_files, of_directories, reached.get(name), is_idle, is_holding)
        )
    if unknown:
        notes.append(f"{counted(unknown, 'late tuple')} in none of these files: several have rows of the tick")
    return SourceProgress(streams, held.reason, notes)


def _position(view: QueryView) -> LogPosition:
    """Return the state of the log after the newest entry of the journal; the initial state without one."""
    try:
        last = Journal(view.layout.journal).last()
    except (ValueError, TypeError, KeyError):
        check_journal(view.layout, 0)  # raises what is damaged
        raise
    return LogPosition() if last is None else last.position


def late_by_tick(tables: Tables, ends: tuple[int, int], notes: list[str]) -> pa.Table | None:
    """Read the late tuples of a range (from, to], ms, by stream and tick; if too many, add a note and return None."""
    parts, count = [_NO_LATE], 0
    for batch in tables.batches("late", _NO_LATE.column_names, within("arrived", *ends)) if tables.has("late") else ():
        parts.append(batch)
        count += batch.num_rows
        if count > MOST_ROWS:
            notes.append(f"the range has more than {MOST_ROWS:,} rows of late tuples: they are not counted by file")
            return None
    return pa.concat_tables(parts)
