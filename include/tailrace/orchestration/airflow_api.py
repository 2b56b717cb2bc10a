"""Airflow's REST API, asked patiently: an answer that does not come in time is asked for again."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx

from tailrace.duration import format_time

_ANSWER_S = 30.0
_PATIENCE_S, _AGAIN_S = 600.0, 2.0  # a busy laptop may give no answer for minutes
_SAY_S = 30.0  # between two messages that an answer is missing
_MAY_REPEAT = ("GET", "PATCH")  # done twice, it is as done once


@dataclass(frozen=True)
class Api:
    """Airflow's REST API, version 2, as a logged-in user."""

    url: str
    token: str

    @staticmethod
    def log_in(url: str, user: str, password: str, patient: bool = True) -> Api:
        """Log in; one who is not patient tries once, and is told at once that there is no answer."""
        body, ask = {"username": user, "password": password}, _patiently if patient else _once
        answer = ask("the log-in", lambda: httpx.post(f"{url}/auth/token", json=body, timeout=_ANSWER_S))
        answer.raise_for_status()
        return Api(url, answer.json()["access_token"])

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None, **query: Any) -> Any:
        """The API's answer as plain data; a POST is sent once, since it may have been done without an answer.

        Raises
        ------
        httpx.HTTPStatusError
            When it refuses; the answer's text says why.
        TimeoutError
            When no answer comes, however often it is asked for; says what was asked.
        """
        ask = _patiently if method in _MAY_REPEAT else _once
        answer = ask(f"{method} {path}", lambda: self._send(method, path, body, query))
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def trigger(self, dag: str, conf: Mapping[str, Any] | None = None) -> str:
        """Trigger a run of a DAG, once however often it is asked for, and give its id.

        The id is chosen here: where an answer was lost, the next one says that the run is there.
        """
        run = f"manual__{format_time(time.time_ns() // 1_000_000)}_{secrets.token_hex(4)}"
        body = {"dag_run_id": run, "logical_date": None, "conf": dict(conf or {})}
        path = f"dags/{dag}/dagRuns"
        answer = _patiently(f"POST {path}", lambda: self._send("POST", path, body, {}))
        if answer.status_code != HTTPStatus.CONFLICT:
            answer.raise_for_status()
        return run

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None, query: Mapping[str, Any]) -> httpx.Response:
        return httpx.request(
            method,
            f"{self.url}/api/v2/{path}",
            json=body,
            params=query,
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=_ANSWER_S,
        )


def _once(what: str, send: Callable[[], httpx.Response]) -> httpx.Response:
    try:
        return send()
    except httpx.TransportError as error:
        raise TimeoutError(f"Airflow's API gave no answer to {what}: {type(error).__name__}: {error}") from error


def _patiently(what: str, send: Callable[[], httpx.Response]) -> httpx.Response:
    """Send until there is an answer that is no error of the server's: SQLite may be locked, the machine busy."""
    said_s = time.monotonic()
    end = said_s + _PATIENCE_S
    while True:
        try:
            answer = send()
            if not answer.is_server_error:
                return answer
            wrong = f"{answer.status_code} {answer.text[-500:]}"
        except httpx.TransportError as error:
            wrong = f"{type(error).__name__}: {error}"
        if time.monotonic() > end:
            raise TimeoutError(f"Airflow's API: {what} was tried for {_PATIENCE_S:.0f} s, in the end: {wrong}")
        if time.monotonic() - said_s >= _SAY_S:
            print(f"waiting for Airflow's API to answer {what}: {wrong}", file=sys.stderr, flush=True)
            said_s = time.monotonic()
        time.sleep(_AGAIN_S)
