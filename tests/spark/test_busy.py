"""A machine so busy that a Python process of Spark's does not start within the ten seconds Spark gives it."""

from __future__ import annotations

import sys

import pytest

from oracle import Settings, stream
from oracle_assertions import assert_streamed
from tailrace.spark import app
from warehouse import even, make_query, make_stream, rows_of, write_files

pytestmark = pytest.mark.spark

TUPLES = make_stream(200, seed=26)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
PYTHON = """#!/bin/sh
case "$*" in *{module}*) echo start >> {starts}; [ $(wc -l < {starts}) -gt {failures} ] || exit 1 ;; esac
exec {python} "$@"
"""


def slow(directory, spark, monkeypatch, failures: int):
    """Have the first processes of the source's offsets not connect; returns the file that counts its starts."""
    starts, python = directory / "starts", directory / "python"
    starts.touch()
    places = {"module": "python_streaming_source_runner", "starts": starts, "failures": failures}
    python.write_text(PYTHON.format(**places, python=sys.executable))
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    return starts


def test_a_start_is_tried_again_where_a_python_process_came_too_late(tmp_path, spark, monkeypatch, capfd):
    starts = slow(tmp_path, spark, monkeypatch, failures=1)
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 4))
    app.run(make_query(tmp_path / "in", SETTINGS), tmp_path / "wh")
    assert len(starts.read_text().splitlines()) >= 2
    assert_streamed(rows_of(tmp_path / "wh"), stream(TUPLES, SETTINGS))
    assert "did not start within 10 s: the machine is busy; it is tried again" in capfd.readouterr().err


def test_a_start_that_never_comes_is_told_in_one_line(tmp_path, spark, monkeypatch):
    monkeypatch.setattr("tailrace.stream.run._PROCESS_TRIES", 0)
    slow(tmp_path, spark, monkeypatch, failures=100)
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 4))
    with pytest.raises(RuntimeError) as caught:
        app.run(make_query(tmp_path / "in", SETTINGS), tmp_path / "wh")
    assert str(caught.value).splitlines() == [
        "the stream failed: a Python process of Spark's did not start within 10 s: the machine is busy"
    ]
