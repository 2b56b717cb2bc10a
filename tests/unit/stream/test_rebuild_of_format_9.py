"""A warehouse of format 9, whose states Spark had: only a rebuild takes it over; then its stream goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archives import unpack
from json_stream import records_of, write_json
from oracle import Settings, batch, stream
from oracle_assertions import assert_close, assert_streamed
from tailrace.answers.by_window import ByWindow
from tailrace.calibration.calibrate import calibrate
from tailrace.correction.local_correction import correct
from tailrace.ground.errors import Refused
from tailrace.query.query import Query
from tailrace.spark import app as on_spark
from tailrace.storage import checkpoint
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import FORMAT
from tailrace.storage.results import AnswerTables, read_answers
from tailrace.stream.local_stream import rebuild, run
from tailrace.stream.run_options import RunOptions
from tailrace.windows.sliding import Sliding
from warehouse import make_query, make_stream, rows_of, tables_of

FORMAT_9 = Path(__file__).parents[2] / "data" / "warehouse_format_9.tar.gz"
"""Written by commit 72ce847: a bounded run with --keep-open on Spark, of the first 150 rows in three batches, JSON."""

TUPLES = make_stream(300, seed=51)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
OF_SPARK = ("metadata", "offsets", "commits", "state")
READERS = {
    "run": run,
    "live run": lambda query, warehouse: run(query, warehouse, RunOptions(live=True)),
    "run on Spark": on_spark.run,
    "correct": correct,
    "calibrate": lambda query, warehouse: calibrate(query, warehouse, dry_run=True),
    "results": lambda query, warehouse: read_answers(query, warehouse, streamed=True),
    "readable": lambda query, warehouse: checkpoint.readable(Layout.for_query(warehouse, query.name), query),
    "deploy": lambda query, warehouse: Layout.for_query(warehouse, query.name).require_deployable(
        query.structure(), Path("readings.yaml")
    ),
}


@pytest.fixture
def warehouse(tmp_path) -> Path:
    unpack(FORMAT_9, tmp_path / "wh")
    stream = tmp_path / "wh" / "readings" / "_stream"
    (stream / "origin.json").rename(stream / "manifest.json")
    return tmp_path / "wh"


@pytest.fixture
def query(tmp_path) -> Query:
    """The query of the warehouse; of its source there is what came later."""
    for number in (3, 4, 5):
        write_json(records_of(TUPLES[50 * number : 50 * number + 50]), tmp_path / "in", number)
    return make_query(tmp_path / "in", SETTINGS, source="json")


def contents(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


LACKING = ("filtered", "floored", "lookups", "threshold", "unmatched")


def answers(warehouse: Path) -> dict[str, list[str]]:
    """The rows of each table, but for the columns that the tables of that version lack."""
    return {
        name: sorted(str({column: value for column, value in row.items() if column not in LACKING}) for row in rows)
        for name, rows in rows_of(warehouse).items()
    }


@pytest.mark.parametrize("reader", READERS)
def test_all_else_refuses_it_with_the_advice_to_rebuild_and_changes_nothing(warehouse, query, reader):
    before = contents(warehouse)
    with pytest.raises(Refused) as error_info:
        READERS[reader](query, warehouse)
    message = str(error_info.value)
    assert f"the stream was begun by an older version of tailrace: format 9, here {FORMAT}" in message
    file = "readings.yaml" if reader == "deploy" else "FILE"
    assert f"right would be: tailrace rebuild {file} --warehouse {warehouse}, which takes it over" in message
    assert contents(warehouse) == before


def test_a_rebuild_takes_it_over_and_the_stream_goes_on(warehouse, query):
    layout, before = Layout.for_query(warehouse, "readings"), answers(warehouse)
    done = rebuild(query, warehouse, Path("readings.yaml"))
    assert (done.rows, done.stored_rows, done.answers_anew) == (150, 150, False)
    assert answers(warehouse) == before
    assert layout.manifest().format == FORMAT
    assert not [name for name in OF_SPARK if (layout.checkpoint / name).exists()]
    (aside,) = (layout.home / "_before").iterdir()
    assert {"offsets", "commits"} <= {path.name for path in aside.rglob("*")}, "what it replaces is kept"
    assert_goes_on(warehouse, query)


def assert_goes_on(warehouse: Path, query: Query) -> None:
    assert run(query, warehouse, RunOptions(50)) == 3
    rows = rows_of(warehouse)
    assert_streamed(rows, stream(TUPLES, SETTINGS))
    assert sum(row["rows"] for row in rows["metrics"]) == sum(row["rows"] for row in rows["segments"]) == len(TUPLES)
    correct(query, warehouse)
    found = AnswerTables(tables_of(warehouse), ByWindow(Sliding(SETTINGS.size, SETTINGS.slide))).latest().to_pylist()
    corrected = {(row["key"], row["window_start"], row["window_end"]): row["value"] for row in found}
    true = batch(TUPLES, SETTINGS)
    assert corrected.keys() == true.keys()
    for window, version in true.items():
        assert_close(corrected[window], version.value, version.sum_abs)


def test_one_whose_driver_was_killed_before_it_noted_a_batch_is_taken_over(warehouse, query):
    """The tables have the newest batch; their note, and Spark's commits, end with the one before it."""
    checkpoint = Layout.for_query(warehouse, "readings").checkpoint
    note = json.loads((checkpoint / "tables.json").read_text())
    (checkpoint / "tables.json").write_text(json.dumps(dict.fromkeys(note, 1)))
    (checkpoint / "commits" / "2").unlink()
    assert rebuild(query, warehouse, Path("readings.yaml")).entries == 3
    assert_goes_on(warehouse, query)


def test_one_whose_query_has_changed_is_taken_over_with_other_answers(warehouse, tmp_path, query):
    wider = Settings(900, 300, 100, "max", ("k_slack", 300))
    other = make_query(tmp_path / "in", wider, parallelism=3, source="json")
    assert rebuild(other, warehouse, Path("readings.yaml")).answers_anew
    assert_streamed(rows_of(warehouse), stream(TUPLES[:150], wider, flush=False))
    run(other, warehouse, RunOptions(50))
    assert_streamed(rows_of(warehouse), stream(TUPLES, wider))
