"""Spark sessions: what is left of them when they have ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

FAILS = """
from tailrace.spark.session import session

try:
    with session("fails", 1) as spark:
        spark.sql("SELECT nothing")
except RuntimeError as error:
    print(error)
"""


def test_what_spark_told_outlives_it():
    done = subprocess.run(
        [sys.executable, "-c", FAILS],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "include")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "UNRESOLVED_COLUMN" in done.stdout
