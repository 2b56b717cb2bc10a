"""Spark sessions: what is left of them when they have ended, and who may speak to them while they are there."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from kit.parts.processes import beyond_loopback
from tailrace.spark import local_master

ROOT = Path(__file__).parents[2]

FAILS = """
from tailrace.spark.session import session

try:
    with session("fails", 1) as spark:
        spark.sql("SELECT nothing")
except RuntimeError as error:
    print(error)
"""

KEEPS_TO_ITSELF = """
import os, sys
from pathlib import Path
import psutil
from kit.parts.processes import listening
from tailrace.spark.session import session

os.umask(0o077)
with session("keeps to itself", 1) as spark:
    spark.range(4).mapInArrow(lambda batches: batches, "id long").collect()  # Python's workers are there too
    everyone = [psutil.Process(), *psutil.Process().children(recursive=True)]
    spark.range(4).write.parquet(sys.argv[1])
    files = [Path(sys.argv[1]), *Path(sys.argv[1]).rglob("*")]
    print(len(files), sum(file.stat().st_mode & 0o077 for file in files))
    print(spark.sparkContext.getConf().get("spark.authenticate"), *listening(everyone))
"""


def run(script: str, *words: str) -> str:
    without = {name: value for name, value in os.environ.items() if name != "SPARK_LOCAL_IP"}
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        env=without | {"PYTHONPATH": os.pathsep.join([str(ROOT / "include"), str(ROOT / "tests")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_spark_told_outlives_it():
    assert "UNRESOLVED_COLUMN" in run(FAILS)


def test_it_listens_on_loopback_alone_asks_for_a_secret_and_goes_by_the_umask(tmp_path):
    files, others, secret, *addresses = run(KEEPS_TO_ITSELF, str(tmp_path / "written")).split()
    assert len(addresses) > 1
    assert not beyond_loopback(addresses)
    assert secret == "true"
    assert int(files) > 2
    assert int(others) == 0


def test_spark_submit_finds_spark_in_the_environment_of_a_driver():
    environment = os.environ | local_master.environment("local[*]") | {"PYSPARK_PYTHON": sys.executable}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["spark-submit", "--version"], env=environment | {"PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert version("pyspark") in done.stderr
