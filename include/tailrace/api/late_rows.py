"""The single late tuples of a query, as rows for readers."""

from __future__ import annotations

from tailrace.api.rows import Rows
from tailrace.panels.late_records import late_records
from tailrace.panels.query_view import DeclaredView
from tailrace.query.query import Query
from tailrace.storage.checkpoint import require_begun
from tailrace.storage.layout import Layout
from tailrace.tables.every import times_of


def late_rows(query: Query, layout: Layout, limit: int | None) -> Rows:
    """Return the first late tuples to arrive, at most a number of them; None for all.

    Raises
    ------
    Refused
        When the warehouse has another query's stream, or too much of history would have to be read.
    """
    view = DeclaredView(layout, None, query)
    require_begun(view.tables, query)
    rows = late_records(view, limit)
    return Rows(rows, rows.column_names, times=times_of("late") | times_of("history"))
