"""The next command about a query, for users of the command line or of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.api.engines import EngineName, engine_named
from tailrace.ground.command_line import CommandLine, NextCommand

if TYPE_CHECKING:
    from tailrace.api.warehouse_query import WarehouseQuery


def next_command(query: WarehouseQuery, engine: str | None) -> NextCommand:
    """Return a function from a verb to the next command about a query; for users of Python, to a call."""
    if query.names_options:
        is_local = engine_named(engine) == EngineName.local
        return CommandLine(query.file, str(query.warehouse), query.streams_file, is_local)
    arguments = "" if engine is None else f"engine={str(engine)!r}"
    return lambda verb: f"{verb}({arguments})"
