"""What a stream has written is refused when it does not belong together: lost, damaged, or older than the rest."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from oracle import Settings
from tailrace.engine.batch_header import BatchHeader
from tailrace.ground.errors import Busy, Damaged
from tailrace.spark.correct import correct
from tailrace.storage import checkpoint
from tailrace.storage.journal import BatchRecord, Journal, LogPosition
from tailrace.storage.layout import Layout
from tailrace.storage.results import read_answers
from tailrace.storage.table_schemas import STREAM_TABLES, schemas
from tailrace.storage.tables import Tables
from tailrace.storage.written_batches import path_of, record_written
from warehouse import make_query

BATCHES = 3
QUERY = make_query(Path("in"), Settings(500, 100, 100, "sum", "none"))
ANSWER = pa.schema([("key", pa.string()), ("window_start", pa.int64()), ("window_end", pa.int64())])
TYPES = {"event_time": "timestamp[ms]", "arrival_time": "timestamp[ms]"} | dict.fromkeys(("id", "key"), "string")
TYPES |= {"value": "double"}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """What a stream leaves that was killed after its third batch."""
    layout = Layout.of(tmp_path / "wh", QUERY.name)
    origin, journal, tables = (
        layout.create_checkpoint(QUERY.structure(), TYPES),
        Journal(layout.journal),
        Tables(layout),
    )
    wanted = schemas(ANSWER) | {"history": pa.schema([("event_date", pa.string()), ("event_hour", pa.int64())])}
    tables.create(wanted, STREAM_TABLES)
    for batch in range(BATCHES):
        journal.append(BatchRecord(BatchHeader(batch, ()), (), LogPosition()))
        _log(layout, "offsets", batch)
        for name in STREAM_TABLES:
            if name not in ("history", "late") or batch < 2:
                tables.append(name, wanted[name].empty_table(), origin.id, batch)
                record_written(layout, [name], batch)
        _log(layout, "commits", batch)
    return layout


def _log(layout: Layout, name: str, batch: int) -> None:
    (layout.checkpoint / name).mkdir(parents=True, exist_ok=True)
    (layout.checkpoint / name / str(batch)).write_text("v1\n{}")


def refused(layout: Layout, match: str) -> str:
    with pytest.raises(Damaged, match=match) as caught:
        checkpoint.resumable(layout, QUERY)
    return str(caught.value)


def test_what_belongs_together_is_gone_on_from(layout):
    origin = layout.manifest()
    assert checkpoint.resumable(layout, QUERY) == checkpoint.readable(layout, QUERY) == origin
    (layout.checkpoint / "commits" / "2").unlink()  # killed between the tables and the commit
    assert checkpoint.resumable(layout, QUERY) == origin
    shutil.rmtree(layout.checkpoint)  # it is made again
    assert checkpoint.resumable(layout, QUERY) == origin


@pytest.mark.parametrize("left", [0, 1, 2])
@pytest.mark.parametrize("without_checkpoint", [False, True])
def test_a_journal_that_is_lost_or_from_an_older_backup(layout, left, without_checkpoint):
    for number in range(left, BATCHES):
        (layout.journal / f"{number:08d}.json").unlink()
    if without_checkpoint:  # the tables tell of the batches
        shutil.rmtree(layout.checkpoint)
    told = refused(layout, f"it has {left} entries, and the stream has run 3 batches")
    assert f"mv {layout.home} {layout.home}.damaged" in told


def test_a_journal_whose_directory_is_lost(layout):
    shutil.rmtree(layout.journal)
    refused(layout, "it has 0 entries")


def test_a_journal_with_a_gap(layout):
    (layout.journal / "00000001.json").unlink()
    refused(layout, "entry 1 is lost")


@pytest.mark.parametrize("content", ["", '{"head"', "[]", '{"head": {}, "segments": [], "standing": {}}'])
def test_a_damaged_entry(layout, content):
    (layout.journal / "00000002.json").write_text(content)
    refused(layout, "its newest entry is damaged")


@pytest.mark.parametrize("content", ["", "[1]", '{"id": 1, "other": 2}'])
def test_a_damaged_manifest(layout, content):
    (layout.stream / "origin.json").write_text(content)
    refused(layout, r"origin\.json: it is damaged")


def test_a_lost_manifest(layout):
    (layout.stream / "origin.json").unlink()
    refused(layout, "it is lost, though the stream's tables are there")


@pytest.mark.parametrize("name", STREAM_TABLES)
def test_a_lost_table(layout, name):
    shutil.rmtree(layout.table(name))
    told = refused(layout, f"{name}: the table is lost")
    assert f"mv {layout.checkpoint} {layout.checkpoint}.damaged" in told
    for reader in (lambda: read_answers(QUERY, layout.home.parent, False), lambda: correct(QUERY, layout.home.parent)):
        with pytest.raises(Damaged, match="is lost"):
            reader()
    shutil.rmtree(layout.checkpoint)
    assert checkpoint.resumable(layout, QUERY) == layout.manifest()


@pytest.mark.parametrize("name", STREAM_TABLES)
def test_a_table_from_an_older_backup(layout, name):
    log = layout.table(name) / "_delta_log"
    sorted(log.glob("*.json"))[-1].unlink()
    last = 1 if name in ("history", "late") else 2
    refused(layout, f"{name}: it ends with batch {last - 1}, though the stream has written batch {last}")
    with pytest.raises(Damaged, match="it is an older table"):
        read_answers(QUERY, layout.home.parent, False)
    shutil.rmtree(layout.checkpoint)
    assert checkpoint.resumable(layout, QUERY) == layout.manifest()


@pytest.mark.parametrize("content", [None, "", "[]", "{"])
def test_a_lost_or_damaged_note(layout, content):
    path_of(layout).unlink() if content is None else path_of(layout).write_text(content)
    refused(layout, r"tables\.json: it is (lost|damaged)")


def test_nobody_corrects_while_the_batches_are_run_again(layout):
    shutil.rmtree(layout.checkpoint)
    with pytest.raises(Busy, match="to be run again, 0 of 3 so far"):
        correct(QUERY, layout.home.parent)
    record_written(layout, ["metrics"], 0)
    with pytest.raises(Busy, match="1 of 3 so far"):
        correct(QUERY, layout.home.parent)
    record_written(layout, ["metrics"], 1)  # the batch that is written now: `metrics` is a batch ahead of the note
    assert checkpoint.readable(layout, QUERY) == layout.manifest()


def test_a_checkpoint_before_its_first_batch(tmp_path):
    layout = Layout.of(tmp_path / "wh", QUERY.name)
    assert checkpoint.resumable(layout, QUERY) is None
    origin = layout.create_checkpoint(QUERY.structure(), TYPES)
    for reader in (checkpoint.resumable, checkpoint.readable):
        assert reader(layout, QUERY) == origin
    Journal(layout.journal).append(BatchRecord(BatchHeader(0, ()), (), LogPosition()))
    _log(layout, "offsets", 0)
    assert checkpoint.resumable(layout, QUERY) == origin
    assert json.loads((layout.stream / "origin.json").read_text())["id"] == origin.id
