"""A query as its readers see it: for one request each table is opened once, and read at one version."""

from __future__ import annotations

from collections import Counter

import pytest

from panel_stream import PanelStream, run_stream
from shown import shown
from tailrace.panels.registry import PANELS
from tailrace.storage import tables

PANEL_OF = {panel.name: panel for panel in PANELS}


@pytest.fixture(scope="module")
def stream(tmp_path_factory) -> PanelStream:
    return run_stream(tmp_path_factory.mktemp("view"), {"policy": "mp_k_slack"})


@pytest.mark.parametrize("name", sorted(PANEL_OF))
def test_a_request_opens_each_table_once(stream, monkeypatch, name):
    request = {}
    if name == "answer":
        request["id"] = shown(PANEL_OF["answers"], stream.view)["rows"][0]["id"]
    opened, open_table = Counter(), tables.open_table

    def counting(path):
        opened[path.name] += 1
        return open_table(path)

    view = stream.view.of_request()
    view.__dict__["query"] = stream.query
    monkeypatch.setattr(tables, "open_table", counting)
    shown(PANEL_OF[name], view, **request)
    assert opened, "it reads some table"
    assert set(opened.values()) == {1}
