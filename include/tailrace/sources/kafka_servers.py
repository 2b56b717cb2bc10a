"""Names a Kafka cluster, with the settings of its client from a connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tailrace.ground.connections import Connection, read_connection
from tailrace.ground.errors import refuse

SETTINGS = (
    "security.protocol",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.username",
    "sasl.password",
    "sasl.kerberos.service.name",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
)
"""The client settings that a connection may have; tailrace sets how records are delivered."""


BROKERS = "bootstrap.servers"
_EXAMPLE = '{"bootstrap.servers": "broker:9092", "security.protocol": "SASL_SSL", …}'


@dataclass(frozen=True)
class Servers:
    """A Kafka cluster, as a query names it.

    Attributes
    ----------
    bootstrap : str or None
        Its bootstrap servers: host:port, with commas between them; None: the connection's.
    connection : str or None
        The connection with its brokers and its secrets: the environment variable AIRFLOW_CONN_NAME of each process
        that reads.
    """

    bootstrap: str | None
    connection: str | None = None

    def settings(self) -> dict[str, Any]:
        """Return the settings of a client, secrets included: never to be printed or stored.

        The brokers are the connection's, since who writes a query file could else have its password sent anywhere.

        Raises
        ------
        Refused
            When the connection is not fit, has no brokers, or has others than the query names.
        """
        if self.connection is None:
            return {"bootstrap.servers": self.bootstrap, "log_level": 0}
        read = read_connection(self.connection, _EXAMPLE)
        return {"bootstrap.servers": self._brokers(read), "log_level": 0} | _settings_of(self.connection, read)

    def _brokers(self, read: Connection) -> str:
        """Return the brokers of the connection; those that the query names where it names some of them."""
        brokers, where = brokers_of(read), f"connection {self.connection}"
        if brokers is None:
            fault = "it has no brokers, and its password goes to no others"
            raise refuse(where, fault, f"its extra with {BROKERS}, as {_EXAMPLE}; or its host and port")
        known = {broker.strip().casefold() for broker in brokers.split(",")}
        if others := [
            server for server in (self.bootstrap or "").split(",") if server and server.casefold() not in known
        ]:
            fault = f"{', '.join(others)} is none of its brokers"
            remedy = (
                f"no servers beside it, or some of {brokers}; or {BROKERS} in the connection's extra with all of them"
            )
            raise refuse(where, fault, remedy)
        return self.bootstrap or brokers

    def __str__(self) -> str:
        return f"Kafka at {self.bootstrap or f'the brokers of connection {self.connection}'}"


def brokers_of(connection: Connection) -> str | None:
    """Return the bootstrap servers of a connection: of its `extra`, as Airflow's Kafka provider has it, or its host."""
    if brokers := connection.extra.get(BROKERS):
        return brokers
    return f"{connection.host}:{connection.port}" if connection.host and connection.port else None


def _settings_of(connection: str, read: Connection) -> dict[str, str]:
    """Return the client settings of a connection: its `extra`; its login and password are for SASL."""
    settings = {name: value for name, value in read.extra.items() if name != BROKERS}
    login = {"sasl.username": read.login, "sasl.password": read.password}
    if unknown := sorted(settings.keys() - set(SETTINGS)):
        where = f"connection {connection}"
        raise refuse(where, f"it has settings that no connection may have: {', '.join(unknown)}", ", ".join(SETTINGS))
    return settings | {name: value for name, value in login.items() if value}
