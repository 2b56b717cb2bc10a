"""A warehouse in an S3-compatible store: the answers of one in a directory, and drivers that die at any write."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace

import pytest
from deltalake.exceptions import DeltaError

from kit.oracles.oracle import Settings, corrected, stream
from kit.oracles.oracle_assertions import assert_close, assert_streamed
from kit.parts.object_store import PASSWORD
from kit.runs.deaths import deaths
from kit.runs.local_driver import Driver, no_spark
from kit.runs.object_streams import query_on, readings, write
from kit.runs.warehouse import EPOCH, even, make_query, make_stream, rows_of, tables_of, write_files
from tailrace.calibration.calibrate import calibrate
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.quality import read_quality
from tailrace.correction.requests import GapRule, open_requests, request_correction, withdraw
from tailrace.engine.chunk_stores import LostChunk
from tailrace.engine.task_states import TaskStates
from tailrace.ground.errors import Busy, Damaged, Problem, Refused
from tailrace.ground.files.object_path import ObjectPath
from tailrace.ground.files.object_stores import store_of
from tailrace.storage.checkpoint import committed_batches, readable, resumable
from tailrace.storage.conditional_store import require_conditions
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.proposals import Proposals
from tailrace.storage.results import read_answers
from tailrace.storage.status import Status, wall_ms
from tailrace.storage.tables import VACUUM, Tables
from tailrace.storage.writer import only_driver
from tailrace.storage.written_batches import path_of, read_written, record_written

SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
TUPLES = make_stream(160, seed=5)
RANGE = CorrectionRange(EPOCH, EPOCH + 2000, arrival=True)


def test_answers_corrections_and_quality_are_those_of_a_directory(warehouse, tmp_path):
    (tmp_path / "in").mkdir()
    found = []
    for place in (warehouse, tmp_path / "wh"):
        for number in range(2):
            write(readings(400 * number, 400), tmp_path / "in" / f"part-{number}.parquet")
        query = query_on(str(tmp_path / "in"), "parquet", None)
        app = Driver(query, place)
        app.run(batch_rows=150, flush=True)
        streamed = read_answers(query, place, streamed=True)[0]
        assert correct(query, place, CorrectionRange(), no_spark).answers > 0
        corrected_answers = read_answers(query, place, streamed=False)[0]
        tables = [streamed, corrected_answers, read_quality(query, place)[0]]
        found.append(
            [table.drop_columns(["emitted_at"] if "emitted_at" in table.column_names else []) for table in tables]
        )
    for one, other in zip(*found, strict=True):
        names = [name for name in one.column_names if name != "emitted_at"]
        assert one.select(names).equals(other.select(names))
        assert one.num_rows


@pytest.fixture
def streamed(warehouse, tmp_path):
    """A driver that has come to the end."""
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 4))
    driver = Driver(make_query(tmp_path / "in", SETTINGS), warehouse)
    driver.run(40, flush=True)
    return driver


@pytest.fixture
def died(warehouse, tmp_path, monkeypatch):
    """A driver in the warehouse that has died once at each write of a batch, and then has come to the end."""
    steps = deaths(monkeypatch)
    monkeypatch.setattr(Driver, "compact_every", 3)
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 4))
    driver = Driver(make_query(tmp_path / "in", SETTINGS), warehouse)
    for death in range(12):
        with steps.after(death):
            driver.run(40)
    return driver, steps


def test_a_driver_that_dies_at_any_write_goes_on_with_the_same_answers(died):
    driver, steps = died
    driver.run(40, flush=True)
    assert steps.taken.count("state") >= 2 * (committed_batches(driver.layout) + 5), "no batch was run again"
    rows = rows_of(driver.warehouse)
    assert_streamed(rows, stream(TUPLES, SETTINGS))
    assert sum(row["accepted"] + row["quarantined"] for row in rows["segments"]) == len(TUPLES)
    assert sum(row["rows"] for row in rows["metrics"]) == len(TUPLES)
    assert {"state", "append late", "append metrics", "record_written"} <= set(steps.taken)
    for task in driver.layout.states.iterdir():
        newest = committed_batches(driver.layout) - 1
        assert sorted(int(file.stem) for file in task.iterdir()) == [newest - 1, newest]


def test_a_correction_that_dies_at_any_write_is_run_again(streamed, monkeypatch):
    driver, steps = streamed, deaths(monkeypatch)
    for death in (0, 1, 2, 4):
        with steps.after(death):
            correct(driver.query, driver.warehouse, RANGE, no_spark)
    report = correct(driver.query, driver.warehouse, RANGE, no_spark)
    outcome = stream(TUPLES, SETTINGS)
    versions = corrected(outcome, TUPLES, SETTINGS, RANGE.start, RANGE.end)
    expected = {window: version for window, version in versions.items() if version}
    rows = tables_of(driver.warehouse).read("corrections").to_pylist()
    found = {(row["key"], row["window_start"], row["window_end"]): row for row in rows}
    assert len(rows) == len(found) == len(expected) == report.answers > 0
    for window, version in expected.items():
        assert (found[window]["tuples"], found[window]["as_of"]) == (version.tuples, version.as_of)
        assert_close(found[window]["value"], version.value, version.sum_abs)


def test_a_driver_that_stood_still_writes_no_entry_and_no_note(streamed):
    layout = streamed.layout
    journal, newest = Journal(layout.journal), committed_batches(layout) - 1
    with pytest.raises(Busy, match=f"another driver has planned batch {newest} meanwhile"):
        journal.append(replace(journal[newest], segments=()))
    with pytest.raises(Busy, match=f"another driver has written batch {newest - 2} meanwhile"):
        record_written(layout, ["metrics"], newest - 2)
    assert committed_batches(layout) - 1 == newest
    manifest = layout.manifest()
    with pytest.raises(Busy, match="another driver has begun this stream meanwhile"):
        layout.create_checkpoint({}, {}, {})
    assert layout.manifest() == manifest


def test_a_driver_that_stood_still_between_reading_the_note_and_writing_it_is_refused(streamed, monkeypatch):
    layout, newest = streamed.layout, committed_batches(streamed.layout) - 1
    stale = path_of(layout).stored()
    record_written(layout, ["metrics"], newest + 2)
    read, stored = [], ObjectPath.stored
    monkeypatch.setattr(ObjectPath, "stored", lambda file: stored(file) if read else read.append(file) or stale)
    with pytest.raises(Busy, match=f"another driver has written batch {newest + 1} meanwhile"):
        record_written(layout, ["metrics"], newest + 1)
    assert committed_batches(layout) == newest + 3


def test_a_note_is_written_once_though_a_reply_was_lost(streamed, monkeypatch):
    replace = ObjectPath.replace
    monkeypatch.setattr(ObjectPath, "replace", lambda *arguments: replace(*arguments) and False)
    newest = committed_batches(streamed.layout)
    record_written(streamed.layout, ["metrics"], newest)
    assert read_written(streamed.layout)["metrics"] == newest


def unlocked(require_held=lambda: None):
    return lambda *arguments: nullcontext(require_held)


def test_a_correction_that_stood_still_replaces_nothing_of_another_one(streamed, monkeypatch):
    """Another one ran right before its commit, when it had just seen that it had the lock."""
    replace = Tables.replace

    def stopped(*arguments):
        monkeypatch.setattr(Tables, "replace", replace)
        monkeypatch.setattr(Layout, "lock", unlocked())
        correct(streamed.query, streamed.warehouse, RANGE, no_spark)
        return replace(*arguments)

    monkeypatch.setattr(Tables, "replace", stopped)
    with pytest.raises(DeltaError):
        correct(streamed.query, streamed.warehouse, RANGE, no_spark)
    assert tables_of(streamed.warehouse).read("correction_runs").num_rows == 1


def lost() -> None:
    raise Busy([Problem("lease", "it is lost", "to try again")])


def test_a_correction_whose_lease_is_lost_replaces_nothing(streamed, monkeypatch):
    monkeypatch.setattr(Layout, "lock", unlocked(lost))
    with pytest.raises(Busy, match="it is lost"):
        correct(streamed.query, streamed.warehouse, RANGE, no_spark)
    assert not tables_of(streamed.warehouse).read("corrections").num_rows


def test_a_calibration_proposes_while_it_has_its_lease(warehouse, tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    write_files(make_stream(600, seed=5), tmp_path / "in", [0, 600])
    query = make_query(tmp_path / "in", SETTINGS, calibrated=True)
    Driver(query, warehouse).run(1000, flush=True)
    proposals = Proposals(Layout.for_query(warehouse, query.name))
    with monkeypatch.context() as patch:
        patch.setattr(Layout, "lock", unlocked(lost))
        with pytest.raises(Busy, match="it is lost"):
            calibrate(query, warehouse)
    assert proposals.newest(query.policy) is None
    report = calibrate(query, warehouse)
    assert proposals.newest(query.policy).k_ms == report.next_interval.k_ms


def test_a_lost_state_is_told_with_what_to_do(streamed, warehouse):
    layout = streamed.layout
    newest = committed_batches(layout) - 1
    (layout.states / "0" / f"{newest:08d}.state").unlink()
    with pytest.raises(LostChunk, match=f"the state after batch {newest}, {layout.states}/0/.* is not there"):
        TaskStates(layout.states).read(0, newest)


def test_a_note_that_is_older_or_newer_than_what_is_there(streamed):
    """An older one runs batches again; a newer one than the journal or the tables is refused."""
    layout, newest = streamed.layout, committed_batches(streamed.layout) - 1
    path_of(layout).write_bytes(json.dumps({"metrics": newest - 1, "segments": newest - 1}).encode())
    assert resumable(layout, streamed.query) is not None
    assert committed_batches(layout) == newest
    path_of(layout).write_bytes(json.dumps({"metrics": newest + 1}).encode())
    with pytest.raises(Damaged, match=f"ends with batch {newest}, though the stream has written batch {newest + 1}"):
        resumable(layout, streamed.query)
    path_of(layout).write_bytes(json.dumps({"metrics": newest}).encode())
    (layout.journal / f"{newest:08d}.json").unlink()
    with pytest.raises(Damaged, match="it is lost, or an older one"):
        resumable(layout, streamed.query)


def test_everything_else_of_a_home_is_in_the_bucket(streamed):
    layout = streamed.layout
    Status("waiting", 1, 2, 3, 4).write(layout)
    assert Status.read(layout).batches == 4
    layout.request_drain()
    assert layout.drain.exists()
    with layout.lock(VACUUM), pytest.raises(Busy), layout.lock(VACUUM, 0):
        pass
    gap = GapRule(0, 100, 100)
    interval, _ = request_correction(layout, gap, wall_ms())
    assert [each.interval for each in open_requests(layout)] == [interval]
    withdraw(layout, interval)
    assert not open_requests(layout)
    assert readable(Tables(layout), streamed.query) is not None


def test_what_can_be_no_warehouse_is_refused(warehouse, gateway, monkeypatch):
    with pytest.raises(Refused, match="it is a URL, but none of an object store"):
        Layout.for_query("http://lake/warehouse", "q")
    with pytest.raises(Refused, match="there is no such bucket"):
        Layout.for_query("s3://no-such-bucket/warehouse", "q").manifest()
    assert Layout.for_query(warehouse, "q").manifest() is None
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", gateway.connection(password=PASSWORD[::-1]))
    store_of.cache_clear()
    with pytest.raises(Refused, match="the object store refuses access") as refusal:
        Layout.for_query(warehouse, "q").manifest()
    assert "AIRFLOW_CONN_LAKE" in str(refusal.value)
    assert PASSWORD[::-1] not in str(refusal.value)


@pytest.mark.parametrize("mode", ["create", "replace"])
def test_a_store_that_ignores_conditions_is_refused(warehouse, monkeypatch, mode):
    def unconditional(self, content, *condition):
        self.write_bytes(content)
        return True

    monkeypatch.setattr(ObjectPath, mode, unconditional)
    home = Layout.for_query(warehouse, "q").home
    with pytest.raises(Refused, match="ignores the conditions of a write"):
        require_conditions(home)
    with pytest.raises(Refused, match="ignores the conditions of a write"), only_driver(Layout(home)):
        pass
    assert not list(home.iterdir())
