"""Passes connections on from Airflow: those that a query names, to what reads its sources; the warehouse's, to all."""

from __future__ import annotations

import json

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from tailrace.ground.connections import parse_connection, variable_of
from tailrace.query.query import Query
from tailrace.sources.kafka_servers import brokers_of
from tailrace.storage.warehouses import connection_of_warehouse


def passed_connections(query: Query) -> dict[str, str]:
    """Return the variables AIRFLOW_CONN_NAME of those that Airflow knows, secrets included: never to be logged.

    One that it does not know must stand in the environment of the driver host.
    """
    of_warehouse = connection_of_warehouse()
    names = dict.fromkeys([*query.connections, *([of_warehouse] if of_warehouse else [])])
    texts = {variable_of(name): _in_json(name) for name in names}
    return {variable: text for variable, text in texts.items() if text is not None}


def brokers_of_connection(name: str) -> str | None:
    """Return the bootstrap servers that a connection has; None where it has none, or Airflow does not know it."""
    text = _in_json(name)
    return None if text is None else brokers_of(parse_connection(text))


def _in_json(name: str) -> str | None:
    """Return a connection as drivers read it, its secrets included; None where Airflow does not know it."""
    try:
        connection = BaseHook.get_connection(name)
    except AirflowNotFoundException:
        return None
    known: dict[str, object] = {"host": connection.host, "port": connection.port, "login": connection.login}
    known |= {"password": connection.password, "extra": connection.extra_dejson}
    return json.dumps({field: value for field, value in known.items() if value})
