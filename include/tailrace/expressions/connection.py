"""DuckDB in this process: one connection a process and thread, which reaches no file, no network and no setting."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
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
_local = threading.local()


def connection() -> duckdb.DuckDBPyConnection:
    """Return this thread's connection; a process that was forked opens its own."""
    if getattr(_local, "pid", None) != os.getpid():
        opened = duckdb.connect(":memory:", config=_CONFIGURATION)
        opened.execute("SET lock_configuration = true")
        _local.connection, _local.pid, _local.functions = opened, os.getpid(), set()
    opened = _local.connection
    assert isinstance(opened, duckdb.DuckDBPyConnection)
    return opened


def with_functions(functions: Mapping[str, PythonFunction]) -> duckdb.DuckDBPyConnection:
    """Return this thread's connection, with functions of Python by their names: a name stands for one function ever."""
    opened = connection()
    for name, function in functions.items():
        if name not in _local.functions:
            opened.create_function(
                name,
                function.compute,
                [duckdb.sqltype(function.takes)],
                duckdb.sqltype(function.gives),
                type=PythonUDFType.ARROW,
                null_handling=FunctionNullHandling.SPECIAL,
            )
            _local.functions.add(name)
    return opened
