"""Passes connections on from Airflow: those that a query names, to what reads its sources; the warehouse's, to all."""

from __future__ import annotations

import json

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from tailrace.ground.connections import variable_of
from tailrace.query.query import Query
from tailrace.storage.warehouses import connection_of_warehouse


def passed_connections(query: Query) -> dict[str, str]:
    """The variables AIRFLOW_CONN_NAME of those that Airflow knows, secrets included: never to be logged.

    One that it does not know must stand in the environment of the driver host.
    """
    variables = {}
    of_warehouse = connection_of_warehouse()
    for name in dict.fromkeys([*query.connections, *([of_warehouse] if of_warehouse else [])]):
        try:
            connection = BaseHook.get_connection(name)
        except AirflowNotFoundException:
            continue
        known = {"login": connection.login, "password": connection.password, "extra": connection.extra_dejson}
        variables[variable_of(name)] = json.dumps({field: value for field, value in known.items() if value})
    return variables
