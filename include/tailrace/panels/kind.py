"""The panel `kind`, particular to the query's kind."""

from __future__ import annotations

from tailrace.panels.kinds import aggregate, emd_join, spatial_join, topk
from tailrace.panels.kinds.request import KindAnswer, KindRequest
from tailrace.panels.panel import Panel
from tailrace.panels.query_view import QueryView

READERS = {
    "aggregate": aggregate.read,
    "topk": topk.read,
    "emd_join": emd_join.read,
    "spatial_join": spatial_join.read,
}
"""The reader of the panel for each kind."""

_TABLES = ("results", "corrections", "metrics", "facts", "segments", "proposals")


def read(view: QueryView, request: KindRequest) -> KindAnswer:
    """Read the panel of the query's kind."""
    return READERS[view.query.kind](view, request)


PANEL = Panel("kind", KindRequest, read, _TABLES, ("_stream/deployed.json", "_stream/manifest.json"))
