"""Files that were staged and that no commit names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.task_states import TaskStates
from tailrace.ground.arrow.times import ARRIVAL_US, EVENT_US, with_times
from tailrace.ground.facts import Fact
from tailrace.sources import history
from tailrace.storage.journal import BatchRecord, Journal, LogPosition
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables
from tailrace.stream.orphans import sweep
from tailrace.tables.stream import FACTS

SCHEMA = history.schema(pa.string(), pa.string(), {})


def write(layout: Layout, ordinal: int) -> pa.RecordBatch:
    """Write the files of a segment of two tuples of different hours, as a reader does."""
    times = np.array([1_700_000_000_000, 1_700_009_000_000])
    columns = dict.fromkeys(("event_time", "arrival_time"), times) | {"id": pa.array(["a", "b"])}
    columns |= {"key": pa.array(["a", "b"])}
    columns |= {name: np.arange(2) + ordinal for name in ("position", "tick", "end", "row", EVENT_US, ARRIVAL_US)}
    return history.write(pa.RecordBatch.from_pydict(columns), ordinal, layout.table("history"))


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / "readings")
    layout.journal.mkdir(parents=True)
    tables = Tables(layout)
    tables.create({"history": SCHEMA, "facts": FACTS.schema()})
    for batch in range(2):
        tables.append("history", pa.Table.from_batches([write(layout, batch)]), "app", batch)
    return layout


def files_of(directory: Path) -> set[str]:
    return {str(file.relative_to(directory)) for file in directory.rglob("*.parquet")}


def test_files_of_a_table_that_no_commit_names_are_removed(layout: Layout) -> None:
    home = layout.table("history")
    before = files_of(home)
    write(layout, 2)
    (home / "event_date=2023-11-14" / ".part-00000003.parquet.new").touch()
    assert len(files_of(home) - before) == 2
    assert sweep(layout, Journal(layout.journal), ["history"], 0) == 3
    assert (files_of(home), list(home.rglob(".part*"))) == (before, [])
    assert DeltaTable(home).to_pyarrow_table().num_rows == 4


def test_a_reader_of_an_older_version_finds_its_files(layout: Layout) -> None:
    home = layout.table("history")
    DeltaTable(home).optimize.compact()
    version = DeltaTable(home).version()
    assert sweep(layout, Journal(layout.journal), ["history"], 0) == 0
    older = DeltaTable(home, version=version - 1)
    assert (older.to_pyarrow_table().num_rows, DeltaTable(home).to_pyarrow_table().num_rows) == (4, 4)


def test_a_table_that_is_not_there_yet_has_no_orphans(layout: Layout) -> None:
    assert sweep(layout, Journal(layout.journal), ["history_left"], 0) == 0


def test_versions_that_no_fact_names_are_removed(layout: Layout) -> None:
    layout.table_versions.mkdir()
    for name in ("in_table.csv", "in_journal.csv", "orphan.csv", ".half.csv.new"):
        (layout.table_versions / name).touch()
    schema = FACTS.schema()
    row = dict.fromkeys(schema.names) | {"about": "table", "value": '{"file": "in_table.csv"}', "evidence": ""}
    numbers = {name: 0 for name in ("version", "batch") if name in schema.names}
    Tables(layout).add("facts", with_times(pa.Table.from_pylist([row | numbers], schema), schema))
    fact = Fact("table", 1, 0, {"file": "in_journal.csv"}, "")
    journal = Journal(layout.journal)
    journal.append(BatchRecord(BatchHeader(0, (fact,)), (), LogPosition({})))
    assert sweep(layout, journal, [], 0) == 2
    assert {file.name for file in layout.table_versions.iterdir()} == {"in_table.csv", "in_journal.csv"}


def test_a_version_that_was_replaced_before_a_segment_was_joined_with_it_is_removed_and_named(layout, capsys) -> None:
    layout.table_versions.mkdir()
    files = ["joined", "replaced", "joined", "replaced too", "in force", "never stamped"]
    for name in files:
        (layout.table_versions / name).touch()
    schema = FACTS.schema()
    empty = dict.fromkeys(schema.names) | {"about": "table", "evidence": "", "batch": 0}
    stamped = zip(range(1, 6), [0, 4, 4, 7, 7], files, strict=False)
    rows = [
        empty | {"version": version, "from_segment": segment, "value": json.dumps({"file": name, "delta_version": "3"})}
        for version, segment, name in stamped
    ]
    Tables(layout).add("facts", with_times(pa.Table.from_pylist(rows[::-1], schema), schema))
    assert sweep(layout, Journal(layout.journal), [], 0) == 3
    assert {file.name for file in layout.table_versions.iterdir()} == {"joined", "in force"}
    said = "removed 3 versions of a table that no tuple was joined with: "
    assert said + "never stamped, replaced, replaced too" in capsys.readouterr().err


def test_halves_of_files_are_removed_and_chunks_stay(layout: Layout) -> None:
    TaskStates(layout.states).write(0, 1, b"")
    store = layout.chunks / "0"
    store.mkdir(parents=True)
    for name in ("00000001-left-0.arrow", ".00000002-left-0.arrow.new"):
        (store / name).touch()
    assert sweep(layout, Journal(layout.journal), [], 0) == 1
    assert [file.name for file in store.iterdir()] == ["00000001-left-0.arrow"]


def test_the_chunks_of_tasks_that_have_ended_are_removed(layout: Layout) -> None:
    states = TaskStates(layout.states)
    states.write(0, 5, b"")
    states.write(1, 3, b"")  # the change to one task was batch 4
    for task in ("0", "1"):
        (layout.chunks / task).mkdir(parents=True)
        (layout.chunks / task / "00000003-left-0.arrow").touch()
    sweep(layout, Journal(layout.journal), [], 4)
    assert [*(layout.chunks / "1").iterdir()], "the change may run again"
    sweep(layout, Journal(layout.journal), [], 6)
    assert not [*(layout.chunks / "1").iterdir()]
    assert [*(layout.chunks / "0").iterdir()]


def test_what_can_not_be_removed_now_does_not_stop_the_stream(layout: Layout, monkeypatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Tables, "sweep", fail)
    assert sweep(layout, Journal(layout.journal), ["history"], 0) == 0
