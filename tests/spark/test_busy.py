"""A machine so busy, or short of memory, that the process which starts Spark's Python workers does not come up."""

from __future__ import annotations

import sys
from functools import partial

import pytest

from kit.oracles.oracle import Settings, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.warehouse import even, make_query, make_stream, rows_of, write_files
from tailrace.spark.app import run
from tailrace.stream import app
from tailrace.stream.run import StreamRun

TUPLES = make_stream(200, seed=26)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
PYTHON = """#!/bin/sh
case "$*" in *pyspark.daemon*) echo start >> {starts}; [ $(wc -l < {starts}) -gt {failures} ] || exit 1 ;; esac
exec {python} "$@"
"""


def fail_first_starts(directory, spark, monkeypatch, failures: int):
    """Let the first processes that start workers die at once; returns the file that counts their starts."""
    starts, python = directory / "starts", directory / "python"
    starts.touch()
    python.write_text(PYTHON.format(starts=starts, failures=failures, python=sys.executable))
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    return starts


def test_a_batch_is_tried_again_where_a_python_process_did_not_start(tmp_path, spark, monkeypatch, capfd):
    starts = fail_first_starts(tmp_path, spark, monkeypatch, failures=1)
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 4))
    run(make_query(tmp_path / "in", SETTINGS), tmp_path / "wh")
    assert len(starts.read_text().splitlines()) >= 2
    assert_streamed(rows_of(tmp_path / "wh"), stream(TUPLES, SETTINGS))
    assert "a Python process of Spark's was lost; it is tried again" in capfd.readouterr().err


def test_processes_that_never_start_are_reported_in_one_line(tmp_path, spark, monkeypatch):
    monkeypatch.setattr(app, "StreamRun", partial(StreamRun, process_tries=0))
    fail_first_starts(tmp_path, spark, monkeypatch, failures=100)
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 4))
    with pytest.raises(RuntimeError) as caught:
        run(make_query(tmp_path / "in", SETTINGS), tmp_path / "wh")
    assert str(caught.value) == "the stream failed: a Python process of Spark's was lost"
