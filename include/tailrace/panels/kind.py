"""The panel `kind`: what is particular to the query's kind."""

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
"""By the kind of a query, what reads its panel."""

_TABLES = ("results", "corrections", "metrics", "facts", "segments", "proposals")


def read(view: QueryView, request: KindRequest) -> KindAnswer:
    """Read what is particular to the query's kind."""
    return READERS[view.query.kind](view, request)


PANEL = Panel("kind", KindRequest, read, _TABLES, ("_stream/deployed.json", "_stream/origin.json"))
