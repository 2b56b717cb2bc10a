"""Links from a query's tasks, DAGs and assets to its page, its driver's log and its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from airflow.configuration import conf
from airflow.sdk import BaseOperator, BaseOperatorLink

from tailrace.orchestration.addresses import PAGES

if TYPE_CHECKING:
    from airflow.sdk.types import TaskInstanceKey

DAG_PREFIX = "stream_"
"""The prefix of a stream's DAG id, before the name of its query."""


class StreamLink(BaseOperatorLink):
    """Link to the query's page among the streams, at the part about the task."""

    name = "Stream"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        part: str = getattr(operator, "part", "frontier")
        return page_url(_query(operator), part)


class DriverLogLink(BaseOperatorLink):
    """Link to the page with the end of the driver's log, which is read-only, behind Airflow's log-in."""

    name = "Driver log"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        return f"{_base_url()}{PAGES}/driver_log/{quote(DAG_PREFIX + _query(operator))}"


class TablesLink(BaseOperatorLink):
    """Link to the query's tables among Airflow's assets."""

    name = "Tables"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        return f"{_base_url()}/assets?name_pattern={quote(_query(operator))}."


def page_url(query: str, part: str) -> str:
    """Return the address of a part of a query's page."""
    return f"{_base_url()}{_page(query, part)}"


def doc_line(query: str, part: str) -> str:
    """Return the first line of the documentation of a query's DAG: links that work at any address of Airflow."""
    prefix = urlsplit(_base_url()).path
    return f"**[The page of {query}]({prefix}{_page(query, part)})** · [all streams]({prefix}{PAGES}/)\n"


def _page(query: str, part: str) -> str:
    return f"{PAGES}/queries/{quote(query)}?part={part}"


def _base_url() -> str:
    return (conf.get("api", "base_url", fallback="") or "").rstrip("/")


def _query(operator: BaseOperator) -> str:
    query: str = vars(operator)["query"]
    return query
