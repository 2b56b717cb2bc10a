"""The Airflow plugin that gives the API server a page; each process of Airflow loads it, so it imports little."""

from __future__ import annotations

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from tailrace.orchestration.links import PAGES


async def _pages(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request (ASGI), importing the page at the first one."""
    from tailrace.orchestration.driver_log_page import app  # noqa: PLC0415 (takes long to import)

    await app(scope, receive, send)


_APPS = [{"name": "tailrace", "app": _pages, "url_prefix": PAGES}]


class TailracePlugin(AirflowPlugin):
    """Mounts the page with the end of a driver's log."""

    name = "tailrace"
    fastapi_apps = _APPS
