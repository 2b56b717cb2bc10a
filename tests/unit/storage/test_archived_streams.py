"""Streams that were begun in the format of each release go on in this version, and give the answers of a fresh run."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest

from kit.runs.kind_streams import without_measured
from kit.runs.local_driver import Driver
from tailrace.storage.checkpoint import committed_batches
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import FORMAT
from tailrace.storage.results import AnswerTables
from tailrace.storage.tables import Tables
from unit.storage.archived_streams import COMMAND, DATA, LATER, READ, STREAMS, archive_of, query_in, run_all, unpack

FORMATS = sorted(int(file.name.split(".")[0].rpartition("_")[2]) for file in DATA.glob("warehouse_format_*.tar.xz"))


def test_the_present_format_has_an_archive():
    assert archive_of(FORMAT).is_file(), f"the format is new: run {COMMAND}, and commit the archive that it writes"


@pytest.mark.parametrize("number", FORMATS)
@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_of_a_format_goes_on_and_is_corrected_with_the_answers_of_a_fresh_run(tmp_path, number, name):
    begun, fresh = tmp_path / "begun", tmp_path / "fresh"
    unpack(number, begun)
    unpack(number, fresh)
    assert_is_open(Layout.for_query(begun / "wh", name))
    found = rows_of(run_all(query_in(begun, name, LATER), begun / "wh"))
    expected = rows_of(run_all(query_in(fresh, name, READ, LATER), fresh / "new"))
    assert all(expected[table] for table in ("results", "late", "answers"))
    for table, rows in expected.items():
        assert found[table] == rows, table


def assert_is_open(layout: Layout) -> None:
    """Assert that a stream has read one batch, has answered and has late tuples, and waits for more."""
    tables = Tables(layout)
    assert committed_batches(layout) == 1
    assert tables.read("results").num_rows
    assert tables.read("late").num_rows
    assert not pc.any(tables.read("metrics")["flushed"]).as_py()


def rows_of(driver: Driver) -> dict[str, list[str]]:
    """The streamed rows of a query's tables, and its newest answers."""
    kind = driver.pipeline.kind
    tables = {name: driver.tables.read(name) for name in ("results", "late")}
    tables["quarantine"] = driver.tables.read("quarantine", ["stream", "reason", "record"])
    newest = AnswerTables(driver.tables, kind.answers).latest()
    tables["answers"] = newest.select([name for name in newest.column_names if name in kind.answer.names])
    return {name: sorted(str(without_measured(row)) for row in table.to_pylist()) for name, table in tables.items()}
