"""The rows of the page Streams: a row for each query that is declared, has a stream, or was refused."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from deltalake.exceptions import DeltaError

from tailrace.console.declared_queries import Known
from tailrace.console.stream_state import StreamState, state_of
from tailrace.console.table_facts import LastCorrection, Promise, TableFacts
from tailrace.drivers.driver_host import Driver, DriverHost, DriverHostDown
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.launch import starts_file
from tailrace.ground.errors import Problem, Refused
from tailrace.orchestration import driver_lifecycle, settings
from tailrace.panels.panel import Shown
from tailrace.panels.query_view import QueryView
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status, wall_ms

_ASKED_AT_ONCE = 8  # drivers of the host
_DAY_S = 86_400


class State(Shown):
    """The state of a stream; see `StreamState`."""

    word: str
    tone: str
    why: str | None


class StreamRow(Shown):
    """A row of the page Streams."""

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
    """The driver host, asked for the drivers of several queries at once.

    Attributes
    ----------
    host : DriverHost or None
        None where its connection is missing.
    down : list of Problem
        Why it does not answer, once it has not; it is not asked again then.
    """

    host: DriverHost | None
    down: list[Problem]

    @staticmethod
    def connect() -> Hosted:
        """Return the host of the connection."""
        try:
            settings.use_in_shell()  # connections from Airflow's database, too
            return Hosted(settings.driver_host(), [])
        except Refused as refused:
            return Hosted(None, list(refused.problems[:1]))

    def rows(self, names: list[str], known: Known) -> list[StreamRow]:
        """Return the rows of some known queries without what their tables say."""
        with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
            return list(pool.map(lambda name: self._safe_row(known.views[name], known), names))

    def _safe_row(self, view: QueryView, known: Known) -> StreamRow:
        """Return the row of a query; one whose files can't be read does not hide the others."""
        try:
            return self._row(view, known)
        except (Refused, OSError, DeltaError) as error:
            why = str(error).split("\n")[0]
            file = None if view.file is None else view.file.name
            return StreamRow(
                name=view.name,
                kind=known.kinds.get(view.name),
                file=file,
                state=State(word="unknown", tone="bad", why=why),
            )

    def _row(self, view: QueryView, known: Known) -> StreamRow:
        reported, is_begun = Status.read(view.layout), view.layout.stream.is_dir()
        driver, state = self._driver(view.layout), StreamState("unknown", "bad", "the driver host does not answer")
        if driver is not None:
            state = state_of(DriverStatus(driver, reported, wall_ms()), is_begun)
        fault = known.faults.get(view.name)
        if fault is not None and state.word == "not deployed":
            state = StreamState("refused", "bad", fault)
        row = StreamRow(
            name=view.name,
            kind=known.kinds.get(view.name) or _deployed_kind(view),
            file=None if view.file is None else view.file.name,
            state=State(word=state.word, tone=state.tone, why=state.why),
            starts=restarts_lately(view.layout, time.time()),
            note=None if fault == state.why else fault,
        )
        return row if reported is None else row.model_copy(update=_reported(reported))

    def _driver(self, layout: Layout) -> Driver | None:
        if self.host is None:
            return None if layout.stream.is_dir() else Driver(layout.home.name, "absent", None, None, "")
        if self.down:
            return None  # each further question would wait as long as this one did
        try:
            return driver_lifecycle.inspect(self.host, layout)
        except DriverHostDown as error:
            self.down.append(Problem("the driver host", str(error), "to start it, or to mend its connection"))
            return None


def with_tables(row: StreamRow, facts: TableFacts | None) -> StreamRow:
    """Add to a row what the tables say; None: they are not read yet."""
    if facts is None:
        return row
    update = {name: getattr(facts, name) for name in TableFacts.model_fields if name != "note"}
    return row.model_copy(update={**update, "note": row.note or facts.note})


def _reported(reported: Status) -> dict[str, Any]:
    names = ("rows_left", "committed", "frontier", "k_ms", "coverage", "rows", "answers", "filtered", "quarantined")
    behind_ms = None if reported.committed is None else max(wall_ms() - reported.committed, 0)
    return {name: getattr(reported, name) for name in names} | {"behind_ms": behind_ms}


def _deployed_kind(view: QueryView) -> str | None:
    """Return the kind of a query whose file is wrong or gone; None where no copy of it is on record."""
    try:
        return view.query.kind
    except (Refused, OSError):
        return None


def restarts_lately(layout: Layout, now_s: float) -> int | None:
    """Return how often the driver was started again in the last day, of what its launcher keeps: its newest restarts.

    None where it has counted none, or its file can't be read.
    """
    try:
        restarts = json.loads(starts_file(layout.home).read_text())["restarts"]
        return len([at for at in restarts if now_s - _DAY_S < at <= now_s])
    except (OSError, ValueError, KeyError, TypeError):
        return None
