"""HTTP requests to a platform's API, with only the standard library, so that the launcher starts fast."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import BaseHandler, HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

from tailrace.drivers.cluster_platform import PlatformDown
from tailrace.ground.errors import refuse

OK, ACCEPTED, NOT_FOUND, CONFLICT = 200, 202, 404, 409
_REFUSALS = {401: "it does not know who asks", 403: "who asks has no right to it"}
_ANSWER_S = 20.0


class HttpResponse(NamedTuple):
    """The status code and the body of an answer."""

    status: int
    body: bytes

    def json(self) -> dict[str, Any] | None:
        """Return the body as a JSON object; None if it is not one."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None


class Send(Protocol):
    """Sends one request and returns the answer, whatever its status; raises `OSError` without an answer."""

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> HttpResponse: ...


@dataclass(frozen=True)
class Credentials:
    """Files of the driver host with the credentials for a platform's API, which are read at each request."""

    ca_file: str | None = None
    token_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None

    def headers(self) -> dict[str, str]:
        """Return the header with the token, if there is one."""
        return {"Authorization": f"Bearer {Path(self.token_file).read_text().strip()}"} if self.token_file else {}

    def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> HttpResponse:
        """Send a request from this machine, without proxies, and without following redirections."""
        handlers: list[BaseHandler] = [ProxyHandler({}), _NoRedirect()]
        if url.startswith("https:"):
            context = ssl.create_default_context(cafile=self.ca_file)
            if self.certificate_file:
                context.load_cert_chain(self.certificate_file, self.key_file)
            handlers.append(HTTPSHandler(context=context))
        request = Request(url, body, {**headers, **self.headers()}, method=method)
        try:
            with build_opener(*handlers).open(request, timeout=_ANSWER_S) as response:
                return HttpResponse(response.status, response.read())
        except HTTPError as error:
            return HttpResponse(error.code, error.read())


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def ask(
    send: Send, method: str, url: str, parameters: Mapping[str, str], body: Mapping[str, Any] | None = None
) -> HttpResponse:
    """Send a request with a JSON body, and return the answer; error statuses except 404 and 409 are raised.

    Raises
    ------
    PlatformDown
        When there is no answer, or its status means a temporary problem.
    Refused
        When the platform denies this user access.
    """
    split = urlsplit(url)
    where = f"{split.scheme}://{split.netloc}"
    headers = {"Accept": "application/json", "Content-Type": "application/json", "X-XSRF-Header": "tailrace"}
    text = None if body is None else json.dumps(body).encode()
    try:
        answer = send(method, f"{url}?{urlencode(parameters)}" if parameters else url, headers, text)
    except (OSError, HTTPException) as error:
        raise PlatformDown(f"{where} gives no answer: {error}") from None
    if answer.status in _REFUSALS:
        fault = f"it answers {answer.status} to {method} {split.path}: {_REFUSALS[answer.status]}"
        raise refuse(where, fault, "a user or credentials that may list and end the applications of drivers there")
    if answer.status >= 300 and answer.status not in (NOT_FOUND, CONFLICT):  # noqa: PLR2004
        raise PlatformDown(f"{where} answers {answer.status} to {method} {split.path}")
    return answer
