"""The tables are Delta tables to Spark too: the pinned pyspark, delta-spark and deltalake go together."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from oracle import Settings
from tailrace.spark.app import run
from tailrace.stream.run_options import RunOptions
from warehouse import even, make_query, make_stream, tables_of, write_files

pytestmark = pytest.mark.spark


def test_spark_with_delta_reads_what_the_stream_wrote(tmp_path, spark):
    tuples = make_stream(200, seed=8)
    write_files(tuples, tmp_path / "in", even(200, 4))
    run(make_query(tmp_path / "in", Settings(500, 100, 100, "sum", "mp_k_slack")), tmp_path / "wh", RunOptions(60))
    results = tables_of(tmp_path / "wh").read("results")
    read = subprocess.run(
        [
            sys.executable,
            str(Path(__file__).parent / "delta_reader.py"),
            str(tables_of(tmp_path / "wh").layout.table("results")),
        ],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert f"rows {results.num_rows} tuples {sum(results['tuples'].to_pylist())}" in read.stdout, read.stderr[-3000:]
