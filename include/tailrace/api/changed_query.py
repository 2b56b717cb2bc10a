"""Refuses a run or a correction if the warehouse has another query's stream under this name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.api.next_command import next_command
from tailrace.ground.errors import Refused, Unfit
from tailrace.storage.changed_query import ChangedQuery

if TYPE_CHECKING:
    from tailrace.api.warehouse_query import WarehouseQuery


def require_same(query: WarehouseQuery, engine: str | None) -> None:
    """Refuse a query that its warehouse's stream was not made for; first refuse a column that the source lacks.

    A misspelt column changes the query, too, and no rebuild would help.

    Raises
    ------
    Unfit
        When the query has changed, and names a column that its source lacks.
    ChangedQuery
        When it has changed otherwise.
    """
    try:
        query.layout.require_deployable(query.declared, None, next_command(query, engine))
    except ChangedQuery:
        _require_columns(query)
        raise


def _require_columns(query: WarehouseQuery) -> None:
    """Refuse columns that the sources lack; a source that can't be read says nothing about its columns."""
    from tailrace.stream.source_sample import sample_sources  # noqa: PLC0415 (a changed query is rare)

    try:
        sample_sources(query.stored())
    except Unfit:
        raise
    except (Refused, OSError):
        return
