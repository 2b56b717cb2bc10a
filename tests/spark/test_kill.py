"""kill -9 at K1, K2, K3, K4, at batch 0 and later: the next run goes on, the same answers, nothing twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import CommitProperties

from expect import assert_close, assert_streamed
from killed import SETTINGS, TUPLES, kill
from oracle import corrected, stream
from tailrace.correction.affected_windows import CorrectionRange
from tailrace.spark.app import run
from tailrace.spark.correct import correct
from tailrace.spark.sink import Sink
from tailrace.storage import checkpoint, tables
from tailrace.stream.batch_planner import RunOptions
from warehouse import EPOCH, make_query, rows_of, tables_of

pytestmark = pytest.mark.spark


def go_on(directory: Path) -> dict[str, list[dict]]:
    run(make_query(directory / "in", SETTINGS), directory / "wh", RunOptions(100))
    return rows_of(directory / "wh")


@pytest.mark.parametrize("batch", [0, 3])
@pytest.mark.parametrize("point", ["K1", "K2", "K3", "K3p", "K4", "K12"])
def test_the_next_run_goes_on(tmp_path, spark, point, batch):
    kill(tmp_path, point, batch)
    written = {name: len(rows) for name, rows in rows_of(tmp_path / "wh").items()}
    assert (written["metrics"] > 2 * batch) == (point in ("K3", "K3p", "K12")), "it died elsewhere"
    rows = go_on(tmp_path)
    assert_streamed(rows, stream(TUPLES, SETTINGS))
    assert len(rows["segments"]) == 12
    assert sum(row["accepted"] + row["quarantined"] for row in rows["segments"]) == len(TUPLES)
    assert sum(row["rows"] for row in rows["metrics"]) == len(TUPLES)


def test_without_app_transactions_a_batch_comes_twice(tmp_path, spark, monkeypatch):
    kill(tmp_path, "K3", 0)
    monkeypatch.setattr(tables, "CommitProperties", lambda app_transactions: CommitProperties())
    monkeypatch.setattr(tables.DeltaTable, "transaction_version", lambda *_: None)
    monkeypatch.setattr(checkpoint, "_check_tables", lambda *_: None)  # it goes by the transactions
    rows = go_on(tmp_path)
    with pytest.raises(AssertionError, match="twice"):
        assert_streamed(rows, stream(TUPLES, SETTINGS))


def test_a_batch_that_is_skipped_unexecuted_fails(tmp_path, spark, monkeypatch):
    kill(tmp_path, "K3", 0)
    write = Sink.write

    def ask_first(self, rows, batch):
        if (tables_of(tmp_path / "wh").read("metrics")["batch"].to_numpy() == batch).any():
            return {"metrics": tables_of(tmp_path / "wh").read("metrics")}
        return write(self, rows, batch)

    monkeypatch.setattr(Sink, "write", ask_first)
    with pytest.raises(RuntimeError, match="STATE_STORE_COMMIT_VALIDATION_FAILED"):
        go_on(tmp_path)


@pytest.mark.parametrize("point", ["K6", "K7"])
def test_a_correction_that_was_killed_is_run_again(tmp_path, spark, point):
    a, b = EPOCH, EPOCH + 4000
    kill(tmp_path, point, 0, span=[a, b])
    query, tables = make_query(tmp_path / "in", SETTINGS), tables_of(tmp_path / "wh")
    assert bool(tables.read("corrections").num_rows) == (point == "K7"), "it died elsewhere"
    assert not tables.read("correction_runs").num_rows
    for _ in range(2):
        report = correct(query, tmp_path / "wh", CorrectionRange(a, b, arrival=True))
    outcome = stream(TUPLES, SETTINGS)
    expected = {window: version for window, version in corrected(outcome, TUPLES, SETTINGS, a, b).items() if version}
    rows = tables.read("corrections").to_pylist()
    found = {(row["key"], row["window_start"], row["window_end"]): row for row in rows}
    assert len(rows) == len(found) == len(expected) == report.answers > 0
    for window, version in expected.items():
        assert (found[window]["tuples"], found[window]["as_of"]) == (version.tuples, version.as_of)
        assert_close(found[window]["value"], version.value, version.sum_abs)
    assert tables.read("correction_runs").num_rows == 2
