"""A checkpoint, journal and tables that are inconsistent are refused: lost, damaged, or older than the rest."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from kit.oracles.oracle import Settings
from kit.runs.warehouse import make_query
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.task_states import CLOCK, TaskStates
from tailrace.ground.errors import Busy, Damaged
from tailrace.kinds import build
from tailrace.spark.distributed_correction import correct
from tailrace.storage import checkpoint
from tailrace.storage.journal import BatchRecord, Journal, LogPosition
from tailrace.storage.layout import Layout
from tailrace.storage.results import read_answers
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import Tables
from tailrace.storage.written_batches import path_of, record_written
from tailrace.tables.stream import STREAM_TABLES

pytestmark = pytest.mark.slow

BATCHES = 3
QUERY = make_query(Path("in"), Settings(500, 100, 100, "sum", "none"))
TYPES = {"event_time": "timestamp[ms]", "arrival_time": "timestamp[ms]"} | dict.fromkeys(("id", "key"), "string")
TYPES |= {"value": "double"}
OWNERS = (CLOCK, *range(QUERY.parallelism))


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """The files of a stream that was killed after its third batch."""
    layout = Layout.for_query(tmp_path / "wh", QUERY.name)
    manifest, journal, tables = (
        layout.create_checkpoint(QUERY.structure(), {"readings": TYPES}, {}),
        Journal(layout.journal),
        Tables(layout),
    )
    table_schemas = schemas(build(QUERY)) | {
        "history": pa.schema([("event_date", pa.string()), ("event_hour", pa.int64())])
    }
    tables.create({name: table_schemas[name] for name in STREAM_TABLES})
    for batch in range(BATCHES):
        journal.append(BatchRecord(BatchHeader(batch, ()), (), LogPosition()))
        for owner in OWNERS:
            TaskStates(layout.states).write(owner, batch, b"")
        for name in STREAM_TABLES:
            if name not in ("history", "late") or batch < 2:
                tables.append(name, table_schemas[name].empty_table(), manifest.id, batch)
                record_written(layout, [name], batch)
    return layout


def damage_message(layout: Layout, match: str) -> str:
    with pytest.raises(Damaged, match=match) as error_info:
        checkpoint.resumable(layout, QUERY)
    return str(error_info.value)


def test_consistent_state_can_be_resumed(layout):
    expected = layout.manifest()
    assert checkpoint.resumable(layout, QUERY) == checkpoint.readable(Tables(layout), QUERY) == expected
    TaskStates(layout.states).write(0, 3, b"")  # killed between the states of two tasks
    assert checkpoint.resumable(layout, QUERY) == expected
    shutil.rmtree(layout.checkpoint)  # it can be made again
    assert checkpoint.resumable(layout, QUERY) == expected


@pytest.mark.parametrize("entry_count", [0, 1, 2])
@pytest.mark.parametrize("without_checkpoint", [False, True])
def test_a_journal_that_lacks_its_newest_entries_is_refused(layout, entry_count, without_checkpoint):
    for number in range(entry_count, BATCHES):
        (layout.journal / f"{number:08d}.json").unlink()
    if without_checkpoint:  # then the tables show the number of batches
        shutil.rmtree(layout.checkpoint)
    message = damage_message(layout, f"it has {entry_count} entries, and the stream has run 3 batches")
    assert f"mv {layout.home} {layout.home}.damaged" in message


@pytest.mark.needs("long")
@pytest.mark.parametrize("name", STREAM_TABLES)
@pytest.mark.parametrize("without_checkpoint", [False, True])
def test_a_table_that_is_ahead_of_the_journal_is_refused(layout, name, without_checkpoint):
    """As in a copy of files that were being written; whichever table it is."""
    table, app = Tables(layout), layout.manifest().id
    table.append(name, table.open(name).to_pyarrow_table().slice(0, 0), app, BATCHES)
    if without_checkpoint:
        shutil.rmtree(layout.checkpoint)
    message = damage_message(layout, "it has 3 entries, and the stream has run 4 batches")
    assert f"to restore all of {layout.home} from one backup" in message
    with pytest.raises(Damaged, match="it has 3 entries"):
        read_answers(QUERY, layout.home.parent, False)
    journal = Journal(layout.journal)  # it was read while the stream went on
    journal.append(BatchRecord(BatchHeader(BATCHES, ()), (), LogPosition()))
    assert checkpoint.resumable(layout, QUERY) == layout.manifest()


def test_a_lost_journal_directory_is_refused(layout):
    shutil.rmtree(layout.journal)
    damage_message(layout, "it has 0 entries")


def test_a_journal_with_a_gap_is_refused(layout):
    (layout.journal / "00000001.json").unlink()
    damage_message(layout, "entry 1 is lost")


@pytest.mark.parametrize("content", ["", '{"head"', "[]", '{"head": {}, "segments": [], "standing": {}}'])
def test_a_damaged_journal_entry_is_refused(layout, content):
    (layout.journal / "00000002.json").write_text(content)
    damage_message(layout, "its newest entry is damaged")


@pytest.mark.parametrize("content", ["", "[1]", '{"id": 1, "other": 2}'])
def test_a_damaged_manifest_is_refused(layout, content):
    (layout.stream / "manifest.json").write_text(content)
    damage_message(layout, r"manifest\.json: it is damaged")


def test_a_lost_manifest_is_refused(layout):
    (layout.stream / "manifest.json").unlink()
    damage_message(layout, "it is lost, though the stream's tables are there")


@pytest.mark.parametrize("name", STREAM_TABLES)
def test_a_lost_table_is_refused_and_resumable_without_the_checkpoint(layout, name):
    shutil.rmtree(layout.table(name))
    message = damage_message(layout, f"{name}: the table is lost")
    assert f"mv {layout.checkpoint} {layout.checkpoint}.damaged" in message
    for reader in (lambda: read_answers(QUERY, layout.home.parent, False), lambda: correct(QUERY, layout.home.parent)):
        with pytest.raises(Damaged, match="is lost"):
            reader()
    shutil.rmtree(layout.checkpoint)
    assert checkpoint.resumable(layout, QUERY) == layout.manifest()


@pytest.mark.parametrize("name", STREAM_TABLES)
def test_a_table_from_an_older_backup_is_refused_and_resumable_without_the_checkpoint(layout, name):
    log = layout.table(name) / "_delta_log"
    sorted(log.glob("*.json"))[-1].unlink()
    last = 1 if name in ("history", "late") else 2
    damage_message(layout, f"{name}: it ends with batch {last - 1}, though the stream has written batch {last}")
    with pytest.raises(Damaged, match="it is an older table"):
        read_answers(QUERY, layout.home.parent, False)
    shutil.rmtree(layout.checkpoint)
    assert checkpoint.resumable(layout, QUERY) == layout.manifest()


@pytest.mark.parametrize("content", [None, "", "[]", "{"])
def test_a_lost_or_damaged_list_of_written_batches_is_refused(layout, content):
    path_of(layout).unlink() if content is None else path_of(layout).write_text(content)
    damage_message(layout, r"tables\.json: it is (lost|damaged)")


@pytest.mark.parametrize("owner", OWNERS)
def test_a_lost_state_is_refused(layout, owner):
    (layout.states / str(owner) / "00000001.state").unlink()  # of the batch before: no batch needs it
    assert checkpoint.resumable(layout, QUERY) == layout.manifest()
    (layout.states / str(owner) / "00000002.state").unlink()
    whose = "the clock" if owner == CLOCK else "a task"
    assert "tailrace rebuild" in damage_message(
        layout, rf"tasks/{owner}/00000002\.state: this state of {whose} is lost"
    )


def test_a_state_that_a_running_stream_deletes_meanwhile_is_not_lost(layout, monkeypatch):
    missing = TaskStates.missing

    def while_it_runs(states, tasks, batch):
        for owner in (CLOCK, *range(tasks)):
            states.write(owner, 4, b"")  # and batch 3 before it
        record_written(layout, ["metrics"], 4)
        return missing(states, tasks, batch)

    monkeypatch.setattr(TaskStates, "missing", while_it_runs)
    for batch in (3, 4):
        Journal(layout.journal).append(BatchRecord(BatchHeader(batch, ()), (), LogPosition()))
    assert checkpoint.resumable(layout, QUERY) == layout.manifest()


def test_corrections_wait_while_batches_are_replayed(layout):
    shutil.rmtree(layout.checkpoint)
    with pytest.raises(Busy, match="to be run again, 0 of 3 so far"):
        correct(QUERY, layout.home.parent)
    record_written(layout, ["metrics"], 0)
    with pytest.raises(Busy, match="1 of 3 so far"):
        correct(QUERY, layout.home.parent)
    record_written(layout, ["metrics"], 1)  # `metrics` is a batch ahead: the batch in progress
    assert checkpoint.readable(Tables(layout), QUERY) == layout.manifest()


def test_a_batch_that_is_written_meanwhile_is_none_to_repeat(layout, monkeypatch):
    notes = [{"metrics": 0}, {"metrics": 1}]
    monkeypatch.setattr(checkpoint, "read_written", lambda layout: notes.pop(0))
    assert checkpoint.readable(Tables(layout), QUERY) == layout.manifest()


def test_a_checkpoint_before_its_first_batch_can_be_resumed(tmp_path):
    layout = Layout.for_query(tmp_path / "wh", QUERY.name)
    assert checkpoint.resumable(layout, QUERY) is None
    manifest = layout.create_checkpoint(QUERY.structure(), {"readings": TYPES}, {})
    assert checkpoint.resumable(layout, QUERY) == checkpoint.readable(Tables(layout), QUERY) == manifest
    Journal(layout.journal).append(BatchRecord(BatchHeader(0, ()), (), LogPosition()))
    TaskStates(layout.states).write(0, 0, b"")
    assert checkpoint.resumable(layout, QUERY) == manifest
    assert json.loads((layout.stream / "manifest.json").read_text())["id"] == manifest.id
