"""The rows of the page Streams: a row for each query that is declared, has a stream, or was refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from tailrace.console.panel_cache import PanelCache, versions
from tailrace.console.stream_state import StreamState, state_of
from tailrace.correction.promise_state import PromiseState
from tailrace.drivers.driver_host import Driver, DriverHost, DriverHostDown
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.launch import starts_file
from tailrace.ground.errors import Problem, Refused
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.orchestration import driver_lifecycle, settings
from tailrace.panels.panel import Shown
from tailrace.panels.query_view import QueryView
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status, wall_ms
from tailrace.storage.tables import Tables, within

HOUR_MS = 3_600_000
_TABLES = ("quality", "late", "quarantine", "correction_runs")
_ASKED_AT_ONCE = 8  # drivers of the host
_CACHE = PanelCache(4 << 20)


class State(Shown):
    """The state of a stream; see `StreamState`."""

    word: str
    tone: str
    why: str | None


class Promise(Shown):
    """The state of a promise; see `PromiseState`."""

    state: str
    detail: str


class LastCorrection(Shown):
    """When a correction last ran, and how many late tuples it took."""

    at: int | None
    late: int | None


class StreamRow(Shown):
    """What Streams says of a query."""

    name: str
    kind: str | None
    file: str | None
    state: State
    behind_ms: int | None = None
    rows_left: int | None = None
    committed: int | None = None
    frontier: int | None = None
    k_ms: int | None = None
    coverage: float | None = None
    rows: int | None = None
    answers: int | None = None
    filtered: int | None = None
    quarantined: int | None = None
    starts: int | None = None
    promise: Promise | None = None
    late_hour: int | None = None
    quarantined_hour: int | None = None
    last_correction: LastCorrection | None = None
    note: str | None = None


@dataclass(frozen=True)
class Hosted:
    """The driver host, asked for the drivers of several queries at once; a problem where it does not answer."""

    host: DriverHost | None
    problem: Problem | None

    @staticmethod
    def connect() -> Hosted:
        """Return the host of the connection."""
        try:
            settings.use_in_shell()  # connections from Airflow's database, too
            return Hosted(settings.driver_host(), None)
        except Refused as refused:
            return Hosted(None, refused.problems[0])

    def rows(self, views: list[QueryView]) -> list[StreamRow]:
        """Return the rows of some queries without what their tables say."""
        with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
            return list(pool.map(self._row, views))

    def _row(self, view: QueryView) -> StreamRow:
        reported, is_begun = Status.read(view.layout), view.layout.stream.is_dir()
        driver, state = self._driver(view.layout), StreamState("unknown", "bad", "the driver host does not answer")
        if driver is not None:
            state = state_of(DriverStatus(driver, reported, wall_ms()), is_begun)
        kind, fault = _kind(view)
        if fault is not None and state.tone != "bad":
            state = StreamState("refused", "bad", fault) if state.word == "not deployed" else state
        row = StreamRow(
            name=view.name,
            kind=kind,
            file=None if view.file is None else view.file.name,
            state=State(word=state.word, tone=state.tone, why=state.why),
            starts=_starts(view.layout),
            note=fault,
        )
        return row if reported is None else row.model_copy(update=_reported(reported))

    def _driver(self, layout: Layout) -> Driver | None:
        if self.host is None:
            return None if layout.stream.is_dir() else Driver(layout.home.name, "absent", None, None, "")
        try:
            return driver_lifecycle.inspect(self.host, layout)
        except DriverHostDown:
            return None


def with_tables(view: QueryView, row: StreamRow) -> StreamRow:
    """Add what a query's tables say, to a row that is shown."""
    hour = wall_ms() // 60_000  # the last hour moves on by minutes
    try:
        found = json.loads(
            _CACHE.get(
                (view.layout.home, hour),
                lambda: versions(view.layout, _TABLES),
                lambda: json.dumps(_of_tables(view.layout, hour * 60_000 - HOUR_MS)).encode(),
            )
        )
    except (Refused, OSError) as error:
        return row.model_copy(update={"note": str(error).split("\n")[0]})
    promise, last = found.pop("promise"), found.pop("last_correction")
    update = {"promise": Promise(**promise), "last_correction": last and LastCorrection(**last), **found}
    return row.model_copy(update=update)


def _of_tables(layout: Layout, since_ms: int) -> dict[str, Any]:
    tables, promise = Tables(layout), PromiseState.read(layout)
    found: dict[str, Any] = {"promise": {"state": promise.state, "detail": promise.detail}, "last_correction": None}
    after: Callable[[str], Any] = lambda column: within(column, since_ms, AFTER_ALL)  # noqa: E731 (one condition, two tables)
    if tables.has("late"):
        late = tables.read("late", ["tuples"], after("arrived"))
        found["late_hour"] = pc.sum(late["tuples"], min_count=0).as_py()
    if tables.has("quarantine"):
        found["quarantined_hour"] = tables.read("quarantine", ["arrival_time"], after("arrival_time")).num_rows
    if tables.has("correction_runs"):
        runs = tables.read("correction_runs", ["started_at", "late"]).sort_by("started_at")
        last = runs.slice(max(runs.num_rows - 1, 0)).to_pylist()
        found["last_correction"] = {"at": last[0]["started_at"], "late": last[0]["late"]} if last else None
    return found


def _reported(reported: Status) -> dict[str, Any]:
    names = ("rows_left", "committed", "frontier", "k_ms", "coverage", "rows", "answers", "filtered", "quarantined")
    behind_ms = None if reported.committed is None else max(wall_ms() - reported.committed, 0)
    return {name: getattr(reported, name) for name in names} | {"behind_ms": behind_ms}


def _kind(view: QueryView) -> tuple[str | None, str | None]:
    """Return the kind of a query, and what is wrong with its declaration."""
    try:
        return view.query.kind, None
    except (Refused, OSError) as error:
        return None, str(error).split("\n")[0]


def _starts(layout: Layout) -> int | None:
    """Return how often the driver was started again lately, as its launcher counts it."""
    try:
        return len(json.loads(starts_file(layout.home).read_text())["restarts"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
