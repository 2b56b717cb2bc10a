"""The Airflow plugin that gives the API server a page; each process of Airflow loads it, so it imports little."""

from __future__ import annotations

from asyncio import to_thread
from importlib import import_module
from typing import Any

from airflow.plugins_manager import AirflowPlugin

from tailrace.orchestration.links import PAGES


async def _pages(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request (ASGI); the page is imported at the first one, in a thread, as other requests must not wait."""
    module = await to_thread(import_module, "tailrace.orchestration.driver_log_page")
    await module.app(scope, receive, send)


_APPS = [{"name": "tailrace", "app": _pages, "url_prefix": PAGES}]


class TailracePlugin(AirflowPlugin):
    """Mounts the page with the end of a driver's log."""

    name = "tailrace"
    fastapi_apps = _APPS
