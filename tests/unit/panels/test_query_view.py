"""A request opens each table once, and reads it at one version: a panel, the picture, and readers of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from kit.runs.panel_stream import PanelStream, run_stream
from kit.runs.shown import shown
from tailrace.api import late_rows, reading
from tailrace.api.shown_panels import ShownPanels
from tailrace.panels.query_view import DeclaredView
from tailrace.panels.registry import PANELS
from tailrace.storage import tables
from tailrace.storage.answer_range import ALL, AnswerRange

PANEL_OF = {panel.name: panel for panel in PANELS}
OF_A_KEY = AnswerRange(ALL.start, ALL.end - 1, "k1")

READERS: dict[str, Callable[[PanelStream], object]] = {
    "picture": lambda stream: ShownPanels.read(
        DeclaredView(stream.driver.layout, None, stream.query), None, None, None
    ),
    "results": lambda stream: reading.answers_of(stream.query, stream.warehouse, "corrected", ALL),
    "results of a key": lambda stream: reading.answers_of(stream.query, stream.warehouse, "corrected", OF_A_KEY),
    "quality": lambda stream: reading.quality_of(stream.query, stream.warehouse),
    "late rows": lambda stream: late_rows.late_rows(stream.query, stream.driver.layout, None),
    "rows of a table": lambda stream: reading.rows_of(stream.query, stream.warehouse, "late"),
}


@pytest.fixture(scope="module")
def stream(tmp_path_factory) -> PanelStream:
    return run_stream(tmp_path_factory.mktemp("view"), {"policy": "mp_k_slack"})


@pytest.fixture
def opened(monkeypatch) -> Counter[str]:
    """How often each table was opened."""
    count, open_table = Counter(), tables.open_table

    def counting(path):
        count[path.name] += 1
        return open_table(path)

    monkeypatch.setattr(tables, "open_table", counting)
    return count


@pytest.mark.parametrize("name", sorted(PANEL_OF))
def test_a_panel_opens_each_table_once(stream, opened, name):
    request = {}
    if name == "answer":
        request["id"] = shown(PANEL_OF["answers"], stream.view)["rows"][0]["id"]
        opened.clear()
    shown(PANEL_OF[name], stream.view, **request)
    assert opened, "it reads some table"
    assert set(opened.values()) == {1}


@pytest.mark.parametrize("name", READERS)
def test_a_reader_opens_each_table_once(stream, opened, name):
    READERS[name](stream)
    assert opened, "it reads some table"
    assert set(opened.values()) == {1}
