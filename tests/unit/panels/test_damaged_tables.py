"""Each table of a query damaged by itself: a panel shows the rest and names the table, or says that it is damaged."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from kit.runs.panel_stream import PanelStream, run_stream
from kit.runs.shown import shown
from tailrace.ground.errors import Damaged
from tailrace.panels.answer_ids import AnswerId
from tailrace.panels.panel import Panel
from tailrace.panels.query_view import QueryView
from tailrace.panels.registry import PANELS
from tailrace.storage.layout import Layout

TABLES = (
    "results",
    "corrections",
    "correction_runs",
    "quality",
    "metrics",
    "segments",
    "facts",
    "late",
    "quarantine",
    "activity",
)
WHOLLY = {
    "frontier": {"metrics"},
    "activity": {"activity"},
    "promise": set(),
    "answers": {"results", "corrections"},
    "answer": {"results", "corrections"},
    "late": {"metrics"},
    "ledger": set(),
    "quarantine": {"quarantine"},
    "kind": set(),
    "settings": set(),
}
"""The tables without which a panel has nothing true to show."""


@pytest.fixture(scope="module")
def stream(tmp_path_factory) -> PanelStream:
    return run_stream(tmp_path_factory.mktemp("damaged"), {"policy": "mp_k_slack"})


def request_of(panel: Panel, view: QueryView) -> dict:
    """The default request; of `answer`, the id of a corrected one."""
    if panel.name != "answer":
        return {}
    row = view.tables.read("corrections", [*view.kind.answers.identity.columns]).to_pylist()[0]
    return {"id": str(AnswerId.from_identity(row))}


@pytest.fixture(scope="module")
def whole(stream) -> dict[str, tuple[dict, dict]]:
    """The request and the answer of each panel while nothing is damaged."""
    requests = {panel.name: request_of(panel, stream.view) for panel in PANELS}
    return {panel.name: (requests[panel.name], shown(panel, stream.view, **requests[panel.name])) for panel in PANELS}


def halve_log(table: Path) -> None:
    """Cut the newest commit and the newest checkpoint of it."""
    for kind in ("*.json", "*.checkpoint.parquet"):
        for newest in sorted((table / "_delta_log").glob(kind))[-1:]:
            newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])


def halve_files(table: Path) -> None:
    for file in table.rglob("*.parquet"):
        if "_delta_log" not in file.parts:
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def empty_files(table: Path) -> None:
    """Cut all files to nothing, which Delta's library reports as an error of the disk."""
    for file in table.rglob("*.parquet"):
        if "_delta_log" not in file.parts:
            file.write_bytes(b"")


@pytest.fixture
def copy(stream, tmp_path) -> QueryView:
    """The query in another warehouse, where its tables may be damaged."""
    layout = Layout.for_query(tmp_path / "wh", stream.query.name)
    shutil.copytree(stream.view.layout.home, layout.home)
    view = QueryView(layout, None)
    view.__dict__["query"] = stream.query
    return view


@pytest.mark.needs("long")
@pytest.mark.parametrize("halve", [halve_log, halve_files])
@pytest.mark.parametrize("name", TABLES)
def test_what_a_damaged_table_does_not_touch_is_shown_as_it_was_and_the_rest_names_it(copy, whole, name, halve):
    table = Path(str(copy.layout.table(name)))
    assert table.is_dir()
    halve(table)
    met = []
    for panel in PANELS:
        request, before = whole[panel.name]
        try:
            after = shown(panel, copy, **request)
        except Damaged as error:
            after = str(error)
        if isinstance(after, str):
            assert name in WHOLLY[panel.name], panel.name
            assert str(table) in after
            met.append(panel.name)
            continue
        lacking = {field for each in after["damaged"] for field in each["fields"]}
        assert lacking <= before.keys(), panel.name
        assert all(
            str(table) in each["where"] and re.match("(Run|Move) ", each["remedy"]) for each in after["damaged"]
        ), panel.name
        for field in before.keys() - lacking - {"damaged", "note"}:
            assert after[field] == before[field], (panel.name, field)
        if lacking:
            met.append(panel.name)
            assert any(after[field] != before[field] for field in lacking), panel.name
        else:
            assert after["note"] == before["note"]
    assert met or (name == "quarantine" and halve is halve_files), "some panel needs it"


def test_a_panel_names_a_damaged_table_once_with_all_that_it_lacks(copy, whole):
    halve_log(Path(str(copy.layout.table("metrics"))))
    (promise,) = (each for each in PANELS if each.name == "promise")
    (damaged,) = shown(promise, copy)["damaged"]
    assert damaged["where"].endswith("metrics/_delta_log")
    assert damaged["fields"] == ["coverage", "right"]
    assert "its log is lost or damaged" in damaged["fault"]


@pytest.mark.parametrize("halve", [halve_log, halve_files, empty_files])
def test_a_share_that_late_tuples_decide_is_not_known_without_them(copy, whole, halve):
    halve(Path(str(copy.layout.table("late"))))
    (answers,) = (each for each in PANELS if each.name == "answers")
    _, before = whole["answers"]
    after = shown(answers, copy)
    assert any(row["coverage"] is not None for row in before["rows"])
    assert {row["coverage"] for row in after["rows"]} == {None}
    assert after["right"] == {"at": [], "share": []} != before["right"]
    assert [row["latest"] for row in after["rows"]] == [row["latest"] for row in before["rows"]]
