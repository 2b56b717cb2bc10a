"""kill -9 at K1, K2, K3, K4, at batch 0 and later: the next run goes on, the same answers, nothing twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import CommitProperties

from expect import assert_streamed
from killed import SETTINGS, TUPLES, kill
from oracle import stream
from tailrace.spark import tables
from tailrace.spark.app import run
from tailrace.spark.intake import Plan
from tailrace.spark.sink import Sink
from warehouse import make_query, rows_of, tables_of

pytestmark = pytest.mark.spark


def go_on(directory: Path) -> dict[str, list[dict]]:
    run(make_query(directory / "in", SETTINGS), directory / "wh", Plan(100))
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
    rows = go_on(tmp_path)
    with pytest.raises(AssertionError, match="twice"):
        assert_streamed(rows, stream(TUPLES, SETTINGS))


def test_a_batch_that_is_skipped_unexecuted_fails(tmp_path, spark, monkeypatch):
    kill(tmp_path, "K3", 0)
    write = Sink.write

    def ask_first(self, rows, batch):
        if (tables_of(tmp_path / "wh").read("metrics")["batch"].to_numpy() == batch).any():
            return self.done(batch, {"metrics": tables_of(tmp_path / "wh").read("metrics")})
        return write(self, rows, batch)

    monkeypatch.setattr(Sink, "write", ask_first)
    with pytest.raises(RuntimeError, match="STATE_STORE_COMMIT_VALIDATION_FAILED"):
        go_on(tmp_path)
