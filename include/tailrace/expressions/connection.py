"""Lends connections to DuckDB in this process, without access to files, network and settings.

Only one thread at a time may use a connection.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from tailrace.expressions.plan import PythonFunction

_CONFIGURATION: dict[str, Any] = {
    "threads": 1,
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "temp_directory": "",
}


@dataclass
class _Opened:
    """A connection, the process that opened it, and the names of the Python functions registered with it."""

    connection: duckdb.DuckDBPyConnection
    process: int
    functions: set[str] = field(default_factory=set)


_idle: list[_Opened] = []
"""Idle connections. Opening one costs 20 ms, and threads come and go with each batch."""


@contextmanager
def connection(functions: Mapping[str, PythonFunction] = MappingProxyType({})) -> Iterator[duckdb.DuckDBPyConnection]:
    """Lend a connection to this thread, with Python functions by name. A name must always mean the same function.

    A forked process opens its own connections.
    """
    lent = _take()
    try:
        for name, function in functions.items():
            if name not in lent.functions:
                lent.connection.create_function(
                    name,
                    function.compute,
                    [duckdb.sqltype(each) for each in function.takes],
                    duckdb.sqltype(function.gives),
                    type=PythonUDFType.ARROW,
                    null_handling=FunctionNullHandling.SPECIAL,
                )
                lent.functions.add(name)
        yield lent.connection
    finally:
        _idle.append(lent)


def _take() -> _Opened:
    """Take an idle connection, or open one."""
    while True:
        try:
            lent = _idle.pop()
        except IndexError:
            break
        if lent.process == os.getpid():
            return lent
    opened = duckdb.connect(":memory:", config=_CONFIGURATION)
    opened.execute("SET lock_configuration = true")
    return _Opened(opened, os.getpid())


def relation_of(rows: pa.Table) -> duckdb.DuckDBPyRelation:
    """Return rows as a relation of DuckDB's default connection, which is the user's own and has no such limits."""
    return duckdb.from_arrow(rows)
