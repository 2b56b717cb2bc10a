"""A table `late` without some column is refused by the column's name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from deltalake import write_deltalake

from kit.runs.panel_stream import PanelStream, run_stream
from kit.runs.shown import shown
from tailrace.ground.errors import Refused
from tailrace.panels.answer import PANEL
from tailrace.panels.answer_ids import AnswerId
from tailrace.panels.query_view import QueryView
from tailrace.storage.layout import Layout


@pytest.fixture(scope="module")
def stream(tmp_path_factory) -> PanelStream:
    return run_stream(tmp_path_factory.mktemp("whole"), {"policy": "mp_k_slack"})


def without(stream: PanelStream, directory: Path, column: str) -> QueryView:
    """The query in another warehouse, whose table `late` lacks a column."""
    layout = Layout.for_query(directory / "wh", stream.query.name)
    shutil.copytree(stream.view.layout.home, layout.home)
    view = QueryView(layout, None)
    view.__dict__["query"] = stream.query
    rows = stream.view.tables.open("late").to_pyarrow_table().drop_columns([column])
    shutil.rmtree(layout.table("late"))
    write_deltalake(str(layout.table("late")), rows)
    return view


def corrected(view: QueryView) -> list[str]:
    """The ids of the oldest corrected answers, some of which missed tuples."""
    rows = view.tables.read("corrections", [*view.kind.answers.identity.columns])
    oldest = rows.sort_by([("window_end", "ascending"), ("key", "ascending")])[:8]
    return [str(AnswerId.from_identity(row)) for row in oldest.to_pylist()]


@pytest.mark.parametrize("column", ["arrived", "stream"])
def test_a_column_that_late_tuples_lack_is_refused_by_its_name(stream, tmp_path, column):
    view = without(stream, tmp_path, column)
    with pytest.raises(Refused, match=f"the table has no column {column}"):
        shown(PANEL, view, id=corrected(stream.view)[0])
