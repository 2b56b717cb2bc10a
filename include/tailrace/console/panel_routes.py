"""A route for each panel of a query's page, and one for the head of the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import ValidationError

from tailrace.console import streams_route
from tailrace.console.declared_queries import QueryCatalogue
from tailrace.console.ledger_links import with_links
from tailrace.console.panel_cache import LackingAnswer, PanelCache, versions
from tailrace.console.rights import require_page, require_records
from tailrace.ground.errors import Damaged, Problem, Refused
from tailrace.panels import ledger
from tailrace.panels.panel import Panel, PanelAnswer
from tailrace.panels.registry import PANELS

router = APIRouter(prefix="/api/queries/{name}")
_CACHE = PanelCache()


def _route(panel: Panel) -> Callable[[str, Request], Response]:
    def read_panel(name: str, request: Request) -> Response:
        """Return the panel as JSON."""
        settings = _settings(panel, dict(request.query_params))
        view = QueryCatalogue.view(name)
        try:
            answer = _CACHE.get(
                (view.layout.home, view.file, panel.name, settings.model_dump_json()),
                lambda: versions(view.layout, panel.tables, panel.files, view.file),
                lambda: _as_json(panel.read(replace(view), settings)),  # a repeated read opens the tables again
            )
        except Damaged:
            streams_route.damage_met(view.layout)
            raise
        if isinstance(answer, LackingAnswer):
            streams_route.damage_met(view.layout)
        if panel is ledger.PANEL:
            answer = with_links(name, answer)
        return Response(answer, media_type="application/json")

    return read_panel


def _as_json(answer: PanelAnswer) -> bytes:
    content = answer.model_dump_json().encode()
    return LackingAnswer(content) if answer.damaged else content


def _settings(panel: Panel, values: dict[str, str]) -> Any:
    try:
        return panel.request.model_validate(values)
    except ValidationError as error:
        problems = [
            Problem(".".join(map(str, each["loc"])), each["msg"], "to take a link of the page")
            for each in error.errors()
        ]
        raise Refused(problems) from None


for _panel in PANELS:
    _right = require_records if _panel.shows_records else require_page
    router.add_api_route(f"/{_panel.name}", _route(_panel), methods=["GET"], dependencies=[Depends(_right)])
