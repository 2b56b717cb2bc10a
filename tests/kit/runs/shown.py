"""Panels read in tests: a query's view, and an answer as the browser gets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tailrace.panels.panel import Panel
from tailrace.panels.query_view import QueryView
from tailrace.query.query import Query
from tailrace.storage.layout import Layout


def view_of(warehouse: Path | str, query: Query, file: Path | None = None) -> QueryView:
    """The view of a query that no driver was deployed with."""
    view = QueryView(Layout.for_query(warehouse, query.name), file)
    view.__dict__["query"] = query
    return view


def shown(panel: Panel, view: QueryView, **request: Any) -> dict[str, Any]:
    """The answer of a panel as JSON, which has no NaN."""
    answer = panel.read(view, panel.request.model_validate(request))
    return json.loads(json.dumps(answer.model_dump(mode="json"), allow_nan=False))
