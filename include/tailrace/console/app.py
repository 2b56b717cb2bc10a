"""The console's web app, mounted by Airflow's API server. Its routes only read, and none is anonymous."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import FastAPI, Request, Response

from tailrace.console import actions_route, driver_log, pages, panel_routes, streams_route, uncorrected_route
from tailrace.console.failures import add_handlers

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every answer: browsers only run our scripts, and ask no other server, whatever records contain."""

app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
for part in (pages, streams_route, panel_routes, actions_route, uncorrected_route, driver_log):
    app.include_router(part.router)
add_handlers(app)


@app.middleware("http")
async def _with_headers(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    with streams_route.answering():
        response = await call_next(request)
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response
