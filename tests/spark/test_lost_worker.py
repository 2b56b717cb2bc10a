"""A Python worker of Spark's is killed amid a batch: the batch runs again, and nothing is lost or comes twice."""

from __future__ import annotations

from dataclasses import fields

from kit.oracles.oracle import stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.kill_points import BATCH_ROWS, SETTINGS, TUPLES, write_input
from kit.runs.warehouse import make_query, rows_of
from spark import mortal_pipeline
from tailrace.spark.app import run
from tailrace.stream import app
from tailrace.stream.run_options import RunOptions


def test_a_batch_whose_worker_was_killed_runs_again(tmp_path, spark, monkeypatch, capsys):
    write_input(tmp_path)
    armed, make = tmp_path / "armed", app.pipeline_of

    def mortal(*arguments):
        pipeline = make(*arguments)
        return mortal_pipeline.MortalPipeline(
            **{field.name: getattr(pipeline, field.name) for field in fields(pipeline)}, armed=armed
        )

    def arm_after_batch_2(batch, rows_left, tables):
        if batch == 2:
            armed.touch()

    monkeypatch.setattr(app, "pipeline_of", mortal)
    query, home = make_query(tmp_path / "in", SETTINGS, parallelism=1), tmp_path / "wh"
    assert run(query, home, RunOptions(BATCH_ROWS), arm_after_batch_2) >= 6
    assert not armed.exists(), "no worker was killed"
    assert "a Python process of Spark's was lost; it is tried again" in capsys.readouterr().err
    assert_streamed(rows_of(home), stream(TUPLES, SETTINGS))
    assert sum(row["rows"] for row in rows_of(home)["metrics"]) == len(TUPLES)
