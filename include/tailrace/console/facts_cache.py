"""A cache of the facts of many queries: kept while their tables have the same commits, and read in the background.

So Streams comes at once, however many queries there are and however expensive their tables are to read. Facts that are
older than the page say how old they are.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice

from deltalake.exceptions import DeltaError

from tailrace.console.panel_cache import Versions, versions
from tailrace.console.table_facts import TableFacts, is_reported
from tailrace.ground.object_path import Location
from tailrace.panels.panel import DamagedTable
from tailrace.storage.file_check import FileCheck
from tailrace.storage.layout import Layout

_TABLES = ("quality", "late", "quarantine", "correction_runs", "activity", "metrics")
"""The tables with facts, and `metrics`, which each batch writes: while none has a newer commit, the facts hold."""

_FILES = ("_stream/deployed.json",)
"""The file with the promise in force, before anything is measured."""

_FRESH_S = 60.0  # by which "the last hour" may be off; and between two looks at the tables' files
_LOOK_AGAIN_S = 10.0  # the page says how old facts are from then on
OLD_S = 300.0
GIVES_WAY_S = 0.5  # the longest that requests delay one look behind them
HANGS_S = 10.0  # a look behind requests that takes longer is not waited for
_FREE_S, _RESTS = 0.1, 20.0  # a reading that takes longer is followed by a rest of so many times the excess
_LONGEST_REST_S = 120.0
_READERS = 2
MOST_QUERIES = 2_000


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
    read_s, took_s : float
        When the facts were read, and how long that took.
    """

    facts: TableFacts
    versions: Versions | None
    lost: tuple[DamagedTable, ...]
    checked_s: float
    seen_s: float
    read_s: float
    took_s: float

    @property
    def is_whole(self) -> bool:
        """True if nothing is damaged or unreadable, so that the facts may be kept."""
        return not (self.facts.damaged or self.facts.is_unreadable or self.lost)

    def at(self, now_s: float) -> TableFacts:
        """Return the facts with all damaged tables, and with their age."""
        known = {each.where for each in self.facts.damaged}
        damaged = (*self.facts.damaged, *(each for each in self.lost if each.where not in known))
        age_ms = round((now_s - self.seen_s) * 1000)
        return self.facts.model_copy(update={"damaged": damaged, "facts_age_ms": max(age_ms, 0)})

    def after_damage(self) -> _Reading:
        """Return the reading with a look at the tables' files due at once."""
        return replace(self, checked_s=-math.inf, took_s=0.0)


class _Kept:
    """The newest facts of a query, and the look at its tables that is under way."""

    def __init__(self, layout: Layout) -> None:
        self.files = FileCheck(layout)
        self.newest: _Reading | None = None
        self.look: Future[None] | None = None
        self.looked_s = -math.inf  # when the last look began
        self.damages = 0  # that somebody has met

    def facts(self) -> TableFacts | None:
        """Return the facts; None without any, or if they are too old."""
        newest, now_s = self.newest, time.monotonic()
        return None if newest is None or now_s - newest.seen_s >= OLD_S else newest.at(now_s)


class FactsCache:
    """A cache of the facts of many queries, usable by several threads.

    Facts hold while their tables have the same newest commits. As each batch of a live stream changes them, tables that
    take long to read rest after that.

    Parameters
    ----------
    fresh_s : float
        The age from which counts of the last hour are read again, and the tables' files are looked at.
    rests : float
        The length of a rest, as a multiple of the time above a tenth of a second that the reading took.
    look_again_s : float
        The age from which the tables of a query that is shown are looked at again behind requests.
    """

    def __init__(self, fresh_s: float = _FRESH_S, rests: float = _RESTS, look_again_s: float = _LOOK_AGAIN_S) -> None:
        self._fresh_s, self._rests, self._look_again_s = fresh_s, rests, look_again_s
        self._lock, self._kept = threading.Lock(), dict[Location, _Kept]()
        self._readers, self._behind = ThreadPoolExecutor(_READERS, "tables"), ThreadPoolExecutor(1, "queue")
        self._queue, self._is_reading = dict[Location, tuple[Layout, float]](), False
        self._counting, self._requests, self._is_free = threading.Lock(), 0, threading.Event()
        self._is_free.set()

    def get(self, layout: Layout, wait_s: float) -> TableFacts | None:
        """Return the facts of a query; look in the background whether its tables have changed, and wait for that.

        Facts that take longer than `wait_s` are older than the call, or None if they are too old or were never read.
        """
        with self._lock:
            if len(self._kept) > MOST_QUERIES:
                self._kept.clear()
            kept = self._current(layout, 0.0)
        if kept.look is not None:
            wait([kept.look], wait_s)
        return kept.facts()

    def known(self, layout: Layout) -> TableFacts | None:
        """Return the last facts of a query; None without any, or if they are too old."""
        kept = self._kept.get(layout.home)
        return None if kept is None else kept.facts()

    def forget(self, layout: Layout) -> None:
        """Let the next call look at the files of a query's tables, as somebody has met damage."""
        if (kept := self._kept.get(layout.home)) is not None:
            kept.damages += 1  # also for a look that is under way
            if (newest := kept.newest) is not None:
                kept.newest = newest.after_damage()

    def read_behind(self, shown: Iterable[Layout], others: Iterable[Layout]) -> None:
        """Look again at the tables of many queries, one after the other, from those looked at longest ago on.

        So `get` waits for at most one of them, and requests and what is read behind them share the processors.
        """
        with self._lock:
            wanted = {layout.home: (layout, self._look_again_s) for layout in shown}
            for layout in islice(others, MOST_QUERIES):
                wanted.setdefault(layout.home, (layout, self._fresh_s))
            self._queue = wanted
            if self._is_reading:
                return
            self._behind.submit(self._read_queue)
            self._is_reading = True

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Let what is read behind requests wait for a moment while one is answered."""
        with self._counting:
            self._requests += 1
            self._is_free.clear()
        try:
            yield
        finally:
            with self._counting:
                self._requests -= 1
                if not self._requests:
                    self._is_free.set()

    def _read_queue(self) -> None:
        """Look at the queued tables, one query after the other, until the queue is empty."""
        try:
            while self._read_next():
                pass
        except BaseException:
            self._is_reading = False  # the next call begins again
            raise

    def _read_next(self) -> bool:
        """Look at the tables of one query of the queue; return whether there was one."""
        self._is_free.wait(GIVES_WAY_S)
        with self._lock:
            if not self._queue:
                self._is_reading = False
                return False
            home = min(self._queue, key=self._looked_s)
            is_first, began_s = self._looked_s(home) == -math.inf, time.monotonic()
            kept = self._current(*self._queue.pop(home))
        if kept.look is not None:
            wait([kept.look], HANGS_S)
            time.sleep(0.0 if is_first else time.monotonic() - began_s)
        return True

    def _looked_s(self, home: Location) -> float:
        kept = self._kept.get(home)
        return -math.inf if kept is None else kept.looked_s

    def _current(self, layout: Layout, from_s: float) -> _Kept:
        """Return what is kept of a query, and begin to look at its tables if that was `from_s` ago."""
        kept = self._kept.setdefault(layout.home, _Kept(layout))
        is_old = time.monotonic() - kept.looked_s >= from_s
        if is_old and (kept.look is None or kept.look.done()):
            kept.look = self._readers.submit(self._look, layout, kept)
        return kept

    def _look(self, layout: Layout, kept: _Kept) -> None:
        """Read the facts of a query if its tables, or the last hour, have changed; look at the tables' files if due."""
        kept.looked_s = now_s = time.monotonic()
        newest, damages = kept.newest, kept.damages
        is_due = newest is None or not newest.is_whole or now_s - newest.checked_s >= self._fresh_s
        reading = self._reading(layout, newest, is_due, now_s)
        if is_due:
            reading = replace(reading, lost=_lost(kept.files), checked_s=now_s)
        kept.newest = reading if kept.damages == damages else reading.after_damage()

    def _reading(self, layout: Layout, newest: _Reading | None, is_due: bool, now_s: float) -> _Reading:
        """Return the newest facts of a query: those that are known, if they hold or their tables rest."""
        now = _versions(layout)
        if newest is not None and newest.is_whole:
            if now is not None and now == newest.versions and not (is_due and newest.facts.has_last_hour):
                return replace(newest, seen_s=now_s)
            if now_s - newest.read_s < min(self._rests * (newest.took_s - _FREE_S), _LONGEST_REST_S):
                return newest
        facts = TableFacts.read(layout)
        if (facts.damaged or facts.is_unreadable) and (newer := _versions(layout)) != now:
            now, facts = newer, TableFacts.read(layout)  # a compaction may have removed what was being read
        took_s = time.monotonic() - now_s
        if newest is None:
            return _Reading(facts, now, (), now_s, now_s, now_s, took_s)
        return replace(newest, facts=facts, versions=now, seen_s=now_s, read_s=now_s, took_s=took_s)


def _versions(layout: Layout) -> Versions | None:
    """Return the stamp of the tables, and whether a driver reports, as the tables speak for it if none does."""
    try:
        return *versions(layout, _TABLES, _FILES), is_reported(layout)
    except (OSError, ValueError):  # the store is away, or somebody's file lies among the commits
        return None


def _lost(files: FileCheck) -> tuple[DamagedTable, ...]:
    try:
        problems = files.problems()
    except (OSError, DeltaError):  # the disk, or the store, is away: the facts say so
        return ()
    return tuple(DamagedTable.from_problem(each, []) for each in problems)
