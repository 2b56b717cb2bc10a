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
"""The client settings that a connection may have; tailrace itself sets how records are delivered."""


BROKERS = "bootstrap.servers"
DEFAULT_PORT = 9092
_EXTRA = '{"bootstrap.servers": "broker:9092", "security.protocol": "SASL_SSL", …}'
EXAMPLE = f'{{"extra": {_EXTRA}}}'
"""A connection, in JSON."""


@dataclass(frozen=True)
class Servers:
    """A Kafka cluster, as named in a query.

    Attributes
    ----------
    bootstrap : str or None
        Its bootstrap servers: host:port, separated by commas; None for the connection's.
    connection : str or None
        The connection with its brokers and its secrets: the environment variable AIRFLOW_CONN_NAME of each process
        that reads.
    """

    bootstrap: str | None
    connection: str | None = None

    def settings(self) -> dict[str, Any]:
        """Return the settings of a client. They contain secrets: never print or store them.

        The brokers come from the connection, as otherwise the author of a query file could have its password sent
        anywhere.

        Raises
        ------
        Refused
            When the connection is not valid, has no brokers, or other brokers than the query.
        """
        if self.connection is None:
            return {"bootstrap.servers": self.bootstrap, "log_level": 0}
        read = read_connection(self.connection, EXAMPLE)
        return {"bootstrap.servers": self._brokers(read), "log_level": 0} | _settings_of(self.connection, read)

    def _brokers(self, read: Connection) -> str:
        """Return the brokers of the connection, or the ones among them that the query names."""
        brokers, where = brokers_of(read), f"connection {self.connection}"
        if brokers is None:
            fault = "it has no brokers, and its password goes to no others"
            raise refuse(where, fault, f"its extra with {BROKERS}, as {_EXTRA}; or its host and port")
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
    """Return the bootstrap servers of a connection: from its `extra`, as in Airflow's Kafka provider, or its host."""
    if brokers := connection.extra.get(BROKERS):
        return brokers
    return f"{connection.host}:{connection.port}" if connection.host and connection.port else None


def addresses_of(servers: str) -> list[str]:
    """Return the addresses of bootstrap servers in one form: each once, in lower case and with its port, sorted."""
    named = {address.strip().lower() for address in servers.split(",")} - {""}
    return sorted({name if name.rpartition(":")[2].isdigit() else f"{name}:{DEFAULT_PORT}" for name in named})


def _settings_of(connection: str, read: Connection) -> dict[str, str]:
    """Return the client settings of a connection: its `extra`, with its login and password for SASL."""
    settings = {name: value for name, value in read.extra.items() if name != BROKERS}
    login = {"sasl.username": read.login, "sasl.password": read.password}
    if unknown := sorted(settings.keys() - set(SETTINGS)):
        where = f"connection {connection}"
        raise refuse(where, f"it has settings that no connection may have: {', '.join(unknown)}", ", ".join(SETTINGS))
    return settings | {name: value for name, value in login.items() if value}
