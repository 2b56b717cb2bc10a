"""The option --engine: the local one runs, corrects and rebuilds where there is no pyspark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kit.oracles.oracle import Settings, batch
from kit.oracles.oracle_assertions import assert_close
from kit.runs.warehouse import even, make_stream, write_files
from tailrace.cli.commands import app

pytestmark = pytest.mark.slow

TUPLES = make_stream(200, seed=5)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 100))

QUERY = """
name: readings
kind: aggregate
streams:
  readings:
    {source: {format: parquet, path: in}, event_time: event_time, arrival_time: arrival_time, id: id, key: key}
window: {size: 500 ms, slide: 100 ms}
disorder: {policy: k_slack, k: 100 ms, tick: 100 ms}
aggregate: {function: sum, column: value}
parallelism: %d
"""
WITHOUT_SPARK = (
    "import sys; sys.modules['pyspark'] = sys.modules['py4j'] = None; from tailrace.cli.commands import main; main()"
)


def tailrace(directory: Path, *words: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, *words],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.needs("process")
def test_run_correct_and_rebuild_need_no_spark(tmp_path):
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 4))
    (tmp_path / "query.yaml").write_text(QUERY % 2)
    where = ("query.yaml", "--warehouse", "wh")
    tailrace(tmp_path, "run", *where, "--bounded", "--engine", "local", "--batch-rows", "60")
    (tmp_path / "query.yaml").write_text(QUERY % 3)
    tailrace(tmp_path, "rebuild", *where, "--engine", "local")
    tailrace(tmp_path, "correct", *where, TAILRACE_ENGINE="local")
    answers = [json.loads(line) for line in tailrace(tmp_path, "results", *where, "--format", "jsonl").splitlines()]
    expected = batch(TUPLES, SETTINGS)
    assert len(answers) == len(expected)
    found = sorted(answer["value"] for answer in answers)
    for value, version in zip(found, sorted(expected.values(), key=lambda one: one.value), strict=True):
        assert_close(value, version.value, version.sum_abs)


def test_an_engine_that_there_is_not_is_refused(monkeypatch):
    monkeypatch.setenv("TAILRACE_ENGINE", "flink")
    result = CliRunner().invoke(app, ["run", "query.yaml", "--warehouse", "wh"])
    assert result.exit_code == 2
    assert "TAILRACE_ENGINE" in result.output
    assert "'spark', 'local'" in result.output
