"""Serves the pages as files: shells that read their data as JSON, with modules, styles and pictures.

The addresses of a page's files contain a version of all files, so that browsers request each of them once.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from tailrace.console.failures import NotFound
from tailrace.console.rights import require_page
from tailrace.ground.errors import Problem
from tailrace.ground.query_names import is_query_name
from tailrace.orchestration.addresses import DAG_KINDS

STATIC = (Path(__file__).parent / "static").resolve()
_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".html": "text/html",
    "": "text/plain",
}

_OWN_ADDRESS = re.compile(r'((?:href|src)="(?:\.\./)?static)/')
_FOR_EVER = "private, max-age=31536000, immutable"

router = APIRouter()


@router.get("/")
def streams(request: Request, user: GetUserDep) -> Response:
    """Return the page with all streams."""
    return _file("streams.html", request)


@router.get("/glossary")
def glossary(request: Request, user: GetUserDep) -> Response:
    """Return the page with the glossary."""
    return _file("glossary.html", request)


@router.get("/queries/{name}", dependencies=[Depends(require_page)])
def query(name: str, request: Request) -> Response:
    """Return the page of a query."""
    return _file("query.html", request)


@router.get("/dags/{dag_id}")
def dag(dag_id: str, request: Request, user: GetUserDep) -> Response:
    """Redirect from a DAG to the page of its query."""
    kind, _, name = dag_id.partition("_")
    if kind not in DAG_KINDS or not is_query_name(name):
        fault = "it belongs to no query of tailrace"
        raise NotFound([Problem(f"DAG {dag_id}"[:200], fault, f"to take a DAG called {' or '.join(DAG_KINDS)}_QUERY")])
    root = str(request.scope.get("root_path", ""))
    return RedirectResponse(f"{root}/queries/{name}", 303)


@router.get("/static/{path:path}")
def static(path: str, request: Request, user: GetUserDep) -> Response:
    """Return a file of the pages, from an address without a version."""
    return _file(path, request)


@router.get("/static-{version}/{path:path}")
def versioned(version: str, path: str, request: Request, user: GetUserDep) -> Response:
    """Return a file of the pages; a page from before an upgrade gets the present file, and does not cache it."""
    return _file(path, request, version)


def _file(path: str, request: Request, version: str | None = None) -> Response:
    """Return a file, or that the browser's copy is valid; browsers cache a file of the present version."""
    with suppress(ValueError, OSError):  # a zero byte, or a name that is too long
        file = (STATIC / path).resolve()
        if file.is_relative_to(STATIC) and file.is_file() and file.suffix in _TYPES:
            content = file.read_bytes()
            if file.suffix == ".html":
                content = _OWN_ADDRESS.sub(rf"\1-{_version()}/", content.decode()).encode()
            caching = _FOR_EVER if version is not None and version == _version() else "no-cache"
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            headers = {"Cache-Control": caching, "ETag": tag}
            if request.headers.get("If-None-Match") == tag:
                return Response(status_code=304, headers=headers)
            return Response(content, media_type=_TYPES[file.suffix], headers=headers)
    raise NotFound([Problem(f"static/{path}"[:200], "there is no such file", "to take an address that a page has")])


def _version() -> str:
    """Return the version of the files: equal on all servers with the same files, and changed by each edit."""
    return _version_of(tuple(sorted(_stamps(str(STATIC)))))


def _stamps(directory: str) -> Iterator[tuple[str, int, int]]:
    """Yield the path, time and size of each file; by scandir, as each request needs them."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _stamps(entry.path)
            elif entry.is_file():
                yield entry.path, (stat := entry.stat()).st_mtime_ns, stat.st_size


@lru_cache(maxsize=1)
def _version_of(stamps: tuple[tuple[str, int, int], ...]) -> str:
    every = hashlib.sha256()
    for file in (Path(path) for path, *_ in stamps):
        every.update(f"{file.relative_to(STATIC)}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return every.hexdigest()[:16]
