"""Connections with secrets: environment variables AIRFLOW_CONN_NAME in Airflow's JSON form."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from tailrace.ground.errors import refuse


@dataclass(frozen=True)
class Connection:
    """A connection with its host and database.

    Its `repr` hides login, password and `extra`. The values of `extra` are texts.
    """

    login: str | None = field(repr=False)
    password: str | None = field(repr=False)
    extra: dict[str, str] = field(repr=False)
    host: str | None = None
    port: int | None = None
    database: str | None = None


def variable_of(name: str) -> str:
    """Return the name of the environment variable that holds a connection."""
    return f"AIRFLOW_CONN_{name.upper()}"


def connection_variables(names: Iterable[str]) -> dict[str, str]:
    """Return this process's variables of these connections. They contain secrets: never print or store them."""
    return {variable: os.environ[variable] for variable in map(variable_of, names) if variable in os.environ}


def parse_connection(text: str) -> Connection:
    """Parse a connection in Airflow's JSON; raise ValueError, TypeError or AttributeError if it is not one."""
    declared = json.loads(text)
    extra = declared.get("extra") or {}
    extra = json.loads(extra) if isinstance(extra, str) else extra
    texts = {str(key): value if isinstance(value, str) else json.dumps(value) for key, value in extra.items()}
    host, port = declared.get("host") or None, declared.get("port")
    database = declared.get("schema") or None
    return Connection(
        declared.get("login"), declared.get("password"), texts, host, int(port) if port else None, database
    )


def read_connection(name: str, example: str) -> Connection:
    """Read a connection from the environment; `example` is one that an error shows, in JSON.

    Raises
    ------
    Refused
        When there is none of this name, or its JSON is not valid. Its text may be a secret and is not shown.
    """
    variable = variable_of(name)
    where = f"connection {name}"
    remedy = f"{variable} as '{example}', where the driver runs"
    try:
        return parse_connection(os.environ[variable])
    except KeyError:
        raise refuse(where, f"there is no environment variable {variable}", remedy) from None
    except (ValueError, TypeError, AttributeError):
        raise refuse(where, f"{variable} is no connection in JSON", remedy) from None
