"""Errors of access to Kafka, which the client reports separately from the failing requests.

A client with a wrong certificate, authority or password retries until a request times out. Only its error callback gets
the reason.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

from tailrace.ground.errors import RIGHT, refuse
from tailrace.sources.kafka.kafka_servers import SETTINGS, Servers

_Client = TypeVar("_Client")
_PATIENCE_S = 3.0  # another broker, or the next attempt, may accept the client
_AFTER = re.compile(r" \(after \d+ms in state \w+\)")  # the part that differs each time
_LOGIN = "the login and password of a user that the brokers know, and sasl.mechanism as they have it"
_UNVERIFIED = (
    "ssl.ca.location or ssl.ca.pem with the authority that signed the brokers' certificates, and brokers by a name "
    "that stands in them"
)
_TLS = (
    "the security.protocol of the listener at this address; and a certificate and key that the brokers accept, if they "
    "ask for one: ssl.certificate.location or ssl.certificate.pem, ssl.key.location or ssl.key.pem"
)


class AccessErrors:
    """The newest TLS or login error reported by a client of these servers since it was last accepted."""

    def __init__(self, servers: Servers, clock: Callable[[], float] = time.monotonic) -> None:
        self.servers, self._clock = servers, clock
        self._newest: KafkaError | None = None
        self._since_s = 0.0

    def take(self, error: KafkaError) -> None:
        """Record an error; this is the client's callback."""
        if error.code() in (KafkaError._SSL, KafkaError._AUTHENTICATION) or "SSL" in error.str():
            self._since_s = self._since_s if self._newest is not None else self._clock()
            self._newest = error

    def clear(self) -> None:
        """Forget the errors, as the client was accepted."""
        self._newest = None

    @property
    def is_persistent(self) -> bool:
        """Whether the client has reported such errors for some seconds."""
        return self._newest is not None and self._clock() - self._since_s >= _PATIENCE_S

    def error(self, reason: str) -> ConnectionError:
        """Build the error for a failure, with the access error as its reason if there is one."""
        server_names = str(self.servers)
        if self._newest is None:
            return ConnectionError(f"{server_names}: {reason}")
        text = _AFTER.sub("", self._newest.str())
        return ConnectionError(f"{self.where}: {server_names}: {text}{RIGHT}{_right(self._newest)}")

    @contextmanager
    def as_network_errors(self) -> Iterator[None]:
        """Raise the client's errors as a `ConnectionError`, so that a live run retries."""
        try:
            yield
        except KafkaException as error:
            raise self.error(_text(error)) from None

    @property
    def where(self) -> str:
        return "no connection" if self.servers.connection is None else f"connection {self.servers.connection}"


def new_client(
    make: Callable[[dict[str, Any]], _Client], access: AccessErrors, own: Mapping[str, Any] | None = None
) -> _Client:
    """Create a client with its connection's settings and its own; it reports access errors.

    Raises
    ------
    Refused
        When the settings of the connection are not valid.
    """
    settings = access.servers.settings() | dict(own or {}) | {"error_cb": access.take}
    try:
        return make(settings)
    except KafkaException as error:
        remedy = f"settings that librdkafka takes, and files that the driver can read: {', '.join(SETTINGS)}"
        raise refuse(access.where, _text(error), remedy) from None


def _right(error: KafkaError) -> str:
    if error.code() == KafkaError._AUTHENTICATION:
        return _LOGIN
    return _UNVERIFIED if "certificate verify failed" in error.str() else _TLS


def _text(error: KafkaException) -> str:
    reason = error.args[0] if error.args else error
    return reason.str() if isinstance(reason, KafkaError) else str(reason)
