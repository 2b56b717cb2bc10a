"""The environment of an embedded platform's Airflow, and the file that gives it to shells."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from tailrace.embedded.airflow_parts import KEPT_HOST
from tailrace.embedded.embedded_cluster import EmbeddedCluster
from tailrace.embedded.embedded_processes import UMASK, EmbeddedHost
from tailrace.ground.files.atomic_files import write_atomically

ENVIRONMENT = "env.sh"
CONNECTIONS = "AIRFLOW_CONN_"
"""Prefix of the variables of connections."""

_DRIVER_HOST = f"{CONNECTIONS}TAILRACE_DRIVER_HOST"
_AIRFLOW_FUNCTION = """\
airflow() {{  # a backfill is tried again while SQLite is locked; graphviz, which only draws DAGs, is not missed
  case "$1" in
    backfill) {quiet} {python} -m tailrace.embedded.airflow_command "$@" ;;
    *) {quiet} command airflow "$@" ;;
  esac
}}
"""
_QUIET = 'PYTHONWARNINGS="${PYTHONWARNINGS:+$PYTHONWARNINGS,}ignore:Could not import graphviz:UserWarning"'


def environment_variables(
    driver_host: EmbeddedHost, queries: Path, warehouse: Path, cluster: EmbeddedCluster | None = None
) -> dict[str, str]:
    """Return the environment variables for Airflow and for shells, which locate the platform."""
    access = driver_host.access
    address = {"host": access.host, "port": access.port, "login": access.user, "password": access.password}
    programs = {"programs": str(driver_host.directory / "programs")}
    master = "local[*]" if cluster is None else cluster.master
    return {
        **({} if cluster is None else cluster.environment),
        KEPT_HOST: str(driver_host.directory),
        "TAILRACE_QUERIES": str(queries.absolute()),
        "TAILRACE_WAREHOUSE": str(warehouse.absolute()),
        f"{CONNECTIONS}TAILRACE_SPARK": json.dumps({"conn_type": "spark", "host": master}),
        _DRIVER_HOST: json.dumps({"conn_type": "tailrace_driver_host", **address, "extra": programs}),
    }


def connections_of_shell() -> dict[str, str]:
    """Return the connections in the environment of this process. They contain secrets: never log them.

    The connection of the driver host is left out, as a platform has its own.
    """
    names = (name for name in os.environ if name.startswith(CONNECTIONS) and name != _DRIVER_HOST)
    return {name: os.environ[name] for name in names}


def write_environment(home: Path, environment: Mapping[str, str]) -> None:
    """Write the environment to a file for shells; it holds passwords, so it is for this user alone.

    Its umask makes the files that such a shell creates for this user alone, too.
    """
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())
    function = _AIRFLOW_FUNCTION.format(python=shlex.quote(sys.executable), quiet=_QUIET)
    write_atomically(home / ENVIRONMENT, f"umask {UMASK:03o}\n{exports}{function}", 0o600)
