"""The command line as a person uses it, in processes of its own: answers as streamed, as corrected, and a refusal."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.gate, pytest.mark.needs("process")]

INCLUDE = Path(__file__).parents[2] / "include"
# 3 comes out of order. At 00:02:31, by 5, the windows that end up to 00:02:10 close: 6, 7 and 8 are late. 9 is not.
READINGS = """id,at,came,sensor,value
1,2024-01-01T00:00:10Z,2024-01-01T00:00:11Z,a,1
2,2024-01-01T00:00:40Z,2024-01-01T00:00:41Z,b,10
3,2024-01-01T00:00:20Z,2024-01-01T00:00:45Z,a,2
4,2024-01-01T00:01:10Z,2024-01-01T00:01:11Z,a,4
5,2024-01-01T00:02:30Z,2024-01-01T00:02:31Z,a,8
6,2024-01-01T00:00:50Z,2024-01-01T00:02:40Z,b,20
7,2024-01-01T00:01:50Z,2024-01-01T00:02:50Z,b,40
8,2024-01-01T00:01:20Z,2024-01-01T00:03:00Z,a,16
9,2024-01-01T00:02:10Z,2024-01-01T00:03:05Z,a,32
"""
QUERY = """name: totals
kind: aggregate
streams:
  readings:
    source: {format: csv, path: readings.csv}
    event_time: at
    arrival_time: came
    id: id
    key: sensor
window: 1 min
disorder: {policy: k_slack, k: 20 s}
aggregate: {function: sum, column: value}
"""
STREAMED = {("a", "00:00"): (3, 2), ("b", "00:00"): (10, 1), ("a", "00:01"): (4, 1), ("a", "00:02"): (40, 2)}
"""By sensor and minute: the sum, and of how many tuples."""
CORRECTED = {
    ("a", "00:00"): (3, 2),
    ("b", "00:00"): (30, 2),
    ("a", "00:01"): (20, 2),
    ("b", "00:01"): (40, 1),
    ("a", "00:02"): (40, 2),
}


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "readings.csv").write_text(READINGS)
    (tmp_path / "totals.yaml").write_text(QUERY)
    return tmp_path


def tailrace(directory: Path, arguments: str, code: int = 0) -> tuple[str, str]:
    """Run a command in a directory; return what it printed as output, and as errors."""
    ended = subprocess.run(
        [sys.executable, "-m", "tailrace", *arguments.split()],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(INCLUDE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended.stdout, ended.stderr


def read_results(directory: Path) -> dict[tuple[str, str], tuple[float, int]]:
    rows = list(csv.DictReader(io.StringIO(tailrace(directory, "results totals.yaml --warehouse wh --format csv")[0])))
    found = {(row["key"], row["window_start"][11:16]): (float(row["value"]), int(row["tuples"])) for row in rows}
    assert len(found) == len(rows), "a window was answered twice"
    return found


def test_a_query_runs_and_is_corrected(directory):
    _, report = tailrace(directory, "run totals.yaml --warehouse wh --bounded --engine local")
    assert "3 late tuples wait for tailrace correct" in report
    assert read_results(directory) == STREAMED
    tailrace(directory, "correct totals.yaml --warehouse wh --engine local")
    assert read_results(directory) == CORRECTED


def test_a_misspelt_field_is_refused_by_file_line_and_name(directory):
    (directory / "wrong.yaml").write_text(QUERY.replace("column: value", "colum: value"))
    assert tailrace(directory, "validate totals.yaml")[0] == "totals.yaml: no fault found\n"
    _, refusal = tailrace(directory, "validate wrong.yaml", code=2)
    assert "wrong.yaml:12: aggregate.colum: 'colum' is no field here" in refusal
