"""A Python worker of Spark's is killed amid a batch: the batch runs again, and nothing is lost or comes twice."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
from pyspark import cloudpickle

from kill_points import BATCH_ROWS, SETTINGS, TUPLES, write_input
from oracle import stream
from oracle_assertions import assert_streamed
from tailrace.engine.stage import Stage
from tailrace.spark import app
from tailrace.stream.run_options import RunOptions
from warehouse import make_query, rows_of

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class MortalStage(Stage):
    """A stage whose tasks kill their worker while there is the file `armed`, which they remove first."""

    armed: Path = Path()

    def task(self, index):
        if self.armed.exists():
            self.armed.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().task(index)


@pytest.fixture
def pickled_by_value():
    """Workers get what this file defines, which they could not import."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


def test_a_batch_whose_worker_was_killed_runs_again(tmp_path, spark, monkeypatch, pickled_by_value, capsys):
    write_input(tmp_path)
    armed, make = tmp_path / "armed", app._stage

    def mortal(*arguments):
        stage = make(*arguments)
        return MortalStage(**{field.name: getattr(stage, field.name) for field in fields(stage)}, armed=armed)

    def arm_after_batch_2(batch, rows_left, tables):
        if batch == 2:
            armed.touch()

    monkeypatch.setattr(app, "_stage", mortal)
    query, home = make_query(tmp_path / "in", SETTINGS, parallelism=1), tmp_path / "wh"
    assert app.run(query, home, RunOptions(BATCH_ROWS), arm_after_batch_2) >= 6
    assert not armed.exists(), "no worker was killed"
    assert "a Python process of Spark's was lost; it is tried again" in capsys.readouterr().err
    assert_streamed(rows_of(home), stream(TUPLES, SETTINGS))
    assert sum(row["rows"] for row in rows_of(home)["metrics"]) == len(TUPLES)
