"""XML-RPC requests to a supervisord by HTTP or HTTPS; each has a timeout, and none shows the password."""

from __future__ import annotations

import base64
import re
from http.client import NOT_FOUND, HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.parsers.expat import ExpatError
from xmlrpc.client import Error, Fault, ProtocolError, ServerProxy, Transport

from tailrace.drivers.driver_host import DriverHostDown
from tailrace.ground.errors import refuse

SHUTDOWN_STATE, BAD_NAME, ALREADY_ADDED, STILL_RUNNING, CANT_REREAD = 6, 10, 90, 91, 92  # fault codes of supervisord
_INTERNAL_ERROR = 500
_NOT_XML = re.compile(rb"\x1b\[[0-9;]*m|[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")  # colours, and no XML


class TransientFault(DriverHostDown):
    """Raised when supervisord failed on a single request but continues to run."""


class Rpc:
    """A client of the XML-RPC interface of a supervisord.

    Parameters
    ----------
    url : str
        URL of its inet_http_server; may contain user and password, percent-encoded.
    user, password : str, optional
        Take precedence over the URL's.
    timeout_s : float
        Seconds to wait for the answer to a request.

    Raises
    ------
    Refused
        When the URL can't be read.
    """

    def __init__(self, url: str, user: str | None, password: str | None, timeout_s: float) -> None:
        try:
            parts = urlsplit(url)
            is_malformed = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
        except ValueError:  # not chained to the refusal, since its text would quote the URL
            is_malformed = True
        if is_malformed:
            raise refuse(
                "driver host", "its URL can't be read", "http://USER:PASSWORD@HOST:PORT or https://…, percent-quoted"
            )
        self.url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._timeout_s = timeout_s
        user, password = user or unquote(parts.username or ""), password or unquote(parts.password or "")
        self._headers = [("Authorization", f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}")]

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of supervisord, and return its answer.

        Raises
        ------
        Fault
            When supervisord reports a fault.
        DriverHostDown
            When it does not answer like a running supervisord that accepts this user.
        """
        try:
            with ServerProxy(f"{self.url}/RPC2", self._transport()) as proxy:
                return getattr(proxy.supervisor, method)(*arguments)
        except Fault as fault:
            if fault.faultCode != SHUTDOWN_STATE:
                raise
            reason, remedy = "it is shutting down", "start it again when it is down"
        except ProtocolError as error:
            if error.errcode == _INTERNAL_ERROR:
                raise TransientFault(
                    f"driver host at {self.url}: it failed over {method}; its own log says why"
                ) from None
            reason, remedy = (
                f"it answers {error.errcode} {error.errmsg}",
                "the user and password of its inet_http_server",
            )
        except (OSError, HTTPException) as error:
            reason, remedy = (
                str(error) or type(error).__name__,
                "a driver host that runs there (tailrace serve FOLDER starts one), or its true address",
            )
        except (ExpatError, Error):
            reason, remedy = "what answers is no supervisord", "its true address"
        raise DriverHostDown(
            f"driver host at {self.url}: {reason}\n    right would be: {remedy} (connection tailrace_driver_host)"
        ) from None

    def has_pages(self) -> bool:
        """Return whether supervisord also answers browsers, by pages or by asking for the password.

        Raises
        ------
        DriverHostDown
            When it does not answer.
        """
        host = self.url.partition("://")[2]
        connection = self._transport().make_connection(host)
        try:
            connection.request("GET", "/")
            return connection.getresponse().status != NOT_FOUND
        except (OSError, HTTPException) as error:
            raise DriverHostDown(f"driver host at {self.url}: {error or type(error).__name__}") from None
        finally:
            connection.close()

    def _transport(self) -> _Transport:
        transport = _EncryptedTransport if self.url.startswith("https:") else _Transport
        return transport(self._timeout_s, self._headers)

    def ask(self, method: str, name: str, *arguments: Any) -> Any:
        """Call a method about a program, and return supervisord's answer; None if it does not know the program."""
        try:
            return self.call(method, name, *arguments)
        except Fault as fault:
            if fault.faultCode != BAD_NAME:
                raise
            return None


class _Transport(Transport):
    """HTTP with a timeout; it accepts supervisord's logs, which are not always valid XML."""

    accept_gzip_encoding = False

    def __init__(self, timeout_s: float, headers: list[tuple[str, str]]) -> None:
        super().__init__(headers=headers)
        self._timeout_s = timeout_s

    def make_connection(self, host: Any) -> HTTPConnection:
        connection = super().make_connection(host)
        connection.timeout = self._timeout_s
        return connection

    def parse_response(self, response: HTTPResponse) -> Any:
        parser, unmarshaller = self.getparser()
        parser.feed(_NOT_XML.sub(b"", response.read()))
        parser.close()
        return unmarshaller.close()


class _EncryptedTransport(_Transport):
    """The same over TLS, which is terminated in front of supervisord; this machine must trust the certificate."""

    def make_connection(self, host: Any) -> HTTPConnection:
        connection = HTTPSConnection(host, timeout=self._timeout_s)
        self._connection = host, connection
        return connection
