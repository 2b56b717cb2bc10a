"""The facts of a query's tables for its row of Streams: cached until the tables change, and read in the background.

So the page comes at once, however many queries there are and however expensive their tables are to open. Facts that are
older than the page say how old they are.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake.exceptions import DeltaError
from pydantic import Field

from tailrace.console.panel_cache import Versions, versions
from tailrace.correction.promise_state import PromiseState
from tailrace.correction.uncorrected import count_uncorrected
from tailrace.ground.object_path import Location
from tailrace.panels.activity import RecentActivity, read_recent
from tailrace.panels.known_columns import read_known
from tailrace.panels.panel import DamagedTable, Shown
from tailrace.panels.pieces import Pieces
from tailrace.storage.file_check import FileCheck
from tailrace.storage.layout import Layout
from tailrace.storage.progress import read_newest, read_totals
from tailrace.storage.status import Status, wall_ms
from tailrace.storage.tables import Tables

HOUR_MS = 3_600_000
TABLES = ("quality", "late", "quarantine", "correction_runs", "metrics")
"""The tables that are read, and `metrics`, which each batch writes: while none has a newer commit, the facts hold."""

_UNREAD = PromiseState("unknown", "the measured errors can't be read")
_FRESH_S = 60.0  # by which "the last hour" may be off; and between two looks at the tables' files
_OLD_S = 300.0
_READERS = 2
_MOST_QUERIES = 2_000
_SEGMENTS = {"batch": pa.int64(), "quarantined": pa.int64()}


class ShownPromise(Shown):
    """The state of a promise, see `PromiseState`; `word` is the state as named in pages."""

    state: str
    detail: str
    word: str | None = None


class LastCorrection(Shown):
    """The time of the last correction, in ms, and the number of late tuples that it corrected."""

    at: int | None
    late: int | None


class TableFacts(Shown):
    """The facts of a query's tables; a count is null where the table does not exist yet.

    Attributes
    ----------
    late_hour, quarantined_hour : int or None
        The late tuples and the rejected records of the batches that were read in the last hour, by the wall clock.
    uncorrected : int or None
        The number of late tuples that no correction covers.
    numbers : dict
        The progress and the totals of the committed batches, where no driver reports them, or not any more: the last
        report of a driver that was killed is older than its last batch.
    recent : RecentActivity or None
        What the driver of a live stream did in the last hour.
    note : str or None
        The reason why the tables can't be read.
    is_unreadable : bool
        Whether a table can't be read, so that no count is known.
    damaged : tuple of DamagedTable
        The damaged tables of the query, with the facts that are unknown because of them.
    facts_age_ms : int or None
        The time since the facts were known to hold.
    """

    promise: ShownPromise | None = None
    late_hour: int | None = None
    uncorrected: int | None = None
    quarantined_hour: int | None = None
    last_correction: LastCorrection | None = None
    numbers: dict[str, int | float | None] = Field(default={})
    recent: RecentActivity | None = None
    note: str | None = None
    is_unreadable: bool = False
    damaged: tuple[DamagedTable, ...] = ()
    facts_age_ms: int | None = None

    @staticmethod
    def read(layout: Layout) -> TableFacts:
        """Read the tables of a query; a failure becomes the note, and an unreadable promise is unknown."""
        pieces = Pieces()
        try:
            state = pieces.read("promise", lambda: PromiseState.read(layout), _UNREAD)
            promise = ShownPromise(state=state.state, detail=state.detail, word=state.word)
        except Exception as error:  # any error: unreadable facts must not look like old ones
            promise = ShownPromise(state="unknown", detail=_first_line(error))
        try:
            facts = _read(Tables(layout), wall_ms() - HOUR_MS, pieces)
        except Exception as error:
            facts = TableFacts(note=_first_line(error), is_unreadable=True)
        return facts.model_copy(update={"promise": promise, "damaged": tuple(pieces.damaged)})


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0] or type(error).__name__


def _read(tables: Tables, since_ms: int, pieces: Pieces) -> TableFacts:
    segments = pieces.read("late_hour quarantined_hour", lambda: _read_since(tables, since_ms), None)
    return TableFacts(
        late_hour=None if segments is None else pieces.read("late_hour", lambda: _late(tables, segments), None),
        quarantined_hour=None if segments is None else _total(segments["quarantined"]),
        uncorrected=pieces.read("uncorrected", lambda: _uncorrected(tables), None),
        last_correction=pieces.read("last_correction", lambda: _last_correction(tables), None),
        recent=pieces.read("recent", lambda: read_recent(tables, since_ms + HOUR_MS), None),
        numbers=pieces.read("numbers", lambda: _numbers(tables), dict[str, Any]()),
    )


def _uncorrected(tables: Tables) -> int | None:
    return count_uncorrected(tables) if tables.has("late") else None


def _last_correction(tables: Tables) -> LastCorrection | None:
    if not tables.has("correction_runs"):
        return None
    runs = tables.read("correction_runs", ["started_at", "late"]).sort_by("started_at")
    last = next(iter(runs.slice(max(runs.num_rows - 1, 0)).to_pylist()), None)
    return last and LastCorrection(at=last["started_at"], late=last["late"])


def _numbers(tables: Tables) -> dict[str, Any]:
    reported = Status.read(tables.layout)
    is_told = reported is not None and reported.unread_rows(wall_ms()) is not None
    last = None if is_told or not tables.has("metrics") else tables.greatest("metrics", "batch")
    if last is None:
        return {}
    batches = last + 1
    return read_newest(tables.layout, batches) | read_totals(tables.layout, batches) | {"batches": batches}


def _read_since(tables: Tables, since_ms: int) -> pa.Table | None:
    """Read the segments that were read since a wall-clock time; None before the stream has its tables.

    Arrival times do not count: a backlog arrived long ago, and a rejected record may have none. A batch without rows
    has no time, and counts with the one before.
    """
    since = ds.field("ingested_ms") >= since_ms
    return read_known(tables, "segments", _SEGMENTS, since) if tables.has("segments") else None


def _late(tables: Tables, segments: pa.Table) -> int | None:
    """Count the late tuples of the batches of some segments."""
    if not segments.num_rows:
        return 0
    batches = ds.field("batch") >= pc.min(segments["batch"]).as_py()
    return _total(read_known(tables, "metrics", {"late": pa.int64()}, batches)["late"])


def _total(counts: pa.ChunkedArray) -> int | None:
    """Add up counts; None if none of them is known."""
    total: int | None = pc.sum(counts, min_count=min(len(counts), 1)).as_py()
    return total


@dataclass(frozen=True)
class _Reading:
    """The facts of a query as they were read.

    Attributes
    ----------
    versions : Versions or None
        The stamp of the tables before the reading; None where it could not be had.
    lost : tuple of DamagedTable
        The tables with lost or cut files, at `checked_s`.
    seen_s : float
        When the tables were last seen unchanged since; like `checked_s` by a steady clock.
    """

    facts: TableFacts
    versions: Versions | None
    lost: tuple[DamagedTable, ...]
    checked_s: float
    seen_s: float

    @property
    def is_whole(self) -> bool:
        """Whether nothing is damaged or unreadable, so that it may be kept."""
        return not (self.facts.damaged or self.facts.is_unreadable or self.lost)

    def at(self, now_s: float) -> TableFacts:
        """Return the facts with all damaged tables, and with their age."""
        known = {each.where for each in self.facts.damaged}
        damaged = (*self.facts.damaged, *(each for each in self.lost if each.where not in known))
        age_ms = round((now_s - self.seen_s) * 1000)
        return self.facts.model_copy(update={"damaged": damaged, "facts_age_ms": max(age_ms, 0)})


class _Kept:
    """The newest facts of a query, and the reading in progress."""

    def __init__(self, layout: Layout) -> None:
        self.files = FileCheck(layout)
        self.newest: _Reading | None = None
        self.reading: Future[None] | None = None
        self.damages = 0  # that somebody has met

    def facts(self) -> TableFacts | None:
        """Return the facts; None without any, or if they are too old."""
        newest, now_s = self.newest, time.monotonic()
        return None if newest is None or now_s - newest.seen_s >= _OLD_S else newest.at(now_s)


class KeptFacts:
    """A cache of the facts of many queries, usable by several threads.

    Facts hold while their tables have the same newest commits, and for `fresh_s` at the longest.
    """

    def __init__(self, fresh_s: float = _FRESH_S) -> None:
        self._fresh_s = fresh_s
        self._lock, self._kept = threading.Lock(), dict[Location, _Kept]()
        self._readers, self._behind = ThreadPoolExecutor(_READERS, "tables"), ThreadPoolExecutor(1, "queue")
        self._queue, self._is_reading = dict[Location, Layout](), False

    def get(self, layouts: Iterable[Layout], wait_s: float, from_s: float = 0.0) -> list[TableFacts | None]:
        """Return the facts of some queries; look in the background whether their tables have changed.

        Parameters
        ----------
        wait_s : float
            How long to wait for that. Facts that take longer are older than the call, or None if they are too old or
            were never read.
        from_s : float
            The age from which facts are looked at again.
        """
        with self._lock:
            if len(self._kept) > _MOST_QUERIES:
                self._kept.clear()
            wanted = [self._current(layout, from_s) for layout in layouts]
        wait([kept.reading for kept in wanted if kept.reading is not None], wait_s)
        return [kept.facts() for kept in wanted]

    def known(self, layout: Layout) -> TableFacts | None:
        """Return the last facts of a query; None without any, or if they are too old."""
        kept = self._kept.get(layout.home)
        return None if kept is None else kept.facts()

    def forget(self, layout: Layout) -> None:
        """Let the next call look at the files of a query's tables, as somebody has met damage."""
        if (kept := self._kept.get(layout.home)) is not None:
            kept.damages += 1  # also for a look that is under way
            if (newest := kept.newest) is not None:
                kept.newest = replace(newest, checked_s=-math.inf)

    def read_behind(self, layouts: Iterable[Layout]) -> None:
        """Read facts older than a minute of many queries, one query at a time.

        So `get` waits for at most one of them.
        """
        with self._lock:
            self._queue.update({layout.home: layout for layout in islice(layouts, _MOST_QUERIES)})
            is_idle, self._is_reading = not self._is_reading, True
        if is_idle:
            self._behind.submit(self._read_queue)

    def _read_queue(self) -> None:
        """Read the queued facts, one query after the other, until the queue is empty."""
        while True:
            with self._lock:
                if not self._queue:
                    self._is_reading = False
                    return
                kept = self._current(self._queue.pop(next(iter(self._queue))), self._fresh_s)
            if kept.reading is not None:
                wait([kept.reading])

    def _current(self, layout: Layout, from_s: float) -> _Kept:
        """Return what is kept of a query, and begin to look at its tables if that was `from_s` ago."""
        kept = self._kept.setdefault(layout.home, _Kept(layout))
        is_old = kept.newest is None or time.monotonic() - kept.newest.seen_s >= from_s
        if is_old and (kept.reading is None or kept.reading.done()):
            kept.reading = self._readers.submit(self._look, layout, kept)
        return kept

    def _look(self, layout: Layout, kept: _Kept) -> None:
        """Read the facts of a query if its tables have changed, or at the latest after `fresh_s`."""
        now_s, now, newest, damages = time.monotonic(), _versions(layout), kept.newest, kept.damages
        is_due = newest is None or not newest.is_whole or now_s - newest.checked_s >= self._fresh_s
        if newest is not None and not is_due and now is not None and now == newest.versions:
            kept.newest = replace(newest, seen_s=now_s)
            return
        facts = TableFacts.read(layout)
        if (facts.damaged or facts.is_unreadable) and (newer := _versions(layout)) != now:
            now, facts = newer, TableFacts.read(layout)  # a compaction may have removed what was being read
        if newest is None or is_due:
            kept.newest = _Reading(facts, now, _lost(kept.files), now_s, now_s)
        else:
            kept.newest = replace(newest, facts=facts, versions=now, seen_s=now_s)
        if kept.damages != damages:
            kept.newest = replace(kept.newest, checked_s=-math.inf)


def _versions(layout: Layout) -> Versions | None:
    try:
        return versions(layout, TABLES)
    except (OSError, ValueError):  # the store is away, or somebody's file lies among the commits
        return None


def _lost(files: FileCheck) -> tuple[DamagedTable, ...]:
    try:
        problems = files.problems()
    except (OSError, DeltaError):  # the disk, or the store, is away: the facts say so
        return ()
    return tuple(DamagedTable(where=each.where, fault=each.fault, remedy=each.remedy, fields=[]) for each in problems)
