"""The actions of a user on a query: requests that the page sends to Airflow's own API as this user.

So Airflow checks the right, and keeps the audit log. It refuses forged requests from other sites, as browsers do not
send cookies (SameSite=Lax) with their JSON. No route of the console changes anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from airflow.api_fastapi.auth.managers.base_auth_manager import ResourceMethod
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import APIRouter, Depends

from tailrace.console import dry_runs, rights
from tailrace.console.airflow_dags import PAUSABLE, KnownDag, read_dags
from tailrace.console.airflow_runs import task_state
from tailrace.console.declared_queries import QueryCatalogue
from tailrace.console.dry_runs import DryRun
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.ground.errors import Refused
from tailrace.orchestration.addresses import DAG_KINDS
from tailrace.orchestration.submit import MEMORY_WORDS, Options
from tailrace.orchestration.triggers import OVER
from tailrace.orchestration.watch_claim import watching_run
from tailrace.panels.panel import Shown
from tailrace.panels.query_view import QueryView
from tailrace.query.query import Query

router = APIRouter(prefix="/api/queries/{name}")


class Field(Shown):
    """A field of an action's form; it goes into the `conf` of the run."""

    name: str
    label: str
    type: Literal["datetime", "boolean", "text", "integer"]
    value: bool | int | str | None
    help: str


class AirflowRequest(Shown):
    """A request to Airflow's API; the path is below `/api/v2/`."""

    method: Literal["POST", "PATCH"]
    path: str
    body: dict[str, Any]


class Action(Shown):
    """An action, with a description of its effect; `run` is the path of its run's page, below Airflow's URL.

    `dry_run` is its newest dry run, with the result. `asks` is the effect of a form without any value, which the page
    asks to confirm.
    """

    name: str
    title: str
    says: str
    is_allowed: bool
    why_not: str | None
    fields: list[Field]
    requests: list[AirflowRequest]
    run: str | None
    dry_run: DryRun | None = None
    asks: str | None = None


class Actions(Shown):
    """The actions on a query, including actions that are not allowed to this user, or not useful now."""

    actions: list[Action]


@router.get("/actions", dependencies=[Depends(rights.require_page)])
def actions(name: str, user: GetUserDep) -> Actions:
    """Return the actions that the user can take on a query."""
    view = QueryCatalogue.view(name)
    try:
        query = view.query
    except Refused:
        query = None
    return Actions(actions=list(_actions(view, query, user)))


def _actions(view: QueryView, query: Query | None, user: BaseUser) -> Iterator[Action]:
    name = view.name
    dags = _Dags(name, read_dags(f"{kind}_{name}" for kind in DAG_KINDS), QueryCatalogue.fault(name), user)
    yield dags.run(
        "stream",
        "deploy",
        "Deploy",
        f"Checks the query file and the source, starts the driver of {name} on the driver host, and watches it. "
        "Where it is deployed already nothing changes: the new run is skipped.",
        [
            Field(
                name="driver_memory",
                label="Memory of the driver",
                type="text",
                value=Options.driver_memory,
                help=f"Heap of its JVM, {MEMORY_WORDS}.",
            ),
        ],
    )
    yield _drain(view, user)
    if query is not None and query.has_late_tuples:
        yield _correct(dags)
        yield from _calibrations(view, dags, isinstance(query.policy, CacheDuration))
    if query is not None:
        yield _rebuild(view, dags)
    yield from dags.unpause()


def _correct(dags: _Dags) -> Action:
    correct = dags.run(
        "correct",
        "correct",
        "Correct",
        f"Evaluates closed windows of {dags.query} again, over all that has arrived, and gives those that late tuples "
        "missed their next version. Without a range it does so for all of them. A run over a range corrects its "
        "windows; the ledger's gaps stay until the scheduled runs, or one without a range, have come.",
        [
            Field(
                name="from", label="From", type="datetime", value=None, help="Windows that end after this event time."
            ),
            Field(
                name="to", label="To", type="datetime", value=None, help="Windows that start before this event time."
            ),
        ],
    )
    asks = f"Without a range every closed window of {dags.query} is evaluated again, over all of its history."
    return correct.model_copy(update={"asks": asks})


def _calibrations(view: QueryView, dags: _Dags, proposes: bool) -> Iterator[Action]:
    """Yield the action to calibrate; and the action to accept a dry run's K, while that is valid."""
    name, newest = view.name, dry_runs.of_calibration(view, dags.user)
    outcome = "The stream takes up what is proposed, unless it is a dry run." if proposes else "Nothing is written."
    calibrate = dags.run(
        "calibrate",
        "calibrate",
        "Calibrate",
        f"Measures over the newest windows how accurate the answers of {name} would have been for several waits K. "
        f"{outcome} The evidence is in the run's log; of a dry run it is here, too.",
        [Field(name="dry_run", label="Dry run", type="boolean", value=True, help="Measure, and write nothing.")]
        if proposes
        else [],
    )
    yield calibrate if newest is None else calibrate.model_copy(update={"dry_run": newest.shown})
    if newest is not None and newest.report is not None and newest.why_not is None:
        yield dags.run(
            "calibrate",
            "accept",
            f"Accept K = {newest.k}",
            f"Proposes for {name} what the dry run {newest.stored.run_id} measured: {newest.report.evidence}. Nothing "
            "is measured again. The running stream takes it up between two batches, from the next tick on.",
            [],
            {"accept": newest.stored.run_id},
        )


def _rebuild(view: QueryView, dags: _Dags) -> Action:
    """Return the action to rebuild; only as a dry run while a run watches the stream."""
    field = Field(
        name="dry_run", label="Dry run", type="boolean", value=True, help="Say what it would do, and no more."
    )
    is_watched = watch(view) is not None
    only = f"Only as a dry run now: {_WATCHED} {view.name}; drain it first." if is_watched else ""
    action = dags.run(
        "rebuild",
        "rebuild",
        "Rebuild",
        f"Says what it would take to build the state of {view.name} again from its history: what changes, and how "
        f"many rows are read. Without Dry run it does so: answers stay, or all are given again where they change, and "
        f"what was before is kept aside. {only}".strip(),
        [] if is_watched else [field],
        {"dry_run": True},
    )
    if view.layout.is_remote:
        return action.model_copy(update={"is_allowed": False, "why_not": _IN_A_STORE})
    return action.model_copy(update={"dry_run": dry_runs.of_rebuild(view.name, dags.user)})


def _drain(view: QueryView, user: BaseUser) -> Action:
    dag, run = f"stream_{view.name}", watch(view)
    why_not = None if run else "no run of Airflow's watches the stream; tailrace drain ends its driver, if it has one"
    run = quote(run or watching_run(view.layout), safe="")
    is_allowed = rights.may(user, "PUT", dag, DagAccessEntity.RUN)
    return Action(
        name="drain",
        title="Drain",
        says=f"Marks the run that watches {view.name} as success: its driver finishes its batch and ends within a "
        "minute. What is open stays open; the next deployment goes on from there.",
        is_allowed=is_allowed and why_not is None,
        why_not=why_not if is_allowed else f"this needs the right to change runs of {dag}",
        fields=[],
        requests=[AirflowRequest(method="PATCH", path=f"dags/{dag}/dagRuns/{run}", body={"state": "success"})],
        run=f"dags/{dag}/runs/{run}",
    )


def watch(view: QueryView) -> str | None:
    """Return the Airflow run that watches the stream now; None without one."""
    run = watching_run(view.layout)
    watches = run and task_state(f"stream_{view.name}", run, "supervise") not in (None, *OVER)
    return run if watches else None


@dataclass(frozen=True)
class _Dags:
    """The DAGs of a query that Airflow reads now, and what the user may do with them.

    Attributes
    ----------
    fault : str or None
        The reason why no file declares the query, so that no run of a DAG could do its work.
    """

    query: str
    known: dict[str, KnownDag]
    fault: str | None
    user: BaseUser

    def run(
        self, kind: str, name: str, title: str, says: str, fields: list[Field], conf: Mapping[str, Any] | None = None
    ) -> Action:
        """Return the action that triggers a run of a DAG; it unpauses the DAG first, as the run would never begin."""
        dag_id = f"{kind}_{self.query}"
        is_paused = dag_id in self.known and self.known[dag_id].is_paused
        requests = [
            AirflowRequest(method="POST", path=f"dags/{dag_id}/dagRuns", body=_TRIGGER | {"conf": {**(conf or {})}})
        ]
        if is_paused:
            too = ", so its schedule runs, too" if self.known[dag_id].is_scheduled else ""
            requests, says = [_unpause(dag_id), *requests], f"{says} {dag_id} is paused: this unpauses it{too}."
        why_not = self._why_not(dag_id)
        return Action(
            name=name,
            title=title,
            says=says,
            is_allowed=why_not is None,
            why_not=why_not,
            fields=fields,
            requests=requests,
            run=f"dags/{dag_id}/runs/{{dag_run_id}}",
        )

    def unpause(self) -> Iterator[Action]:
        """Yield an action to unpause each paused DAG of which a page may have to warn."""
        for kind, effect in PAUSABLE.items():
            dag_id = f"{kind}_{self.query}"
            if dag_id in self.known and self.known[dag_id].is_paused:
                is_allowed = self._may("PUT", dag_id)
                yield Action(
                    name=f"unpause_{kind}",
                    title=f"Unpause {dag_id}",
                    says=effect,
                    is_allowed=is_allowed,
                    why_not=None if is_allowed else f"this needs the right to edit {dag_id}",
                    fields=[],
                    requests=[_unpause(dag_id)],
                    run=f"dags/{dag_id}",
                )

    def _why_not(self, dag_id: str) -> str | None:
        """Return the reason why a run of a DAG can't be triggered, or could not do its work; None without one."""
        if self.fault is not None:
            return self.fault
        if dag_id not in self.known:
            return f"Airflow has no DAG {dag_id}: it may not have read the query file yet, or refuses it"
        if not self._may("POST", dag_id, DagAccessEntity.RUN):
            return f"this needs the right to trigger runs of {dag_id}"
        if self.known[dag_id].is_paused and not self._may("PUT", dag_id):
            return f"{dag_id} is paused, and to unpause it needs the right to edit it"
        return None

    def _may(self, method: ResourceMethod, dag_id: str, entity: DagAccessEntity | None = None) -> bool:
        return rights.may(self.user, method, dag_id, entity)


def _unpause(dag_id: str) -> AirflowRequest:
    return AirflowRequest(method="PATCH", path=f"dags/{dag_id}", body={"is_paused": False})


_IN_A_STORE = "the warehouse is in an object store, and a rebuild renames directories, which only a disk has"
_TRIGGER: dict[str, Any] = {"logical_date": None}
_WATCHED = "a run of Airflow's watches"
