"""The settings as a panel: the deployed copy beside the file, and facts with their times."""

from __future__ import annotations

import json

import pytest

from kit.runs.local_driver import Driver
from kit.runs.shown import shown
from kit.runs.warehouse import even, make_stream, propose, write_files
from tailrace.ground.errors import Damaged
from tailrace.panels.query_view import QueryView
from tailrace.panels.settings import PANEL
from tailrace.query.loading import load
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.layout import Layout

TEXT = """\
name: readings
kind: aggregate
streams:
  readings:
    source: {format: parquet, path: in}
    event_time: event_time
    arrival_time: arrival_time
    id: id
    key: key
window: {size: 500 ms}
disorder: {policy: cache_duration, initial: 100 ms, tick: 100 ms}
aggregate: {function: sum, column: value}
"""
EDITED = TEXT.replace("size: 500 ms", "size: 1 s").replace("initial: 100 ms", "initial: 200 ms")
K_MS = (700, 300)

DEPLOYED = "its stream runs, or will go on with, what was deployed"


@pytest.fixture(scope="module")
def deployed(tmp_path_factory):
    """A deployed query whose K two calibrations have changed."""
    directory = tmp_path_factory.mktemp("settings")
    file, tuples, bounds = directory / "readings.yaml", make_stream(1200, seed=2), even(1200, 3)
    file.write_text(TEXT)
    layout = Layout.for_query(directory / "wh", "readings")
    for part in range(3):
        write_files(tuples, directory / "in", bounds[part : part + 2], first=part)
        Driver(load(file), directory / "wh").run()
        if part < 2:
            propose(load(file), directory / "wh", K_MS[part])
    DeployedQuery(file, TEXT, {"batch_rows": 4_000_000, "executor_memory": None}).write(layout)
    return QueryView(layout, file)


@pytest.fixture
def view(deployed, tmp_path):
    """The same with a file of its own on disk."""
    file = tmp_path / "readings.yaml"
    file.write_text(TEXT)
    return QueryView(deployed.layout, file)


def test_a_file_that_was_not_edited_is_what_the_driver_runs(deployed):
    answer = shown(PANEL, deployed)
    assert answer["deployed"] == answer["on_disk"] == TEXT
    assert (answer["file"], answer["differences"], answer["fault"], answer["note"]) == (
        str(deployed.file),
        [],
        None,
        None,
    )
    assert answer["options"] == {"batch_rows": 4_000_000, "executor_memory": None}
    parts = {part["name"]: part["text"] for part in answer["explanation"]}
    assert (parts["query"], parts["kind"]) == ("readings", "aggregate")
    assert parts["policy"].startswith("cache_duration")


def test_an_edited_file_stands_beside_the_copy_with_what_differs(view):
    view.file.write_text(EDITED)
    answer = shown(PANEL, view)
    assert (answer["deployed"], answer["on_disk"]) == (TEXT, EDITED)
    found = {each["field"]: (each["before"], each["after"]) for each in answer["differences"]}
    assert found["disorder.initial"] == ("100 ms", "200 ms")
    assert found["window.size"] == ("500 ms", "1 s")
    assert "comes into force by a deployment" in answer["note"]


def test_a_file_that_would_be_refused_is_not_taken_for_the_same(view):
    view.file.write_text(TEXT.replace("kind: aggregate", "kind: aggregates"))
    answer = shown(PANEL, view)
    assert answer["differences"] == []
    assert answer["fault"].startswith(f"{view.file}:2: kind")
    assert answer["note"] == f"the file on disk would be refused: {answer['fault']}; {DEPLOYED}"
    assert answer["on_disk"] == view.file.read_text()


def test_a_file_that_is_gone_or_is_no_text_is_said(view):
    view.file.write_bytes(b"\xff\xfe")
    assert "is not UTF-8" in shown(PANEL, view)["fault"]
    view.file.unlink()
    answer = shown(PANEL, view)
    assert (answer["on_disk"], answer["deployed"]) == (None, TEXT)
    assert "cannot be read" in answer["note"]
    answer = shown(PANEL, QueryView(view.layout, None))
    assert answer["note"] == f"the query file is gone; {DEPLOYED}"
    assert answer["explanation"]


def test_a_copy_that_this_version_refuses_differs_as_a_whole(deployed, view, tmp_path):
    layout = Layout(tmp_path / "readings")
    layout.stream.mkdir(parents=True)
    DeployedQuery(view.file, "name: readings\nkind: of old\n", {}).write(layout)
    (difference,) = shown(PANEL, QueryView(layout, view.file))["differences"]
    assert difference == {"field": "the deployed copy", "before": "refused by this version", "after": "the file"}
    answer = shown(PANEL, QueryView(layout, None))
    assert (answer["explanation"], answer["deployed"]) == ([], "name: readings\nkind: of old\n")


def test_settings_stand_with_the_start_of_their_tick(deployed):
    answer = shown(PANEL, deployed)
    rows = sorted(deployed.tables.read("facts").to_pylist(), key=lambda row: row["version"])
    assert len(rows) == 3
    for fact, row in zip(answer["facts"], rows, strict=True):
        assert {name: fact[name] for name in ("about", "version", "from_tick", "from_segment", "evidence")} == {
            name: row[name] for name in ("about", "version", "from_tick", "from_segment", "evidence")
        }
        assert fact["value"] == json.loads(row["value"])
        assert fact["at"] == (row["from_tick"] * 100 if row["version"] > 1 else None)
    assert [fact["value"]["initial"] for fact in answer["facts"]] == ["100 ms", "700 ms", "300 ms"]


def test_the_newest_facts_are_shown(deployed):
    answer = shown(PANEL, deployed, limit=2)
    assert [fact["version"] for fact in answer["facts"]] == [2, 3]
    assert (answer["facts_total"], answer["note"]) == (3, "the newest 2 of 3 facts")


def test_of_a_stream_that_never_began_the_file_alone_is_known(deployed, tmp_path):
    nothing = shown(PANEL, QueryView(Layout(tmp_path / "readings"), deployed.file))
    assert (nothing["facts"], nothing["deployed"], nothing["on_disk"]) == ([], None, TEXT)
    assert nothing["note"].startswith("nothing was deployed")


def test_a_damaged_copy_is_a_damage(view, tmp_path):
    layout = Layout(tmp_path / "readings")
    layout.stream.mkdir(parents=True)
    layout.deployed.write_text("{")
    with pytest.raises(Damaged, match=r"deployed\.json"):
        shown(PANEL, QueryView(layout, view.file))
