"""Airflow hook of the connection type `tailrace_driver_host`: a supervisord that runs the drivers of live streams."""

from __future__ import annotations

import os
from pathlib import Path
from xmlrpc.client import Fault

from airflow.sdk import BaseHook, Connection

from tailrace.drivers.driver_host import DriverHostDown
from tailrace.drivers.supervisor import SupervisorHost
from tailrace.ground.errors import Refused, refuse

CONNECTION = "tailrace_driver_host"
"""The connection's type, which is also its default id."""

ADD_COMMAND = (
    f"airflow connections add {CONNECTION} --conn-type {CONNECTION} --conn-host 127.0.0.1 --conn-port 9001 "
    '--conn-login tailrace --conn-password … --conn-extra \'{"programs": "/etc/tailrace/programs"}\''
)


class DriverHostHook(BaseHook):
    """Returns the driver host of a connection, and tests the connection.

    Parameters
    ----------
    conn_id : str
        Id of the connection.
    """

    conn_name_attr = "conn_id"
    default_conn_name = CONNECTION
    conn_type = CONNECTION
    hook_name = "tailrace driver host"

    def __init__(self, conn_id: str = CONNECTION) -> None:
        super().__init__()
        self.conn_id = conn_id

    def get_conn(self) -> SupervisorHost:
        """Return the driver host, without contacting it.

        Raises
        ------
        Refused
            When the connection is incomplete.
        """
        return host_of(self.get_connection(self.conn_id))

    def test_connection(self) -> tuple[bool, str]:
        """Check that supervisord answers this user but no browser, and that programs can be written; add a message."""
        try:
            host = self.get_conn()
            state, has_pages = host.rpc.call("getState")["statename"], host.rpc.has_pages()
        except (Refused, DriverHostDown, Fault) as error:
            return False, str(error)
        if not (host.programs.is_dir() and os.access(host.programs, os.W_OK | os.X_OK)):
            return False, f"programs {host.programs}: no directory that can be written to from here"
        if has_pages:
            right = "the section [rpcinterface:tailrace] of deploy/supervisord.conf in its configuration"
            return (
                False,
                f"supervisord at {host.rpc.url} has pages, which stop drivers on a GET; right would be: {right}",
            )
        return state == "RUNNING", f"supervisord at {host.rpc.url} is {state}; programs {host.programs}"


def host_of(connection: Connection) -> SupervisorHost:
    """Return the driver host that a connection names, without contacting it.

    Raises
    ------
    Refused
        When the connection is incomplete.
    """
    programs = connection.extra_dejson.get("programs") or ""
    missing = [name for name, value in (("host", connection.host), ("port", connection.port)) if not value]
    if missing or not Path(programs).is_absolute():
        fault = f"it has no {' and no '.join(missing)}" if missing else "its extra has no absolute path of `programs`"
        raise refuse(f"connection {connection.conn_id}", fault, ADD_COMMAND)
    url = f"{connection.schema or 'http'}://{connection.host}:{connection.port}"
    return SupervisorHost(url, Path(programs), connection.login, connection.password)
