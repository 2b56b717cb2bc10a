"""The Airflow plugin of the console. Each process of Airflow loads it, so it imports little."""

from __future__ import annotations

from asyncio import to_thread
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from airflow.configuration import conf
from airflow.plugins_manager import AirflowPlugin

from tailrace.orchestration.addresses import PAGES


async def _pages(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request (ASGI); the first request imports the app, in a thread, so that others need not wait."""
    module = await to_thread(import_module, "tailrace.console.app")
    await module.app(scope, receive, send)


def _address(page: str) -> str:
    """Return the path of a page on Airflow's server, which may have a prefix."""
    prefix = urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/")
    return f"{prefix}{PAGES}/{page}"


_APPS = [{"name": "tailrace", "app": _pages, "url_prefix": PAGES}]
_VIEWS = [
    {
        "name": "Streams",
        "href": _address(""),
        "destination": "nav",
        "url_route": "streams",
        "nav_top_level": True,
        "icon": _address("static/icon.svg"),
    },
    {"name": "Stream", "href": _address("dags/{DAG_ID}"), "destination": "dag", "url_route": "stream"},
    {"name": "Stream", "href": _address("dags/{DAG_ID}"), "destination": "dag_run", "url_route": "run_stream"},
]


class TailraceConsole(AirflowPlugin):
    """Mounts the console's pages, and adds them to Airflow's navigation and beside each DAG and run."""

    name = "tailrace"
    fastapi_apps = _APPS
    external_views = _VIEWS
