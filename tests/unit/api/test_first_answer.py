"""A first answer in a fresh process: the modules that it loads, and the form in pandas where that is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.needs("process")

SCRIPT = """
import json, sys
from datetime import UTC, datetime, timedelta
from kit.suite.hidden_modules import hide
hide(["pandas"])  # as without the extra: where it is installed, Arrow imports it by itself
import tailrace
of_import = sorted(sys.modules)
noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
rows = [{"at": noon + timedelta(seconds=at), "id": at, "speed": 2.5} for at in (1, 2, 11)]
load = tailrace.query(
    "aggregate",
    name="load",
    streams={"readings": tailrace.Stream(rows, event_time="at", id="id")},
    window="5 s",
    aggregate={"total": {"function": "sum", "column": "speed"}},
)
found = load.run().results()
answers = [row["total"] for row in found.dicts()]
of_answer = sorted(sys.modules)
try:
    fault = found.pandas()
except tailrace.Refused as refused:
    fault = str(refused)
print(json.dumps([of_import, answers, of_answer, fault]))
"""
RARE = {"airflow", "duckdb", "matplotlib", "numba", "pyspark", "rich", "scipy", "shapely", "sqlglot", "typer"}


def test_a_first_answer_loads_no_library_that_it_does_not_need():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    of_import, answers, of_answer, fault = json.loads(done.stdout)
    assert not {name.partition(".")[0] for name in of_import} & {"numpy", "pyarrow", "deltalake", "pydantic", *RARE}
    assert answers == [5.0, 2.5]
    assert {name.partition(".")[0] for name in of_answer} & RARE == set()
    assert "pandas is not installed" in fault
    assert "pip install 'tailrace[pandas]'" in fault
