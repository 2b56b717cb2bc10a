"""Refuses a run or a correction if the warehouse has another query's stream under this name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.api.next_command import next_command
from tailrace.ground.errors import Refused, Unfit
from tailrace.storage.changed_query import ChangedQuery

if TYPE_CHECKING:
    from tailrace.api.warehouse_query import WarehouseQuery


def require_same(query: WarehouseQuery, engine: str | None) -> None:
    """Refuse a query that differs from the warehouse's stream; before that, refuse a column that the source lacks.

    A misspelt column also changes the query, but a rebuild would not help.

    Raises
    ------
    Unfit
        When the query has changed, and names a column that its source does not have.
    ChangedQuery
        When it has changed otherwise.
    """
    try:
        query.layout.require_deployable(query.declared, None, next_command(query, engine))
    except ChangedQuery:
        _require_columns(query)
        raise


def _require_columns(query: WarehouseQuery) -> None:
    """Refuse columns that the sources lack; sources that can't be read are skipped."""
    from tailrace.stream.source_sample import sample_sources  # noqa: PLC0415 (a changed query is rare)

    try:
        sample_sources(query.stored())
    except Unfit:
        raise
    except (Refused, OSError):
        return
