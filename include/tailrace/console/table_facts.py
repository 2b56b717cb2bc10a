"""The facts of a query's tables for its row of Streams and the head of its page."""

from __future__ import annotations

from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pydantic import Field

from tailrace.correction.promise_state import NOT_MEASURED, PromiseState
from tailrace.correction.quality import Promise
from tailrace.correction.uncorrected import count_uncorrected
from tailrace.ground.errors import Refused
from tailrace.panels.activity import RecentActivity, read_recent
from tailrace.panels.panel import DamagedTable, Shown
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.progress import read_newest, read_totals
from tailrace.storage.status import Status, wall_ms
from tailrace.storage.tables import Tables
from tailrace.tables.correction import CORRECTION_RUNS
from tailrace.tables.stream import METRICS, SEGMENTS

HOUR_MS = 3_600_000

_UNREAD = PromiseState("unknown", "the measured errors can't be read")


class ShownPromise(Shown):
    """The state of a promise, see `PromiseState`; `word` is the state as named in pages."""

    state: Literal["unknown", "kept", "broken"]
    detail: str
    word: str | None = None

    @staticmethod
    def from_state(state: PromiseState) -> ShownPromise:
        return ShownPromise(state=state.state, detail=state.detail, word=state.word)

    def of_policy(self, is_promised: bool) -> ShownPromise:
        """Return the promise according to the policy in force, see `PromiseState.of_policy`."""
        return ShownPromise.from_state(PromiseState(self.state, self.detail).of_policy(is_promised))


class LastCorrection(Shown):
    """The time of the last correction, in ms, and the number of late tuples that it corrected."""

    at: int | None
    late: int | None


class TableFacts(Shown):
    """The facts of a query's tables; a count is null if the table does not exist yet.

    Attributes
    ----------
    late_hour, quarantined_hour : int or None
        The late tuples and the rejected records of the batches that were read in the last hour, by the wall clock.
    is_promised : bool or None
        Whether the deployed copy of the query promises something; None without a valid copy, and if measurements show
        it.
    uncorrected : int or None
        The number of late tuples that no correction covers.
    numbers : dict
        The progress and the totals of the committed batches, if no driver reports them now: the last report of a killed
        driver is older than its last batch.
    recent : RecentActivity or None
        The activity of a live stream's driver in the last hour.
    note : str or None
        The reason why the tables can't be read.
    is_unreadable : bool
        Whether the tables can't be read, so that the promise or all counts are unknown.
    damaged : tuple of DamagedTable
        The damaged tables of the query, with the facts that are unknown because of them.
    facts_age_ms : int or None
        The time since the facts were last known to be valid.
    """

    promise: ShownPromise | None = None
    is_promised: bool | None = None
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

    @property
    def has_last_hour(self) -> bool:
        """True if some fact is about the last hour, so that the facts change as time passes."""
        return bool(self.late_hour or self.quarantined_hour or self.recent)

    @staticmethod
    def read(layout: Layout) -> TableFacts:
        """Read the tables of a query; a failure becomes the note, and an unreadable promise is unknown."""
        try:
            layout.require_format()
        except (Refused, OSError) as refused:
            note = _first_line(refused)
            return TableFacts(promise=ShownPromise(state="unknown", detail=note), note=note, is_unreadable=True)
        pieces, tables, fault = Pieces(), OpenedTables(layout), None
        try:
            state = pieces.read("promise", lambda: PromiseState.read(tables), _UNREAD)
            promise = ShownPromise.from_state(state)
        except Exception as error:  # any error, as unreadable facts must not look like old ones
            fault = _first_line(error)
            promise = ShownPromise(state="unknown", detail=fault)
        try:
            facts = _read(tables, wall_ms() - HOUR_MS, pieces)
        except Exception as error:
            facts, fault = TableFacts(), fault or _first_line(error)
        fields = {
            "promise": promise,
            "is_promised": _is_promised(layout) if promise.detail == NOT_MEASURED else None,
            "damaged": tuple(pieces.damaged),
            "note": fault,
            "is_unreadable": fault is not None,
        }
        return facts.model_copy(update=fields)


def _is_promised(layout: Layout) -> bool | None:
    """Test whether the deployed copy of a query promises something; None without a valid copy."""
    try:
        return Promise.of_policy(QueryView(layout, None).query.policy).is_given
    except (Refused, OSError):
        return None


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
    runs = tables.read_or_empty(CORRECTION_RUNS, ["started_at", "late"]).sort_by("started_at")
    last = next(iter(runs.slice(max(runs.num_rows - 1, 0)).to_pylist()), None)
    return last and LastCorrection(at=last["started_at"], late=last["late"])


def is_reported(layout: Layout) -> bool:
    """Test whether a driver reports the progress of a stream now, and knows its source."""
    reported = Status.read(layout)
    return reported is not None and reported.unread_rows(wall_ms()) is not None


def _numbers(tables: Tables) -> dict[str, Any]:
    is_known = is_reported(tables.layout) or not tables.has("metrics")
    last = None if is_known else tables.greatest("metrics", "batch")
    if last is None:
        return {}
    batches = last + 1
    return read_newest(tables, batches) | read_totals(tables, batches) | {"batches": batches}


def _read_since(tables: Tables, since_ms: int) -> pa.Table | None:
    """Return the segments that the stream has read since a wall-clock time; None before it has tables.

    Arrival times do not count, as a backlog arrived long ago, and a rejected record may have none. A batch without rows
    has no time, and belongs to the one before.
    """
    since = ds.field("ingested_ms") >= since_ms
    return tables.read(SEGMENTS.name, ["batch", "quarantined"], since) if tables.has(SEGMENTS.name) else None


def _late(tables: Tables, segments: pa.Table) -> int | None:
    """Count the late tuples of the batches of some segments."""
    if not segments.num_rows:
        return 0
    batches = ds.field("batch") >= pc.min(segments["batch"]).as_py()
    return _total(tables.read_or_empty(METRICS, ["late"], batches)["late"])


def _total(counts: pa.ChunkedArray) -> int | None:
    """Add counts; None if none of them is known."""
    total: int | None = pc.sum(counts, min_count=min(len(counts), 1)).as_py()
    return total
