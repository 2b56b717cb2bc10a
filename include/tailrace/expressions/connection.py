"""DuckDB in this process: connections that reach no file, no network and no setting, each of one thread at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import duckdb
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
    """A connection, the process that opened it, and the names of the functions of Python that it knows."""

    connection: duckdb.DuckDBPyConnection
    process: int
    functions: set[str] = field(default_factory=set)


_idle: list[_Opened] = []
"""Connections that nobody uses now. To open one costs 20 ms, and threads come and go with each batch."""


@contextmanager
def connection(functions: Mapping[str, PythonFunction] = MappingProxyType({})) -> Iterator[duckdb.DuckDBPyConnection]:
    """Lend a connection to this thread, with functions of Python by their names: a name stands for one function ever.

    A process that was forked opens its own.
    """
    lent = _take()
    try:
        for name, function in functions.items():
            if name not in lent.functions:
                lent.connection.create_function(
                    name,
                    function.compute,
                    [duckdb.sqltype(function.takes)],
                    duckdb.sqltype(function.gives),
                    type=PythonUDFType.ARROW,
                    null_handling=FunctionNullHandling.SPECIAL,
                )
                lent.functions.add(name)
        yield lent.connection
    finally:
        _idle.append(lent)


def _take() -> _Opened:
    """Take a connection that is idle, or open one."""
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
