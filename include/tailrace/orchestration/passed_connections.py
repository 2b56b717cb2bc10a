"""Passes connections from Airflow on: a query's connections to the readers of its sources, the warehouse's to all."""

from __future__ import annotations

import json

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from tailrace.ground.connections import parse_connection, variable_of
from tailrace.query.query import Query
from tailrace.sources.kafka.kafka_servers import brokers_of
from tailrace.sources.lookup.postgres_server import address_of
from tailrace.storage.warehouses import connection_of_warehouse


def passed_connections(query: Query) -> dict[str, str]:
    """Return the variables AIRFLOW_CONN_NAME of connections that Airflow knows. They contain secrets: never log them.

    Other connections must be in the environment of the driver host.
    """
    of_warehouse = connection_of_warehouse()
    names = dict.fromkeys([*query.connections, *([of_warehouse] if of_warehouse else [])])
    texts = {variable_of(name): _in_json(name) for name in names}
    return {variable: text for variable, text in texts.items() if text is not None}


def brokers_of_connection(name: str) -> str | None:
    """Return the bootstrap servers of a connection; None where it has none, or Airflow does not know it."""
    text = _in_json(name)
    return None if text is None else brokers_of(parse_connection(text))


def database_of_connection(name: str) -> tuple[str, str] | None:
    """Return host:port and the database of a connection; None if it lacks one of them, or Airflow does not know it."""
    text = _in_json(name)
    connection = None if text is None else parse_connection(text)
    address = None if connection is None else address_of(connection)
    if connection is None or address is None or connection.database is None:
        return None
    return address, connection.database


def _in_json(name: str) -> str | None:
    """Return a connection in the form that drivers read, with secrets; None where Airflow does not know it."""
    try:
        connection = BaseHook.get_connection(name)
    except AirflowNotFoundException:
        return None
    known: dict[str, object] = {"host": connection.host, "port": connection.port, "login": connection.login}
    known |= {"password": connection.password, "extra": connection.extra_dejson, "schema": connection.schema}
    return json.dumps({field: value for field, value in known.items() if value})
