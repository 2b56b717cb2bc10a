"""Refuses a delivery for a query whose tables were rebuilt: a correction may end while a rebuild runs."""

from __future__ import annotations

from tailrace.ground.errors import InUse, Problem
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import changes


def require_same_query(layout: Layout, query: Query) -> None:
    """Refuse a query whose tables were rebuilt for another declaration; the caller holds the target's lock.

    Raises
    ------
    InUse
    """
    manifest = layout.manifest()
    if manifest is not None and changes(manifest, query):
        fault = "it was rebuilt for another query meanwhile"
        raise InUse([Problem(str(layout.home), fault, "none: the rebuild sends its answers")])
