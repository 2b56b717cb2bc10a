"""Every address of the pages, from the routes of the app that Airflow mounts."""

from __future__ import annotations

from pathlib import Path

from fastapi.routing import APIRoute

from kit.parts import airflow_home  # noqa: F401 (first)
from tailrace.console import app as module
from tailrace.panels.registry import PANELS

STATIC = Path(module.__file__).with_name("static")
READS = {"GET", "HEAD"}
DOCUMENTS = "docs", "redoc", "openapi.json", "docs/oauth2-redirect"
"""Addresses at which a FastAPI app describes itself, unless it is asked not to."""

_DAG, _NAME, _FILE, _VERSION = "{dag_id}", "{name}", "{path:path}", "{version}"


def routes() -> list[APIRoute]:
    """All routes of the app; each is one of FastAPI's, and no app or directory is mounted beside them."""
    found = module.app.routes
    assert all(isinstance(route, APIRoute) for route in found), found
    return found


def addresses(query: str, answer: str = "") -> list[str]:
    """The addresses of all routes for a query and an answer's id, below `/tailrace/`: each static file has one."""
    files = [str(file.relative_to(STATIC)) for file in sorted(STATIC.rglob("*")) if file.is_file()]
    found = []
    for route in routes():
        path = route.path.removeprefix("/").replace(_DAG, f"stream_{query}").replace(_NAME, query)
        path = path.replace(_VERSION, "1")
        found += [path.replace(_FILE, file) for file in files] if _FILE in path else [path]
    found = [f"{path}?id={answer}" if path.endswith("/answer") else path for path in found]
    assert not any("{" in path for path in found), "a route has a parameter that this test does not know"
    return found


def records(query: str) -> list[str]:
    """The addresses that show raw records."""
    return [f"api/queries/{query}/{panel.name}" for panel in PANELS if panel.shows_records]


def is_page(address: str) -> bool:
    """Whether a browser is to show it as a page by itself."""
    return address in ("", "glossary") or address.split("/", maxsplit=1)[0] in ("queries", "dags")
