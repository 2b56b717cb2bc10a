"""The routes of the page Streams, and of the head of a query's page."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Annotated, Literal

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import APIRouter, Depends, Query

from tailrace.console import last_runs
from tailrace.console.actions_route import watch
from tailrace.console.airflow_dags import PAUSABLE, read_dags
from tailrace.console.declared_queries import QueryCatalogue
from tailrace.console.facts_cache import FactsCache
from tailrace.console.rights import may_list, readable, require_page
from tailrace.console.stream_order import Wanted, is_ill, ordered
from tailrace.console.stream_rows import Hosted, StreamRow, with_dags, with_runs, with_tables
from tailrace.ground.errors import Problem
from tailrace.orchestration.addresses import DAG_KINDS
from tailrace.panels.panel import Shown
from tailrace.panels.registry import PANELS
from tailrace.storage.layout import Layout
from tailrace.storage.status import wall_ms

WAIT_S = 0.5  # the wait for changed or unread tables in a query's head; the page asks again
FACTS = FactsCache()

router = APIRouter(prefix="/api")


class ProblemShown(Shown):
    """A fault with its remedy, as a sentence; see `Problem`."""

    where: str
    fault: str
    remedy: str


class Streams(Shown):
    """Some of the queries, in the requested order.

    Attributes
    ----------
    total : int
        The number of queries that fit the search and the filters; with `only_ill`, only those that need attention.
    ill : int
        The number of fitting queries whose state needs attention, or whose promise is known to be broken.
    unknown : int
        The number of fitting queries whose state is unknown, and that need no attention otherwise.
    is_host_down : bool
        Whether the driver host does not answer; `problems` says why.
    unread : int
        The number of queries whose tables were not read yet, so that their promises are unknown; they may fit a filter
        by promise.
    states, kinds : list of str
        The words and kinds of all queries that the user may read, for filters.
    """

    now: int
    total: int
    ill: int
    unknown: int
    is_host_down: bool
    unread: int
    states: list[str]
    kinds: list[str]
    queries: list[StreamRow]
    problems: list[ProblemShown]


class QuerySummary(StreamRow):
    """The row of a query, with the names of the DAGs that Airflow now reads, and of the parts of its page.

    Attributes
    ----------
    watch : str or None
        The Airflow run that watches the stream now, which Drain ends.
    problems : list
        The reason why its driver host does not answer.
    """

    now: int
    dags: dict[str, str | None]
    parts: list[str]
    has_late_tuples: bool
    watch: str | None
    problems: list[ProblemShown]


@router.get("/streams")
def streams(
    user: GetUserDep,
    search: str = "",
    state: str = "",
    kind: str = "",
    promise: Literal["", "kept", "broken", "unknown"] = "",
    sort: str = "state",
    only_ill: bool = False,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Streams:
    """Return a page of the queries that the user may read, with the table facts so far, without waiting for tables."""
    known, hosted = QueryCatalogue.read(), Hosted.connect()
    may_list_all = may_list(user)
    if may_list_all:  # a query that only the driver host knows has no DAG, and so no rights
        known = hosted.with_drivers_alone(known)
    layouts = {name: known.views[name].layout for name in readable(known.views, user)}
    dags = read_dags(f"{kind}_{name}" for name in layouts for kind in PAUSABLE)
    facts = {name: FACTS.known(layout) for name, layout in layouts.items()}
    runs = last_runs.read_failures(layouts, user)
    rows = [
        with_runs(with_dags(with_tables(row, facts[row.name]), dags), runs.get(row.name, []))
        for row in hosted.rows(list(layouts), known)
    ]
    wanted = Wanted(search, state, kind, promise)
    fitting = list(filter(wanted.fits, rows))
    in_order = ordered(filter(is_ill, fitting) if only_ill else fitting, sort)
    page = in_order[offset : offset + limit]
    FACTS.read_behind([layouts[row.name] for row in page], layouts.values())
    problems = [*hosted.down[:1], *(known.problems if may_list_all else [])]
    return Streams(
        now=wall_ms(),
        total=len(in_order),
        ill=sum(map(is_ill, fitting)),
        unknown=sum(row.state.word == "unknown" and not is_ill(row) for row in fitting),
        is_host_down=bool(hosted.down),
        unread=sum(row.is_unread for row in filter(wanted.may_fit, rows)),
        states=sorted({row.state.word for row in rows}),
        kinds=sorted({row.kind for row in rows if row.kind is not None}),
        queries=page,
        problems=list(map(_shown, problems)),
    )


@router.get("/queries/{name}/summary", dependencies=[Depends(require_page)])
def summary(name: str, user: GetUserDep) -> QuerySummary:
    """Return the head of a query's page."""
    known = QueryCatalogue.read()
    view = QueryCatalogue.view(name)
    hosted = Hosted.connect()
    (row,) = hosted.rows([name], known)
    facts = FACTS.get(view.layout, WAIT_S)
    dags = read_dags(f"{kind}_{name}" for kind in DAG_KINDS)
    return QuerySummary(
        **with_runs(with_dags(with_tables(row, facts), dags), last_runs.read_all(name, user)).model_dump(),
        now=wall_ms(),
        dags={kind: f"{kind}_{name}" if f"{kind}_{name}" in dags else None for kind in DAG_KINDS},
        parts=[panel.name for panel in PANELS],
        has_late_tuples=view.has_late_tuples,
        watch=watch(view),
        problems=list(map(_shown, hosted.down[:1])),
    )


def answering() -> AbstractContextManager[None]:
    """Pause background reading while a request is answered."""
    return FACTS.answering()


def damage_met(layout: Layout) -> None:
    """Let the next request for a query's row check the files of its tables, as a part of its page has met damage."""
    FACTS.forget(layout)


def _shown(problem: Problem) -> ProblemShown:
    return ProblemShown(where=problem.where, fault=problem.fault, remedy=problem.advice)
