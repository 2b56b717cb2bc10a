"""The rows of the page Streams: a row for each query that is declared or refused, or has a stream or a driver."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from deltalake.exceptions import DeltaError
from pydantic import Field

from tailrace.console.airflow_dags import KnownDag, PausedDag, held_up
from tailrace.console.airflow_runs import deploying_since
from tailrace.console.declared_queries import QueryCatalogue
from tailrace.console.last_runs import LastRun
from tailrace.console.stream_state import Observation, StreamState, state_of
from tailrace.console.table_facts import LastCorrection, ShownPromise, TableFacts
from tailrace.drivers import driver_lifecycle
from tailrace.drivers.driver_host import Driver, DriverHost, DriverHostDown
from tailrace.ground.errors import Problem, Refused
from tailrace.ground.query_names import is_query_name
from tailrace.orchestration import settings
from tailrace.orchestration.overview import hosted
from tailrace.panels.activity import RecentActivity
from tailrace.panels.panel import DamagedTable, Shown
from tailrace.panels.query_view import QueryView
from tailrace.storage.layout import Layout
from tailrace.storage.status import OVER, Status, wall_ms

ASKED_AT_ONCE = 8  # drivers that are requested from the host at once
_DAY_S = 86_400
_LONG_AGO_MS = 30 * 86_400_000
_WITHOUT_DRIVER = ("not deployed", "drained", "ended", "stopped")
_NUMBERS = ("batches", "committed", "frontier", "k_ms", "coverage", "rows", "answers", "filtered", "quarantined")


class StreamStateRow(Shown):
    """The state of a stream; see `StreamState`."""

    word: str
    tone: str
    why: str | None
    since: int | None = None


class StreamRow(Shown):
    """A row of the page Streams.

    Attributes
    ----------
    has_page : bool
        False if only the driver host knows the query, so that there is neither a file nor a stream to show.
    data_ends : int or None
        The last arrival time of a source that was read to its end long after its arrival, so that a replay does not
        count as behind.
    rows_left : int or None
        See `Status.unread_rows`: after a driver's end the source may have ended later.
    is_promised : bool
        False if nothing is promised: by the deployed copy, or without one by the file; or by measured errors.
    is_unread : bool
        Whether its tables were not read yet, or too long ago, so that their facts are unknown.
    paused : tuple of PausedDag
        Its paused DAGs for which work waits.
    recent, damaged, facts_age_ms
        See `TableFacts`.
    report_age_ms : int or None
        The age of the driver's last report; None if the driver has ended, so that its report is final.
    reported_at : int or None
        The time of its driver's last report.
    runs : list of LastRun
        Newest runs of its DAGs; on Streams the failed ones, and a running run of the stream.
    """

    name: str
    kind: str | None
    file: str | None
    state: StreamStateRow
    behind_ms: int | None = None
    data_ends: int | None = None
    rows_left: int | None = None
    batches: int | None = None
    committed: int | None = None
    frontier: int | None = None
    k_ms: int | None = None
    coverage: float | None = None
    rows: int | None = None
    answers: int | None = None
    filtered: int | None = None
    quarantined: int | None = None
    starts: int | None = None
    is_promised: bool = True
    promise: ShownPromise | None = None
    late_hour: int | None = None
    uncorrected: int | None = None
    quarantined_hour: int | None = None
    last_correction: LastCorrection | None = None
    recent: RecentActivity | None = None
    note: str | None = None
    is_unreadable: bool = False
    damaged: tuple[DamagedTable, ...] = ()
    facts_age_ms: int | None = None
    report_age_ms: int | None = None
    has_page: bool = True
    is_unread: bool = True
    paused: tuple[PausedDag, ...] = ()
    reported_at: int | None = None
    runs: list[LastRun] = Field(default=[])


@dataclass(frozen=True)
class Hosted:
    """The driver host, for requests about the drivers of several queries.

    Attributes
    ----------
    host : DriverHost or None
        None if its connection is missing.
    down : list of Problem
        The reason why it did not answer; then it is not asked again.
    """

    host: DriverHost | None
    down: list[Problem]

    @staticmethod
    def connect() -> Hosted:
        """Return the host of the connection."""
        try:
            settings.use_in_shell()  # also connections from Airflow's database
            return Hosted(settings.driver_host(), [])
        except Refused as refused:
            return Hosted(None, list(refused.problems[:1]))

    def with_drivers_alone(self, known: QueryCatalogue) -> QueryCatalogue:
        """Add the queries whose files and streams are gone, but whose driver is still on the host."""
        warehouse = settings.warehouse()
        try:
            names, _ = (set(), []) if self.host is None else hosted(self.host, warehouse, known.views)
        except DriverHostDown as error:
            self._is_down(error)
            return known
        except (Refused, OSError) as error:  # a file of the host may belong to another user
            self.down.append(
                Problem("driver host", str(error).split("\n")[0], "to make its files readable to Airflow's user")
            )
            return known
        alone = {name: QueryView(Layout.for_query(warehouse, name), None) for name in names if is_query_name(name)}
        return replace(known, views={**known.views, **alone})

    def rows(self, names: list[str], known: QueryCatalogue) -> list[StreamRow]:
        """Return the rows of some known queries, without facts of their tables."""
        deploying = deploying_since(names)
        with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
            rows = pool.map(lambda name: self._safe_row(known.views[name], known, deploying.get(name)), names)
            return list(rows)

    def _safe_row(self, view: QueryView, known: QueryCatalogue, deploying_ms: int | None) -> StreamRow:
        """Return the row of a query; unreadable files do not hide the other rows."""
        try:
            return self._row(view, known, deploying_ms)
        except (Refused, OSError, DeltaError) as error:
            why = str(error).split("\n")[0]
            file = None if view.file is None else view.file.name
            return StreamRow(
                name=view.name,
                kind=known.kinds.get(view.name),
                file=file,
                state=StreamStateRow(word="unknown", tone="bad", why=why, since=None),
            )

    def _row(self, view: QueryView, known: QueryCatalogue, deploying_ms: int | None) -> StreamRow:
        driver = self._driver(view.layout)
        reported = Status.read(view.layout)  # read second, as a driver that ends meanwhile reports that first
        seen = Observation.read(view.layout, driver, reported, deploying_ms)
        state = state_of(seen)
        fault = known.faults.get(view.name)
        if fault is not None and state.word == "not deployed":
            state = StreamState("refused", "bad", fault)
        if fault is None and view.file is None and driver is not None and driver.alive:
            fault = f"no file declares it, and its driver runs: tailrace drain {view.name}, or stop, ends it"
        row = StreamRow(
            name=view.name,
            kind=known.kinds.get(view.name) or _deployed_kind(view),
            file=None if view.file is None else view.file.name,
            state=StreamStateRow(word=state.word, tone=state.tone, why=state.why, since=state.since_ms),
            starts=restarts_lately(seen.all_restarts_s, time.time()),
            is_promised=view.name not in known.unpromised,
            note=None if fault == state.why else fault,
            has_page=seen.is_begun or view.file is not None,
        )
        return row if reported is None else row.model_copy(update=_reported(reported) | _not_known(reported))

    def _driver(self, layout: Layout) -> Driver | None:
        if self.down or self.host is None:
            return None  # each further request would wait just as long
        try:
            return driver_lifecycle.inspect(self.host, layout)
        except DriverHostDown as error:
            self._is_down(error)
            return None

    def _is_down(self, error: DriverHostDown) -> None:
        self.down.append(Problem("the driver host", str(error), "to start it, or to mend its connection"))


def with_tables(row: StreamRow, facts: TableFacts | None) -> StreamRow:
    """Add the facts of the tables to a row; None means that they are not read yet."""
    if facts is None:
        return row
    update = {name: getattr(facts, name) for name in TableFacts.model_fields if name not in ("note", "numbers")}
    if newer := _newer(row, facts.numbers):
        update |= newer | {"report_age_ms": facts.facts_age_ms, "data_ends": None}  # the report was of an earlier batch
    update["is_promised"] = row.is_promised if facts.is_promised is None else facts.is_promised
    update["promise"] = facts.promise and facts.promise.of_policy(update["is_promised"])
    return row.model_copy(update={**update, "note": row.note or facts.note, "is_unread": False})


def with_dags(row: StreamRow, dags: dict[str, KnownDag]) -> StreamRow:
    """Add the paused DAGs for which work waits to a row with the facts of its tables."""
    return row.model_copy(update={"paused": held_up(row.name, dags, row.uncorrected)})


def _newer(row: StreamRow, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of the tables if they are newer than the driver's last report."""
    if numbers.get("batches", 0) <= (row.batches or 0):
        return {}
    return _progress({name: numbers.get(name) for name in _NUMBERS})


def _progress(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return numbers with the age of the committed arrival time; without K before the first tick (0 in tables)."""
    committed = numbers["committed"]
    behind_ms = None if committed is None else max(wall_ms() - committed, 0)
    return {**numbers, "behind_ms": behind_ms} | ({"k_ms": None} if numbers["frontier"] is None else {})


def with_runs(row: StreamRow, runs: list[LastRun]) -> StreamRow:
    """Add the newest runs of its DAGs to a row; if nothing runs, the failure of the newest deployment is its state."""
    failed = next((run for run in runs if run.kind == "stream" and run.state == "failed"), None)
    if failed is None:
        return row.model_copy(update={"runs": runs})
    is_over = (
        any(run.kind == "stream" and run.state != "failed" for run in runs)
        or row.state.tone in ("good", "warn")
        or (row.state.tone == "idle" and row.state.word not in _WITHOUT_DRIVER)
        or (row.reported_at or 0) >= (failed.at or 0)  # since then a driver has started, or has ended as requested
    )
    failed_now = failed.model_copy(update={"tone": "idle" if is_over else "bad"})
    update: dict[str, Any] = {"runs": [failed_now if run is failed else run for run in runs]}
    if not is_over and row.state.tone == "idle":
        update["state"] = StreamStateRow(word="deploy failed", tone="bad", why=failed.says, since=failed.at)
    return row.model_copy(update=update)


def _reported(reported: Status) -> dict[str, Any]:
    old_ms = None if reported.committed is None else reported.at_ms - reported.committed
    is_read = reported.rows_left == 0 and reported.busy_ms is None and not reported.hides_rows
    numbers = _progress({name: getattr(reported, name) for name in _NUMBERS})
    return numbers | {
        "rows_left": reported.unread_rows(wall_ms()),
        "data_ends": reported.committed if is_read and (old_ms or 0) > _LONG_AGO_MS else None,
        "reported_at": reported.at_ms,
    }


def _not_known(reported: Status) -> dict[str, Any]:
    """Return the age of a report, and null for totals that a starting driver reports as 0 before it has read them."""
    is_known = reported.knows_its_source or reported.batches
    totals = {} if is_known else dict.fromkeys(("rows", "answers", "filtered", "quarantined"))
    return totals | {"report_age_ms": None if reported.state in OVER else max(wall_ms() - reported.at_ms, 0)}


def _deployed_kind(view: QueryView) -> str | None:
    """Return the kind of a query with a faulty or missing file; None if no copy of the file was deployed."""
    try:
        return view.query.kind
    except (Refused, OSError):
        return None


def restarts_lately(restarts_s: Sequence[float] | None, now_s: float) -> int | None:
    """Return the number of restarts in the last day; None without a record."""
    return None if restarts_s is None else len([at for at in restarts_s if now_s - _DAY_S < at <= now_s])
