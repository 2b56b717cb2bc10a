"""The tables are Delta tables to Spark too: the pinned pyspark, delta-spark and deltalake go together."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kit.oracles.oracle import Settings
from kit.parts.delta_jars import JARS
from kit.runs.local_driver import correct_here
from kit.runs.warehouse import even, make_query, make_stream, tables_of, write_files
from kit.suite.waiting import PATIENCE_S
from tailrace.query.answers_section import CURRENT
from tailrace.spark.app import run
from tailrace.storage.results import read_answers
from tailrace.stream.run_options import RunOptions


def test_spark_with_delta_reads_what_the_stream_wrote(tmp_path, spark):
    tuples = make_stream(200, seed=8)
    write_files(tuples, tmp_path / "in", even(200, 4))
    query = make_query(tmp_path / "in", Settings(500, 100, 100, "sum", "mp_k_slack"))
    run(query, tmp_path / "wh", RunOptions(60))
    correct_here(query, tmp_path / "wh")
    tables = tables_of(tmp_path / "wh")
    read = subprocess.run(
        [
            sys.executable,
            str(Path(__file__).parent / "delta_reader.py"),
            str(JARS.bring()),
            *(str(tables.layout.table(name)) for name in ("results", CURRENT)),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    streamed, current = tables.read("results"), read_answers(query, tmp_path / "wh", streamed=False)[0]
    expected = [f"rows {rows.num_rows} tuples {sum(rows['tuples'].to_pylist())}" for rows in (streamed, current)]
    assert expected[0] != expected[1]
    assert [line for line in read.stdout.splitlines() if line.startswith("rows ")] == expected, read.stderr[-3000:]
