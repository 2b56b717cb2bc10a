"""The answers of failing routes: problems as JSON, and whether they are temporary."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import quote

from deltalake.exceptions import DeltaError
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response

from tailrace.drivers.driver_host import DriverHostDown
from tailrace.ground.errors import Busy, Problem, Refused
from tailrace.orchestration.addresses import PAGES


class NotFound(Refused):
    """Raised for an address without a query, DAG or file."""


def add_handlers(app: FastAPI) -> None:
    """Add the handlers of refusals and failures to an app."""

    @app.exception_handler(Refused)
    def _refused(request: Request, error: Refused) -> Response:
        status = HTTPStatus.NOT_FOUND if isinstance(error, NotFound) else HTTPStatus.CONFLICT
        return problems_of(status, error.problems, isinstance(error, Busy))

    @app.exception_handler(DeltaError)
    @app.exception_handler(OSError)
    def _away(request: Request, error: Exception) -> Response:
        where = "the driver host" if isinstance(error, DriverHostDown) else "the warehouse"
        problem = Problem(where, str(error) or type(error).__name__, "to wait: the page asks again")
        return problems_of(HTTPStatus.SERVICE_UNAVAILABLE, [problem], is_temporary=True)

    @app.exception_handler(RequestValidationError)
    def _unreadable(request: Request, error: RequestValidationError) -> Response:
        problems = [
            Problem(".".join(map(str, each["loc"])), str(each["msg"]), "to take an address that a page has")
            for each in error.errors()
        ]
        return problems_of(HTTPStatus.CONFLICT, problems)

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> Response:
        """Redirect a browser that requests a page to the log-in; answer other requests as JSON."""
        if error.status_code == HTTPStatus.UNAUTHORIZED and "text/html" in request.headers.get("accept", ""):
            return RedirectResponse(_log_in(request), HTTPStatus.SEE_OTHER)
        is_unknown = error.status_code == HTTPStatus.UNAUTHORIZED
        remedy = "to log in to Airflow" if is_unknown else "to ask for the right in Airflow"
        return problems_of(error.status_code, [Problem(request.url.path, str(error.detail), remedy)])


def _log_in(request: Request) -> str:
    """Return the address of Airflow's log-in, with the way back to the page."""
    prefix = str(request.scope.get("root_path", "")).removesuffix(PAGES)
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{prefix}/api/v2/auth/login?next={quote(f'{request.url.path}{query}', safe='')}"


def problems_of(status: int, problems: Sequence[Problem], is_temporary: bool = False) -> JSONResponse:
    """Return an answer with some problems; their remedies are sentences."""
    listed = [{"where": each.where, "fault": each.fault, "remedy": each.advice} for each in problems]
    return JSONResponse({"problems": listed, "is_temporary": is_temporary}, status)
