"""The page with the end of a driver's log, for users who may read the task logs of its DAG."""

from __future__ import annotations

from http import HTTPStatus

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import requires_access_dag
from fastapi import APIRouter, Depends
from fastapi.responses import PlainTextResponse

from tailrace.drivers import driver_lifecycle
from tailrace.drivers.driver_host import DriverHostDown
from tailrace.drivers.programs import checked
from tailrace.ground.errors import Refused
from tailrace.orchestration import settings
from tailrace.orchestration.links import DAG_PREFIX
from tailrace.storage.layout import Layout

_LINES = 1000

router = APIRouter()
_may_read_logs = requires_access_dag("GET", DagAccessEntity.TASK_LOGS)  # the right is for the DAG in the path


@router.get("/driver_log/{dag_id}", dependencies=[Depends(_may_read_logs)])
def driver_log(dag_id: str) -> PlainTextResponse:
    """Return the last lines of the log of a stream's driver, given the stream's DAG."""
    query = dag_id.removeprefix(DAG_PREFIX)
    if query == dag_id:
        return _page(f"{dag_id} is no DAG of a stream: it has no driver", HTTPStatus.NOT_FOUND)
    settings.use_in_shell()  # also connections from Airflow's database
    try:
        layout = Layout.for_query(settings.warehouse(), checked(query))
        lines = driver_lifecycle.last_lines(settings.driver_host(), layout, _LINES)
    except Refused as refused:
        return _page(str(refused), HTTPStatus.NOT_FOUND)
    except DriverHostDown as down:
        return _page(str(down), HTTPStatus.SERVICE_UNAVAILABLE)
    return _page(lines or f"the driver host has no log of {query}: its driver was not deployed, or was cleared away")


def _page(text: str, status: HTTPStatus = HTTPStatus.OK) -> PlainTextResponse:
    return PlainTextResponse(f"{text}\n", status)
