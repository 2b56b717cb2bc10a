"""The facts of a query's tables for its row of Streams: cached for a minute, and then read in the background.

So the page comes at once, however many queries there are and however expensive their tables are to open.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds
from pydantic import Field

from tailrace.correction.promise_state import PromiseState
from tailrace.ground.object_path import Location
from tailrace.panels.panel import Shown
from tailrace.storage.layout import Layout
from tailrace.storage.progress import read_newest, read_totals
from tailrace.storage.status import Status, wall_ms
from tailrace.storage.tables import Tables

HOUR_MS = 3_600_000
_FRESH_S = 60.0
_OLD_S = 300.0
_READERS = 2
_MOST_QUERIES = 2_000


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
    numbers : dict
        The progress and the totals of the committed batches, where no driver reports them, or not any more: the last
        report of a driver that was killed is older than its last batch.
    note : str or None
        The reason why the tables can't be read.
    is_unreadable : bool
        Whether a table can't be read, so that no count is known.
    """

    promise: ShownPromise | None = None
    late_hour: int | None = None
    quarantined_hour: int | None = None
    last_correction: LastCorrection | None = None
    numbers: dict[str, int | float | None] = Field(default={})
    note: str | None = None
    is_unreadable: bool = False

    @staticmethod
    def read(layout: Layout) -> TableFacts:
        """Read the tables of a query; a failure becomes the note, and an unreadable promise is unknown."""
        try:
            state = PromiseState.read(layout)
            promise = ShownPromise(state=state.state, detail=state.detail, word=state.word)
        except Exception as error:  # any error: unreadable facts must not look like old ones
            promise = ShownPromise(state="unknown", detail=_first_line(error))
        try:
            return _read(layout, wall_ms() - HOUR_MS).model_copy(update={"promise": promise})
        except Exception as error:
            return TableFacts(promise=promise, note=_first_line(error), is_unreadable=True)


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0] or type(error).__name__


def _read(layout: Layout, since_ms: int) -> TableFacts:
    tables = Tables(layout)
    late, quarantined = _read_since(tables, since_ms)
    last = None
    if tables.has("correction_runs"):
        runs = tables.read("correction_runs", ["started_at", "late"]).sort_by("started_at")
        last = next(iter(runs.slice(max(runs.num_rows - 1, 0)).to_pylist()), None)
    return TableFacts(
        late_hour=late,
        quarantined_hour=quarantined,
        last_correction=last and LastCorrection(at=last["started_at"], late=last["late"]),
        numbers=_numbers(tables),
    )


def _numbers(tables: Tables) -> dict[str, Any]:
    reported = Status.read(tables.layout)
    is_told = reported is not None and reported.unread_rows(wall_ms()) is not None
    last = None if is_told or not tables.has("metrics") else tables.greatest("metrics", "batch")
    if last is None:
        return {}
    batches = last + 1
    return read_newest(tables.layout, batches) | read_totals(tables.layout, batches) | {"batches": batches}


def _read_since(tables: Tables, since_ms: int) -> tuple[int | None, int | None]:
    """Count the late tuples and the rejected records of the batches that were read since a wall-clock time.

    Arrival times do not count: a backlog arrived long ago, and a rejected record may have none. A batch without rows
    has no time, and counts with the one before.
    """
    if not tables.has("segments"):
        return None, None
    since = ds.field("ingested_ms") >= since_ms
    read = tables.read("segments", ["batch", "quarantined"], since)
    if not read.num_rows:
        return 0, 0
    late = None
    if tables.has("metrics"):
        batches = ds.field("batch") >= pc.min(read["batch"]).as_py()
        late = pc.sum(tables.read("metrics", ["late"], batches)["late"], min_count=0).as_py()
    return late, pc.sum(read["quarantined"], min_count=0).as_py()


@dataclass
class _Kept:
    """The newest facts of a query, the time when they were read, and the read in progress."""

    facts: TableFacts | None = None
    read_s: float = 0.0
    reading: Future[None] | None = None

    def is_missing(self, now_s: float) -> bool:
        """Test whether the facts are missing or too old."""
        return self.facts is None or now_s - self.read_s >= _OLD_S


class KeptFacts:
    """A cache of the facts of many queries, usable by several threads."""

    def __init__(self, fresh_s: float = _FRESH_S) -> None:
        self._fresh_s = fresh_s
        self._lock, self._kept = threading.Lock(), dict[Location, _Kept]()
        self._readers, self._behind = ThreadPoolExecutor(_READERS, "tables"), ThreadPoolExecutor(1, "queue")
        self._queue, self._is_reading = dict[Location, Layout](), False

    def get(self, layouts: Iterable[Layout], wait_s: float) -> list[TableFacts | None]:
        """Return the facts of some queries; read facts older than a minute in the background.

        Parameters
        ----------
        wait_s : float
            How long to wait for facts that were never read. They are None if this was not enough.
        """
        with self._lock:
            if len(self._kept) > _MOST_QUERIES:
                self._kept.clear()
            wanted = [self._current(layout) for layout in layouts]
            now_s = time.monotonic()
            missing = [kept.reading for kept in wanted if kept.reading is not None and kept.is_missing(now_s)]
        wait(missing, wait_s)
        return [kept.facts for kept in wanted]

    def known(self, layout: Layout) -> TableFacts | None:
        """Return the last facts of a query; None without any, or if they are too old."""
        kept = self._kept.get(layout.home)
        return None if kept is None or kept.is_missing(time.monotonic()) else kept.facts

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
                kept = self._current(self._queue.pop(next(iter(self._queue))))
            if kept.reading is not None:
                wait([kept.reading])

    def _current(self, layout: Layout) -> _Kept:
        kept = self._kept.setdefault(layout.home, _Kept())
        is_old = kept.facts is None or time.monotonic() - kept.read_s >= self._fresh_s
        if is_old and (kept.reading is None or kept.reading.done()):
            kept.reading = self._readers.submit(self._read, layout, kept)
        return kept

    @staticmethod
    def _read(layout: Layout, kept: _Kept) -> None:
        kept.facts, kept.read_s = TableFacts.read(layout), time.monotonic()
