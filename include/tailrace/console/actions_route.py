"""The actions of a user on a query: requests to Airflow's own API, which the page sends as this user.

So Airflow decides who may, keeps its record of who did, and refuses requests that another site forges: a cookie that
such a site sends along (SameSite=Lax) comes with no JSON. No route of the console changes anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from airflow.api_fastapi.auth.managers.base_auth_manager import ResourceMethod
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.models import DagModel
from fastapi import APIRouter, Depends

from tailrace.console import rights
from tailrace.console.airflow_runs import task_state
from tailrace.console.declared_queries import Known
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.ground.errors import Refused
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
    """An action, and what it will do in words; `run` is the path of its run's page, below Airflow's URL."""

    name: str
    title: str
    says: str
    is_allowed: bool
    why_not: str | None
    fields: list[Field]
    requests: list[AirflowRequest]
    run: str | None


class Actions(Shown):
    """The actions on a query, those included that this user may not take, or that make no sense now."""

    actions: list[Action]


@router.get("/actions", dependencies=[Depends(rights.require_page)])
def actions(name: str, user: GetUserDep) -> Actions:
    """Return what the user can do with a query, and how."""
    view = Known.view(name)
    try:
        query = view.query
    except Refused:
        query = None
    return Actions(actions=list(_actions(view, query, user)))


def _actions(view: QueryView, query: Query | None, user: BaseUser) -> Iterator[Action]:
    name = view.name
    yield _Run(f"stream_{name}", user).action(
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
    if query is None or not query.has_late_tuples:
        return
    yield _Run(f"correct_{name}", user).action(
        "correct",
        "Correct",
        f"Evaluates closed windows of {name} again, over all that has arrived, and gives those that late tuples missed "
        "their next version. Without a range it does so for all of them. A run over a range corrects its windows; the "
        "ledger's gaps stay until the scheduled runs, or one without a range, have come.",
        [
            Field(
                name="from", label="From", type="datetime", value=None, help="Windows that end after this event time."
            ),
            Field(
                name="to", label="To", type="datetime", value=None, help="Windows that start before this event time."
            ),
        ],
    )
    proposes = isinstance(query.policy, CacheDuration)
    outcome = "The stream takes up what is proposed, unless it is a dry run." if proposes else "Nothing is written."
    yield _Run(f"calibrate_{name}", user).action(
        "calibrate",
        "Calibrate",
        f"Measures over the newest windows how accurate the answers of {name} would have been for several waits K. "
        f"{outcome} The evidence is in the run's log.",
        [Field(name="dry_run", label="Dry run", type="boolean", value=True, help="Measure, and write nothing.")]
        if proposes
        else [],
    )


def _drain(view: QueryView, user: BaseUser) -> Action:
    dag, run = f"stream_{view.name}", watching_run(view.layout)
    watches = run and task_state(dag, run, "supervise") not in (None, *OVER)
    why_not = (
        None if watches else "no run of Airflow's watches the stream; tailrace drain ends its driver, if it has one"
    )
    run = quote(run, safe="")
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


@dataclass(frozen=True)
class _Run:
    """A run of a DAG that the user may or may not trigger."""

    dag_id: str
    user: BaseUser

    def action(self, name: str, title: str, says: str, fields: list[Field]) -> Action:
        dag = DagModel.get_dagmodel(self.dag_id)
        why_not = None
        if dag is None or dag.is_stale:
            why_not = f"Airflow has no DAG {self.dag_id}: it may not have read the query file yet, or refuses it"
        elif not self._may("POST", DagAccessEntity.RUN):
            why_not = f"this needs the right to trigger runs of {self.dag_id}"
        elif dag.is_paused and not self._may("PUT", None):
            why_not = f"{self.dag_id} is paused, and to unpause it needs the right to edit it"
        requests = [AirflowRequest(method="POST", path=f"dags/{self.dag_id}/dagRuns", body=_TRIGGER)]
        if dag is not None and dag.is_paused:
            unpause = AirflowRequest(method="PATCH", path=f"dags/{self.dag_id}", body={"is_paused": False})
            requests, says = (
                [unpause, *requests],
                f"{says} {self.dag_id} is paused: this unpauses it, so its schedule runs, too.",
            )
        return Action(
            name=name,
            title=title,
            says=says,
            is_allowed=why_not is None,
            why_not=why_not,
            fields=fields,
            requests=requests,
            run=f"dags/{self.dag_id}/runs/{{dag_run_id}}",
        )

    def _may(self, method: ResourceMethod, entity: DagAccessEntity | None) -> bool:
        return rights.may(self.user, method, self.dag_id, entity)


_TRIGGER: dict[str, Any] = {"logical_date": None, "conf": {}}
