"""The routes of the page Streams, and of the head of a query's page."""

from __future__ import annotations

from typing import Annotated, Any

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import APIRouter, Depends, Query

from tailrace.console.declared_queries import Known
from tailrace.console.rights import may_list, readable, require_page
from tailrace.console.stream_rows import Hosted, StreamRow, with_tables
from tailrace.console.table_facts import KeptFacts
from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.orchestration.links import DAG_KINDS
from tailrace.panels.panel import Shown
from tailrace.panels.registry import PANELS
from tailrace.storage.status import wall_ms

_ILL_FIRST = ("bad", "broken promise", "warn", "good", "idle")
_OF_TABLES = ("promise", "late_hour", "quarantined_hour", "last_correction")
_WAIT_S = 0.5  # for tables that were not read yet; the page asks again
_FACTS = KeptFacts()

router = APIRouter(prefix="/api")


class ProblemShown(Shown):
    """A fault with its remedy; see `Problem`."""

    where: str
    fault: str
    remedy: str


class Streams(Shown):
    """Some of all queries, in the order that was asked for.

    Attributes
    ----------
    total : int
        The queries that fit the search; with `only_ill` the ill ones.
    ill : int
        Those of all that fit whose state needs attention, or whose promise is known to be broken.
    unread : int
        Those of all that fit whose tables were not read yet, so their promises are not known.
    """

    now: int
    total: int
    ill: int
    unread: int
    queries: list[StreamRow]
    problems: list[ProblemShown]


class Summary(StreamRow):
    """The row of a query, with the names of its DAGs and of the parts of its page."""

    now: int
    dags: dict[str, str | None]
    parts: list[str]
    has_late_tuples: bool


@router.get("/streams")
def streams(
    user: GetUserDep,
    search: str = "",
    sort: str = "state",
    only_ill: bool = False,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Streams:
    """Return a page of the queries that the user may read; it waits for the tables of that page alone."""
    known, hosted = Known.read(), Hosted.connect()
    column, is_descending = sort.removeprefix("-"), sort.startswith("-")
    if column not in StreamRow.model_fields or column in _OF_TABLES:
        raise refuse("sort", f"there is no order by {column[:100]}", "state or name")
    layouts = {name: known.views[name].layout for name in readable(known.views, user)}
    bare = {row.name: row for row in hosted.rows(list(layouts), known)}
    rows = [with_tables(row, _FACTS.known(layouts[name])) for name, row in bare.items()]
    fitting = [row for row in rows if search.lower() in f"{row.name} {row.kind} {row.state.word}".lower()]
    ordered = _ordered(list(filter(_is_ill, fitting)) if only_ill else fitting, column, is_descending)
    page = ordered[offset : offset + limit]
    facts = _FACTS.get([layouts[row.name] for row in page], _WAIT_S)
    shown = [with_tables(bare[row.name], each) for row, each in zip(page, facts, strict=True)]
    _FACTS.read_behind(layouts.values())
    now_shown = {row.name: row for row in shown}
    fitting = [now_shown.get(row.name, row) for row in fitting]
    problems = known.problems if may_list(user) else []
    problems = [*hosted.down[:1], *problems]
    return Streams(
        now=wall_ms(),
        total=len(ordered),
        ill=sum(map(_is_ill, fitting)),
        unread=sum(_FACTS.known(layouts[row.name]) is None for row in fitting),
        queries=shown,
        problems=list(map(_shown, problems)),
    )


@router.get("/queries/{name}/summary", dependencies=[Depends(require_page)])
def summary(name: str) -> Summary:
    """Return what stands at the head of a query's page."""
    known = Known.read()
    view = Known.view(name)
    (row,) = Hosted.connect().rows([name], known)
    (facts,) = _FACTS.get([view.layout], _WAIT_S)
    try:
        has_late_tuples = view.query.has_late_tuples
    except Refused:
        has_late_tuples = True
    kinds = [kind for kind in DAG_KINDS if view.file is not None and (has_late_tuples or kind in ("stream", "publish"))]
    return Summary(
        **with_tables(row, facts).model_dump(),
        now=wall_ms(),
        dags={kind: f"{kind}_{name}" if kind in kinds else None for kind in DAG_KINDS},
        parts=[panel.name for panel in PANELS],
        has_late_tuples=has_late_tuples,
    )


def _ordered(rows: list[StreamRow], column: str, is_descending: bool) -> list[StreamRow]:
    """Return rows in the order of a column: equal ones by name, unknown values last, states the worst first."""

    def value(row: StreamRow) -> Any:
        return _ILL_FIRST.index(_severity(row)) if column == "state" else getattr(row, column)

    by_name = sorted(rows, key=lambda row: row.name)
    known = sorted((row for row in by_name if value(row) is not None), key=value, reverse=is_descending)
    return known + [row for row in by_name if value(row) is None]


def _severity(row: StreamRow) -> str:
    is_broken = row.promise is not None and row.promise.state == "broken"
    return "broken promise" if is_broken and row.state.tone != "bad" else row.state.tone


def _is_ill(row: StreamRow) -> bool:
    return _severity(row) not in ("good", "idle")


def _shown(problem: Problem) -> ProblemShown:
    return ProblemShown(where=problem.where, fault=problem.fault, remedy=problem.remedy)
