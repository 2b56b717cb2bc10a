"""Names a Kafka cluster, with the settings of its client from a connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tailrace.ground.connections import read_connection
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
"""The settings of the client that a connection may have; those of the delivery of records are ours."""


@dataclass(frozen=True)
class Servers:
    """A Kafka cluster, as a query names it.

    Attributes
    ----------
    bootstrap : str
        Its bootstrap servers: host:port, with commas between them.
    connection : str or None
        The connection with its secrets: the environment variable AIRFLOW_CONN_NAME of each process that reads.
    """

    bootstrap: str
    connection: str | None = None

    def settings(self) -> dict[str, Any]:
        """The settings of a client, secrets included: never to be printed or stored."""
        return {"bootstrap.servers": self.bootstrap, "log_level": 0} | _settings_of(self.connection)


def _settings_of(connection: str | None) -> dict[str, str]:
    """The client settings of a connection in Airflow's JSON: its `extra`; its login and password are for SASL."""
    if connection is None:
        return {}
    read = read_connection(connection, '{"security.protocol": "SASL_SSL", …}')
    settings = {name: value for name, value in read.extra.items() if name != "bootstrap.servers"}
    login = {"sasl.username": read.login, "sasl.password": read.password}
    if unknown := sorted(settings.keys() - set(SETTINGS)):
        where = f"connection {connection}"
        raise refuse(where, f"it has settings that no connection may have: {', '.join(unknown)}", ", ".join(SETTINGS))
    return settings | {name: value for name, value in login.items() if value}
