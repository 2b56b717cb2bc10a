"""Spark sessions: what is left of them when they have ended, and who may speak to them while they are there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from processes import beyond_loopback

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[2]

FAILS = """
from tailrace.spark.session import session

try:
    with session("fails", 1) as spark:
        spark.sql("SELECT nothing")
except RuntimeError as error:
    print(error)
"""

LISTENS = """
import psutil
from processes import listening
from tailrace.spark.session import session

with session("listens", 1) as spark:
    spark.range(4).mapInArrow(lambda batches: batches, "id long").collect()  # Python's workers are there too
    everyone = [psutil.Process(), *psutil.Process().children(recursive=True)]
    print(spark.sparkContext.getConf().get("spark.authenticate"), *listening(everyone))
"""


def run(script: str) -> str:
    without = {name: value for name, value in os.environ.items() if name != "SPARK_LOCAL_IP"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=without | {"PYTHONPATH": os.pathsep.join([str(ROOT / "include"), str(ROOT / "tests")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_spark_told_outlives_it():
    assert "UNRESOLVED_COLUMN" in run(FAILS)


def test_it_listens_on_loopback_alone_and_asks_for_a_secret():
    secret, *addresses = run(LISTENS).split()
    assert len(addresses) > 1
    assert not beyond_loopback(addresses)
    assert secret == "true"
