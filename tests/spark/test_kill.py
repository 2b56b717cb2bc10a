"""kill -9 at K1, K2, K3, K4, at batch 0 and later: the next run goes on, the same answers, nothing twice."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import CommitProperties

from expect import assert_streamed
from oracle import Settings, stream
from tailrace.spark import tables
from tailrace.spark.app import run
from tailrace.spark.intake import Plan
from tailrace.spark.sink import Sink
from warehouse import even, make_query, make_stream, rows_of, tables_of, write_files

pytestmark = pytest.mark.spark

TUPLES = make_stream(600, seed=5)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
TESTS = Path(__file__).parents[1]


def kill(directory: Path, point: str, batch: int) -> None:
    """Run a driver that dies at the point, and see to it that it did."""
    write_files(TUPLES, directory / "in", even(len(TUPLES), 12))
    told = {"point": point, "batch": batch, "in": str(directory / "in"), "wh": str(directory / "wh")}
    told |= {"settings": dataclasses.asdict(SETTINGS)}
    victim = subprocess.run(
        [sys.executable, str(TESTS / "spark" / "victim.py"), json.dumps(told)],
        env=os.environ | {"PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent / 'include'}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert victim.returncode == -signal.SIGKILL, victim.stderr[-3000:]


def go_on(directory: Path) -> dict[str, list[dict]]:
    run(make_query(directory / "in", SETTINGS), directory / "wh", Plan(100))
    return rows_of(directory / "wh")


@pytest.mark.parametrize("batch", [0, 3])
@pytest.mark.parametrize("point", ["K1", "K2", "K3", "K3p", "K4"])
def test_the_next_run_goes_on(tmp_path, spark, point, batch):
    kill(tmp_path, point, batch)
    written = {name: len(rows) for name, rows in rows_of(tmp_path / "wh").items()}
    assert (written["metrics"] > 2 * batch) == (point in ("K3", "K3p")), "it died elsewhere"
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
