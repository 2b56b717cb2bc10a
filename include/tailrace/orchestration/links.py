"""Links from a query's tasks to its driver's log and to its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from airflow.configuration import conf
from airflow.sdk import BaseOperator, BaseOperatorLink

from tailrace.drivers.homes import program_of
from tailrace.orchestration import settings
from tailrace.orchestration.driver_host_hook import DriverHostHook
from tailrace.storage.layout import Layout

if TYPE_CHECKING:
    from airflow.sdk.types import TaskInstanceKey


class DriverLogLink(BaseOperatorLink):
    """Link to the end of the driver's log on supervisord's pages, which ask for its user and password."""

    name = "Driver log"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        host = DriverHostHook().get_conn()
        program = program_of(host, Layout.of(settings.warehouse(), _query(operator)).home)
        return f"{host.rpc.url}/tail.html?processname={quote(program)}"


class TablesLink(BaseOperatorLink):
    """Link to the query's tables among Airflow's assets."""

    name = "Tables"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        base_url = (conf.get("api", "base_url", fallback="") or "").rstrip("/")
        return f"{base_url}/assets?name_pattern={quote(_query(operator))}."


def _query(operator: BaseOperator) -> str:
    query: str = vars(operator)["query"]
    return query
