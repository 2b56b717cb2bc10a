"""kill -9 of a driver and of corrections on Spark: the next run goes on, the same answers, nothing twice.

One driver is killed for real and resumed on Spark; two corrections are killed. What a kill leaves of states and tables
is copied in one run on Spark, and the local engine resumes it: it has the same journal, states and tables, and needs a
tenth of the time. `properties/test_kind_deaths.py` has all points of every kind in one process, in an early and in a
later batch; `test_engine_switches.py` has any of them on both engines.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from deltalake import CommitProperties

from kit.oracles.oracle import corrected, stream
from kit.oracles.oracle_assertions import assert_close, assert_streamed
from kit.runs.kill_points import BATCH_ROWS, SETTINGS, TUPLES, arm, kill, leave, write_input
from kit.runs.warehouse import EPOCH, make_query, rows_of, tables_of
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.errors import Damaged
from tailrace.spark.app import run
from tailrace.spark.distributed_correction import correct
from tailrace.storage import tables
from tailrace.storage.checkpoint import committed_batches
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.stream import local_stream
from tailrace.stream.run_options import RunOptions

POINTS = ("K2", 3), ("before note", 0)
RANGE = EPOCH, EPOCH + 4000


def go_on(directory: Path, on=local_stream.run) -> dict[str, list[dict]]:
    on(make_query((directory / "in").resolve(), SETTINGS), directory / "wh", RunOptions(BATCH_ROWS))
    return rows_of(directory / "wh")


@pytest.fixture(scope="module")
def left(tmp_path_factory, _spark) -> Path:
    """What a kill leaves at each point, by its name, in a directory each; and the whole run as `end`."""
    home = tmp_path_factory.mktemp("left")
    write_input(home)
    with pytest.MonkeyPatch.context() as patch:
        for point, batch in POINTS:
            arm(patch, point, batch, lambda name=f"{point}-{batch}": leave(home / "wh", home / name))
        run(make_query(home / "in", SETTINGS), home / "wh", RunOptions(BATCH_ROWS), spark=_spark)
    (home / "wh").rename(home / "end")
    return home


@pytest.fixture
def killed(left, tmp_path):
    """Make a directory with the input, and with what a kill at the point has left as its warehouse."""

    def make(name: str) -> Path:
        (tmp_path / "in").symlink_to(left / "in")
        shutil.copytree(left / name, tmp_path / "wh")
        return tmp_path

    return make


def states_after(directory: Path, batch: int) -> list[Path]:
    """The files with the states of the tasks after a batch."""
    return sorted(Layout.for_query(directory / "wh", "readings").states.glob(f"[0-9]*/{batch:08d}.state"))


@pytest.mark.parametrize("lost", [0, 1])
def test_states_that_were_written_for_an_uncommitted_batch_are_written_again(killed, lost):
    """All tasks, or all but one, have written their state, of another content at that; no table has the batch."""
    directory = killed("K2-3")
    assert committed_batches(Layout.for_query(directory / "wh", "readings")) == 3
    first, second = states_after(directory, 3)
    first.write_bytes(b"half a file")
    second.unlink() if lost else second.write_bytes(b"half a file")
    rows = go_on(directory)
    assert_streamed(rows, stream(TUPLES, SETTINGS))
    assert sum(row["rows"] for row in rows["metrics"]) == len(TUPLES)


def test_a_damaged_state_that_a_worker_meets_is_a_loud_stop_that_tells_the_repair(killed, spark):
    directory = killed("K2-3")
    damaged = states_after(directory, 2)[0]
    damaged.write_bytes(damaged.read_bytes()[:-100])
    with pytest.raises(Damaged, match=r"the state after batch 2, .*, is damaged") as stop:
        go_on(directory, on=run)
    assert "mv " in stop.value.problems[0].remedy


def test_the_next_run_on_spark_goes_on_after_a_real_kill(tmp_path, spark):
    write_input(tmp_path)
    kill(tmp_path, "between states", 1)
    layout = Layout.for_query(tmp_path / "wh", "readings")
    assert (Journal(layout.journal).count, committed_batches(layout)) == (2, 1)
    assert len(states_after(tmp_path, 1)) == 1
    rows = go_on(tmp_path, on=run)
    assert_streamed(rows, stream(TUPLES, SETTINGS))
    assert len(rows["segments"]) == 12
    assert sum(row["accepted"] + row["quarantined"] for row in rows["segments"]) == len(TUPLES)
    assert sum(row["rows"] for row in rows["metrics"]) == len(TUPLES)


def test_without_app_transactions_a_batch_comes_twice(killed, monkeypatch):
    directory = killed("before note-0")
    monkeypatch.setattr(tables, "CommitProperties", lambda app_transactions: CommitProperties())
    monkeypatch.setattr(tables.DeltaTable, "transaction_version", lambda *_: None)
    rows = go_on(directory)
    with pytest.raises(AssertionError, match="twice"):
        assert_streamed(rows, stream(TUPLES, SETTINGS))


@pytest.mark.parametrize("point", ["K6", "K7"])
def test_a_correction_that_was_killed_is_run_again(killed, point):
    directory = killed("end")
    kill(directory, point, 0, span=RANGE)
    query, tables = make_query((directory / "in").resolve(), SETTINGS), tables_of(directory / "wh")
    assert bool(tables.read("corrections").num_rows) == (point == "K7"), "it died elsewhere"
    assert not tables.read("correction_runs").num_rows
    for _ in range(2):
        report = correct(query, directory / "wh", CorrectionRange(*RANGE, arrival=True))
    outcome = stream(TUPLES, SETTINGS)
    versions = corrected(outcome, TUPLES, SETTINGS, *RANGE)
    expected = {window: version for window, version in versions.items() if version}
    rows = tables.read("corrections").to_pylist()
    found = {(row["key"], row["window_start"], row["window_end"]): row for row in rows}
    assert len(rows) == len(found) == len(expected) == report.answers > 0
    for window, version in expected.items():
        assert (found[window]["tuples"], found[window]["as_of"]) == (version.tuples, version.as_of)
        assert_close(found[window]["value"], version.value, version.sum_abs)
    assert tables.read("correction_runs").num_rows == 2
