"""A cache of the facts of many queries, which are valid while tables have the same commits, and read in the background.

So the page Streams is fast, even with many queries and tables that are expensive to read. Older facts show their age.
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
from tailrace.ground.files.object_path import Location
from tailrace.panels.panel import DamagedTable
from tailrace.storage.file_check import FileCheck
from tailrace.storage.layout import Layout

_TABLES = ("quality", "late", "quarantine", "correction_runs", "activity", "metrics")
"""The tables with facts, and `metrics`, which each batch writes; while none has a newer commit, facts are valid."""

_FILES = ("_stream/deployed.json",)
"""The file with the promise in force, needed until errors are measured."""

_FRESH_S = 60.0  # the inaccuracy of "the last hour", and the interval between two checks of the tables' files
_LOOK_AGAIN_S = 10.0  # the age from which the page shows it
OLD_S = 300.0
GIVES_WAY_S = 0.5  # the longest delay of a background check by requests
HANGS_S = 10.0  # a background check that takes longer is not awaited
_FREE_S, _RESTS = 0.1, 20.0  # a longer reading is followed by a rest of this many times the excess
_LONGEST_REST_S = 120.0
_READERS = 2
MOST_QUERIES = 2_000


@dataclass(frozen=True)
class _Reading:
    """The facts of a query as they were read.

    Attributes
    ----------
    versions : Versions or None
        The stamp of the tables before the reading; None if it could not be read.
    lost : tuple of DamagedTable
        The tables with lost or truncated files, as of `checked_s`.
    seen_s : float
        The last time at which the tables were unchanged; like `checked_s`, by a steady clock.
    read_s, took_s : float
        The time and the duration of the reading.
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
        """Return the reading, with an immediate check of the tables' files."""
        return replace(self, checked_s=-math.inf, took_s=0.0)


class _Kept:
    """The newest facts of a query, and the running check of its tables."""

    def __init__(self, layout: Layout) -> None:
        self.files = FileCheck(layout)
        self.newest: _Reading | None = None
        self.look: Future[None] | None = None
        self.looked_s = -math.inf  # the start of the last check
        self.damages = 0  # damage that somebody has met

    def facts(self) -> TableFacts | None:
        """Return the facts; None without any, or if they are too old."""
        newest, now_s = self.newest, time.monotonic()
        return None if newest is None or now_s - newest.seen_s >= OLD_S else newest.at(now_s)


class FactsCache:
    """A cache of the facts of many queries, usable by several threads.

    Facts are valid while the newest commits of their tables are the same. Each batch of a live stream changes these, so
    tables that take long to read then rest.

    Parameters
    ----------
    fresh_s : float
        The age from which counts of the last hour are read again, and the tables' files are checked.
    rests : float
        The length of a rest, as a multiple of the reading's duration beyond a tenth of a second.
    look_again_s : float
        The age from which the tables of a shown query are checked again in the background.
    """

    def __init__(self, fresh_s: float = _FRESH_S, rests: float = _RESTS, look_again_s: float = _LOOK_AGAIN_S) -> None:
        self._fresh_s, self._rests, self._look_again_s = fresh_s, rests, look_again_s
        self._lock, self._kept = threading.Lock(), dict[Location, _Kept]()
        self._readers, self._behind = ThreadPoolExecutor(_READERS, "tables"), ThreadPoolExecutor(1, "queue")
        self._queue, self._is_reading = dict[Location, tuple[Layout, float]](), False
        self._counting, self._requests, self._is_free = threading.Lock(), 0, threading.Event()
        self._is_free.set()

    def get(self, layout: Layout, wait_s: float) -> TableFacts | None:
        """Return the facts of a query, after a background check whether its tables have changed.

        If the check takes longer than `wait_s`, return older facts, or None if they are too old or were never read.
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
        """Let the next call check the files of a query's tables, as somebody has met damage."""
        if (kept := self._kept.get(layout.home)) is not None:
            kept.damages += 1  # also for a running check
            if (newest := kept.newest) is not None:
                kept.newest = newest.after_damage()

    def read_behind(self, shown: Iterable[Layout], others: Iterable[Layout]) -> None:
        """Check the tables of many queries again, one after the other, the longest unchecked first.

        So `get` waits for at most one of them, and requests and background reading share the processors.
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
        """Pause background reading for a moment while a request is answered."""
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
        """Check the queued tables, one query after the other, until the queue is empty."""
        try:
            while self._read_next():
                pass
        except BaseException:
            self._is_reading = False  # the next call begins again
            raise

    def _read_next(self) -> bool:
        """Check the tables of one query of the queue; return whether there was one."""
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
        """Return the cached facts of a query, and start a check of its tables if the last one was `from_s` ago."""
        kept = self._kept.setdefault(layout.home, _Kept(layout))
        is_old = time.monotonic() - kept.looked_s >= from_s
        if is_old and (kept.look is None or kept.look.done()):
            kept.look = self._readers.submit(self._look, layout, kept)
        return kept

    def _look(self, layout: Layout, kept: _Kept) -> None:
        """Read the facts of a query if its tables, or the last hour, have changed; check the tables' files if due."""
        kept.looked_s = now_s = time.monotonic()
        newest, damages = kept.newest, kept.damages
        is_due = newest is None or not newest.is_whole or now_s - newest.checked_s >= self._fresh_s
        reading = self._reading(layout, newest, is_due, now_s)
        if is_due:
            reading = replace(reading, lost=_lost(kept.files), checked_s=now_s)
        kept.newest = reading if kept.damages == damages else reading.after_damage()

    def _reading(self, layout: Layout, newest: _Reading | None, is_due: bool, now_s: float) -> _Reading:
        """Return the newest facts of a query; the cached ones if they are valid, or their tables rest."""
        now = _versions(layout)
        if newest is not None and newest.is_whole:
            if now is not None and now == newest.versions and not (is_due and newest.facts.has_last_hour):
                return replace(newest, seen_s=now_s)
            if now_s - newest.read_s < min(self._rests * (newest.took_s - _FREE_S), _LONGEST_REST_S):
                return newest
        facts = TableFacts.read(layout)
        if (facts.damaged or facts.is_unreadable) and (newer := _versions(layout)) != now:
            now, facts = newer, TableFacts.read(layout)  # a compaction may have removed files during the reading
        took_s = time.monotonic() - now_s
        if newest is None:
            return _Reading(facts, now, (), now_s, now_s, now_s, took_s)
        return replace(newest, facts=facts, versions=now, seen_s=now_s, read_s=now_s, took_s=took_s)


def _versions(layout: Layout) -> Versions | None:
    """Return the stamp of the tables, and whether a driver reports: if none does, numbers come from the tables."""
    try:
        return *versions(layout, _TABLES, _FILES), is_reported(layout)
    except (OSError, ValueError):  # the store is away, or somebody's file lies among the commits
        return None


def _lost(files: FileCheck) -> tuple[DamagedTable, ...]:
    try:
        problems = files.problems()
    except (OSError, DeltaError):  # the disk or store is unavailable, which the facts report
        return ()
    return tuple(DamagedTable.from_problem(each, []) for each in problems)
