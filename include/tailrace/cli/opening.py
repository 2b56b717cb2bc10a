"""Opens the query of a command: its file, its warehouse, and messages that name options."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tailrace.api.declaration import load
from tailrace.api.named import query_named
from tailrace.api.query import Query
from tailrace.cli.arguments import is_name


def open_query(file: Path, streams: Path | None, warehouse: str | None = None) -> Query:
    """Load the query of a file, for a command on a warehouse; refusals name the command's options."""
    return replace(load(file, streams, warehouse), names_options=True)


def open_named(query: str, streams: Path | None, warehouse: str) -> Query:
    """Load a query by its file, or by its name in a warehouse."""
    return query_named(query, warehouse) if is_name(query, streams) else open_query(Path(query), streams, warehouse)
