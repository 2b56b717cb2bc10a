"""The facts of a query's tables for its row of Streams: kept for a minute, and read in the background when older.

So the page comes at once, however many queries there are and whatever their tables cost to open.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.correction.promise_state import PromiseState
from tailrace.ground.object_path import Location
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.ground.words import counted
from tailrace.panels.panel import Shown
from tailrace.storage.layout import Layout
from tailrace.storage.status import wall_ms
from tailrace.storage.tables import Tables, within

HOUR_MS = 3_600_000
_FRESH_S = 60.0
_OLD_S = 300.0
_READERS = 2
_MOST_QUERIES = 2_000


class Promise(Shown):
    """The state of a promise; see `PromiseState`."""

    state: str
    detail: str


class LastCorrection(Shown):
    """The time of the last correction, in ms, and the number of late tuples that it took."""

    at: int | None
    late: int | None


class TableFacts(Shown):
    """The facts of a query's tables; a count is null where there is no such table yet.

    Attributes
    ----------
    note : str or None
        Why the tables can't be read, or a count is not known.
    """

    promise: Promise | None = None
    late_hour: int | None = None
    quarantined_hour: int | None = None
    last_correction: LastCorrection | None = None
    note: str | None = None

    @staticmethod
    def read(layout: Layout) -> TableFacts:
        """Read the tables of a query; what can't be read becomes the note."""
        try:
            return _read(layout, wall_ms() - HOUR_MS)
        except Exception as error:  # whatever it is: facts that can't be read must not look like old ones
            return TableFacts(note=str(error).split("\n")[0] or type(error).__name__)


def _read(layout: Layout, since_ms: int) -> TableFacts:
    tables, promise = Tables(layout), PromiseState.read(layout)
    late = quarantined = last = note = None
    if tables.has("late"):
        late = pc.sum(tables.read("late", ["tuples"], within("arrived", since_ms, AFTER_ALL))["tuples"], min_count=0)
    if tables.has("quarantine"):
        if without := _without_arrival(tables, since_ms):
            records = counted(without, "record")
            note = f"quarantined in the last hour is not known: {records} without a readable arrival time"
        else:
            newest = within("arrival_time", since_ms, AFTER_ALL)
            quarantined = tables.read("quarantine", ["arrival_time"], newest).num_rows
    if tables.has("correction_runs"):
        runs = tables.read("correction_runs", ["started_at", "late"]).sort_by("started_at")
        last = next(iter(runs.slice(max(runs.num_rows - 1, 0)).to_pylist()), None)
    return TableFacts(
        promise=Promise(state=promise.state, detail=promise.detail),
        late_hour=None if late is None else late.as_py(),
        quarantined_hour=quarantined,
        last_correction=last and LastCorrection(at=last["started_at"], late=last["late"]),
        note=note,
    )


def _without_arrival(tables: Tables, since_ms: int) -> int:
    """Count the rejected records without an arrival time in files that were written since a time, by their statistics.

    A compaction writes older records again: then they count until it is as long ago.
    """
    files = pa.table(tables.open("quarantine").get_add_actions(flatten=True))
    if "null_count.arrival_time" not in files.column_names:
        return 0
    files = files.filter(pc.greater(files["modification_time"].cast(pa.int64()), since_ms))
    return int(pc.sum(files["null_count.arrival_time"], min_count=0).as_py())


@dataclass
class _Kept:
    """The newest facts of a query, the time of their reading, and the reading under way."""

    facts: TableFacts | None = None
    read_s: float = 0.0
    reading: Future[None] | None = None

    def is_missing(self, now_s: float) -> bool:
        """Test whether what was read says too little of the present."""
        return self.facts is None or now_s - self.read_s >= _OLD_S


class KeptFacts:
    """Keeps the facts of many queries; several threads may use it."""

    def __init__(self, fresh_s: float = _FRESH_S) -> None:
        self._fresh_s = fresh_s
        self._lock, self._kept = threading.Lock(), dict[Location, _Kept]()
        self._readers, self._behind = ThreadPoolExecutor(_READERS, "tables"), ThreadPoolExecutor(1, "queue")
        self._queue, self._is_reading = dict[Location, Layout](), False

    def get(self, layouts: Iterable[Layout], wait_s: float) -> list[TableFacts | None]:
        """Return the facts of some queries, and read in the background those that are older than a minute.

        Parameters
        ----------
        wait_s : float
            How long to wait for facts of which there are none yet. They are None in the answer if it was not enough.
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
        """Return the facts of a query that were read last, however old; None where none were."""
        kept = self._kept.get(layout.home)
        return None if kept is None else kept.facts

    def read_behind(self, layouts: Iterable[Layout]) -> None:
        """Read the facts of many queries that are older than a minute, one query at a time.

        So `get` waits for one of them at most.
        """
        with self._lock:
            self._queue.update({layout.home: layout for layout in islice(layouts, _MOST_QUERIES)})
            is_idle, self._is_reading = not self._is_reading, True
        if is_idle:
            self._behind.submit(self._read_queue)

    def _read_queue(self) -> None:
        """Read what is queued, one query after the other, until nothing is."""
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
