"""A warehouse in another format is refused, with the ways to go on, and left unchanged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.oracles.oracle import Settings
from kit.runs.warehouse import make_query, make_stream, write_files
from tailrace.api.named import quality_named, rows_named
from tailrace.calibration.calibrate import calibrate
from tailrace.console.table_facts import TableFacts
from tailrace.correction.local_correction import correct
from tailrace.delivery.reading import read_current
from tailrace.ground.errors import Damaged, Refused
from tailrace.ground.files.object_path import ObjectPath
from tailrace.panels.query_view import QueryView
from tailrace.query.query import Query
from tailrace.storage import checkpoint
from tailrace.storage.answer_range import AnswerRange
from tailrace.storage.backup import back_up
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import FORMAT, CheckpointManifest
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables
from tailrace.storage.tasks_in_force import request_tasks
from tailrace.stream.local_stream import rebuild, run
from tailrace.stream.run_options import RunOptions

READERS = {
    "run": run,
    "live run": lambda query, warehouse: run(query, warehouse, RunOptions(live=True)),
    "rebuild": lambda query, warehouse: rebuild(query, warehouse, Path("readings.yaml")),
    "correct": correct,
    "calibrate": lambda query, warehouse: calibrate(query, warehouse, dry_run=True),
    "results": lambda query, warehouse: read_answers(query, warehouse, streamed=True),
    "backup": lambda query, warehouse: back_up(Layout.for_query(warehouse, query.name), warehouse / "backup"),
    "rescale": lambda query, warehouse: request_tasks(Layout.for_query(warehouse, query.name), query, 3),
    "deploy": lambda query, warehouse: Layout.for_query(warehouse, query.name).require_deployable(query, None),
    "readable": lambda query, warehouse: checkpoint.readable(Tables(Layout.for_query(warehouse, query.name)), query),
    "resumable": lambda query, warehouse: checkpoint.resumable(Layout.for_query(warehouse, query.name), query),
    "results by name": lambda query, warehouse: read_current(Layout.for_query(warehouse, query.name), AnswerRange()),
    "quality by name": lambda query, warehouse: quality_named(query.name, warehouse),
    "rows by name": lambda query, warehouse: rows_named(query.name, warehouse, "late"),
    "a page's parts": lambda query, warehouse: QueryView(Layout.for_query(warehouse, query.name), None).tables,
}


@pytest.fixture
def query(tmp_path) -> Query:
    write_files(make_stream(40, seed=1), tmp_path / "in", [0, 40])
    return make_query(tmp_path / "in", Settings(1000, 500, 100, "sum", ("k_slack", 100)))


@pytest.fixture
def warehouse(tmp_path, query) -> Path:
    Layout.for_query(tmp_path / "wh", query.name).create_checkpoint(query.structure(), {}, {})
    return tmp_path / "wh"


def give_format(warehouse: Path, number: int) -> None:
    """Write the number of a format into the manifest of the stream, and a field that this version does not know."""
    file = warehouse / "readings" / "_stream" / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": number, "what": "nobody knows"}))


def contents(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("number", "version"), [(FORMAT - 1, "an older"), (FORMAT + 1, "a newer")])
def test_a_stream_in_another_format_is_refused_and_stays_as_it_is(warehouse, query, reader, number, version):
    give_format(warehouse, number)
    before = contents(warehouse)
    with pytest.raises(Refused) as error_info:
        READERS[reader](query, warehouse)
    assert not isinstance(error_info.value, Damaged), "a restored backup would not help"
    home = warehouse / "readings"
    assert str(error_info.value) == (
        f"{home}: the stream was begun by {version} version of tailrace: format {number}, here {FORMAT}\n"
        "    right would be: that version of tailrace, to go on with it; or another name for the query, another "
        f"warehouse, or mv {home} {home}.old, to begin again and read the source from its start"
    )
    assert contents(warehouse) == before


def test_an_interrupted_rebuild_of_another_format_is_not_completed(warehouse, query):
    give_format(warehouse, FORMAT - 1)
    (warehouse / "readings" / "_switch.json").write_text('{"format": 13, "moves": [["results", "_before/1/results"]]}')
    before = contents(warehouse)
    with pytest.raises(Refused, match="an older version of tailrace"):
        READERS["rebuild"](query, warehouse)
    assert contents(warehouse) == before


def test_the_switch_of_another_formats_rebuild_is_not_completed(warehouse, query):
    """It has moved the manifest aside, and was killed then."""
    home = warehouse / "readings"
    (home / "_switch.json").write_text(json.dumps({"format": FORMAT - 1, "moves": [["_built", "results"]]}))
    (home / "_built").mkdir()
    (home / "_stream" / "manifest.json").unlink()
    before = contents(warehouse)
    with pytest.raises(Refused, match="an older version of tailrace"):
        READERS["rebuild"](query, warehouse)
    assert contents(warehouse).items() >= before.items(), "and locks"
    assert (home / "_built").is_dir()
    assert not (home / "results").exists()


def test_facts_of_a_stream_in_another_format_are_unknown(warehouse):
    give_format(warehouse, FORMAT - 1)
    facts = TableFacts.read(Layout(warehouse / "readings"))
    assert facts.promise.state == "unknown"
    assert "an older version of tailrace" in facts.note


@pytest.mark.parametrize("value", [None, "9", 9.5])
def test_a_checkpoint_without_a_format_is_not_taken_for_one_in_the_present_format(warehouse, query, value):
    file = warehouse / "readings" / "_stream" / "manifest.json"
    manifest = json.loads(file.read_text())
    del manifest["format"]
    file.write_text(json.dumps(manifest if value is None else manifest | {"format": value}))
    with pytest.raises(Damaged, match=r"manifest\.json: it is damaged \(.*format"):
        READERS["resumable"](query, warehouse)


@pytest.mark.parametrize("is_remote", [False, True], ids=["disk", "bucket"])
def test_a_rebuild_is_advised_only_where_it_is_possible(tmp_path, query, is_remote):
    layout = Layout(ObjectPath("s3://lake/tables/readings") if is_remote else tmp_path)
    manifest = CheckpointManifest("1", query.structure() | {"window.size": "2 s"}, {}, {}, {})
    with pytest.raises(Refused) as error_info:
        layout.require_same(manifest, query)
    advice = "another name for the query, or another warehouse" if is_remote else "tailrace rebuild FILE --warehouse"
    assert f"the old value; or {advice}" in str(error_info.value)
    assert ("tailrace rebuild" in str(error_info.value)) is not is_remote
