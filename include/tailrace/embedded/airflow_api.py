"""Client of Airflow's REST API that retries idempotent requests until there is an answer."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx

from tailrace.ground.duration import format_time
from tailrace.ground.polling import polls

_TIMEOUT_S = 30.0
_MAY_REPEAT = ("GET", "PATCH")  # idempotent


@dataclass(frozen=True)
class Patience:
    """How a request without an answer is retried, as a busy laptop may not answer for minutes.

    Attributes
    ----------
    limit_s : float
        The time, in s, after which a request is given up.
    again_s, message_every_s : float
        The intervals between tries, and between messages about a missing answer.
    """

    limit_s: float = 600.0
    again_s: float = 2.0
    message_every_s: float = 30.0

    def send(self, description: str, send: Callable[[], httpx.Response]) -> httpx.Response:
        """Send until there is an answer other than a server error: SQLite may be locked, the machine busy."""
        last_message_s, fault = 0.0, ""
        for elapsed_s in polls(self.limit_s, self.again_s):
            try:
                answer = send()
                if not answer.is_server_error:
                    return answer
                fault = f"{answer.status_code} {answer.text[-500:]}"
            except httpx.TransportError as error:
                fault = f"{type(error).__name__}: {error}"
            if elapsed_s - last_message_s >= self.message_every_s:
                print(f"waiting for Airflow's API to answer {description}: {fault}", file=sys.stderr, flush=True)
                last_message_s = elapsed_s
        raise TimeoutError(f"Airflow's API: {description} was tried for {self.limit_s:.0f} s, in the end: {fault}")


@dataclass(frozen=True)
class Api:
    """Client of Airflow's REST API, version 2, with the token of a logged-in user."""

    url: str
    token: str
    patience: Patience = Patience()

    @staticmethod
    def log_in(url: str, user: str, password: str, patient: bool = True, patience: Patience = Patience()) -> Api:
        """Log in; without `patient`, try once and raise TimeoutError at once if there is no answer."""
        body, request = {"username": user, "password": password}, patience.send if patient else _send_once
        answer = request("the log-in", lambda: httpx.post(f"{url}/auth/token", json=body, timeout=_TIMEOUT_S))
        answer.raise_for_status()
        return Api(url, answer.json()["access_token"], patience)

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None, **query: Any) -> Any:
        """Send a request and return the answer's JSON as plain data, or None for an empty answer.

        Only GET and PATCH are retried: another request may have taken effect although no answer came.

        Raises
        ------
        httpx.HTTPStatusError
            When the API refuses; the answer's text says why.
        TimeoutError
            When no answer comes, or every retry gives a server error; names the request.
        """
        request = self.patience.send if method in _MAY_REPEAT else _send_once
        answer = request(f"{method} {path}", lambda: self._send(method, path, body, query))
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def trigger(self, dag: str, conf: Mapping[str, Any] | None = None) -> str:
        """Trigger a run of a DAG exactly once, whatever the retries, and return its id.

        The id is chosen here, so that after a lost answer the retry conflicts with the existing run.
        """
        run = f"manual__{format_time(time.time_ns() // 1_000_000)}_{secrets.token_hex(4)}"
        body = {"dag_run_id": run, "logical_date": None, "conf": dict(conf or {})}
        path = f"dags/{dag}/dagRuns"
        answer = self.patience.send(f"POST {path}", lambda: self._send("POST", path, body, {}))
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
            timeout=_TIMEOUT_S,
        )


def _send_once(description: str, send: Callable[[], httpx.Response]) -> httpx.Response:
    try:
        return send()
    except httpx.TransportError as error:
        raise TimeoutError(f"Airflow's API gave no answer to {description}: {type(error).__name__}: {error}") from error
