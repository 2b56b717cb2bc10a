"""Sedona as a contestant: its environment, its process, and the check of its pairs; a program stands in for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pytest

from bench.spatial import sedona, sedona_environment, table_on_spark
from bench.spatial.sedona_environment import PYSPARK, SEDONA, SedonaEnvironment

STAND_IN = """
import json, pathlib, sys
import pyarrow as pa, pyarrow.parquet as pq, shapely
print(json.dumps({"start_s": float(json.loads(sys.stdin.readline())["settings"]["spark.master"][6:-1])}), flush=True)
for line in sys.stdin:
    job = json.loads(line)
    points, polygons = (pq.read_table(job[name]).to_pylist() for name in ("points", "polygons"))
    shapes = [(row["id"], shapely.from_wkb(row["geometry"])) for row in polygons]
    pairs = [(row["id"], id) for row in points for id, shape in shapes
             if shape.contains(shapely.Point(row["lon"], row["lat"]))][SLICE]
    pathlib.Path(job["answers"]).mkdir(parents=True)
    names = ("left_id", "right_id")
    pq.write_table(pa.table(dict(zip(names, map(list, zip(*pairs))))), job["answers"] + "/part-0.parquet")
    print(json.dumps({"job_s": 0.5}), flush=True)
"""
"""The answers of the program by their definition, in an environment that has no Spark."""


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """No method of ours, which would open a session of Spark."""
    monkeypatch.setattr(table_on_spark, "METHODS", ())


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """The home of an environment that is complete, in which a program stands in for Sedona's."""
    environment = SedonaEnvironment(tmp_path / "home")
    environment.python.parent.mkdir(parents=True)
    # without -I, which hides the packages of a virtual environment whose Python is called by another name
    wrapper = f'#!/bin/sh\nshift\nexec "{sys.executable}" "$@"\n'
    environment.python.write_text(wrapper)
    environment.python.chmod(0o755)
    monkeypatch.setattr(SedonaEnvironment, "make", lambda self, echo: None)
    monkeypatch.setattr(sedona, "__file__", str(tmp_path / "sedona.py"))

    def program(text: str) -> Path:
        (tmp_path / "sedona_job.py").write_text(text)
        return environment.directory

    return program


@pytest.mark.needs("process")
def test_sedona_is_measured_apart_from_its_start(stand_in):
    told: list[str] = []
    (row,), twice = table_on_spark.beside_sedona(300, 2, stand_in(STAND_IN.replace("[SLICE]", "")), told.append)
    assert twice == [], "none of our methods takes part"
    assert row["contestant"] == "sedona"
    assert row["points"] == 300
    assert row["pairs"] > 290
    assert row["start s"] == table_on_spark.CORES
    assert row["warm points/s"] == 600
    assert row["warm × Sedona"] == 1
    assert sum("round" in line for line in told) == 3
    assert sum("cold" in line for line in told) == 1


@pytest.mark.needs("process")
def test_pairs_that_are_not_ours_are_refused(stand_in):
    home = stand_in(STAND_IN.replace("[SLICE]", "[1:]"))
    with pytest.raises(RuntimeError, match=r"sedona has .* pairs that are not the"):
        table_on_spark.beside_sedona(300, 1, home, print)


def test_as_many_other_pairs_are_refused():
    ours, theirs = (pa.table({"left_id": ["a", "b"], "right_id": districts}) for districts in (["1", "2"], ["1", "1"]))
    table_on_spark._check("sedona", ours.take([1, 0]), ours)
    with pytest.raises(RuntimeError):
        table_on_spark._check("sedona", theirs, ours)


@pytest.mark.needs("process")
def test_a_failure_of_sedona_is_raised_with_its_last_output(stand_in):
    home = stand_in("import sys; sys.stdin.readline(); sys.exit('no such class')")
    with pytest.raises(RuntimeError, match="Apache Sedona ended; its last words:\nno such class"):
        table_on_spark.beside_sedona(10, 1, home, print)


def test_the_environment_has_the_pyspark_that_the_jar_is_built_for(tmp_path, monkeypatch):
    assert SEDONA.package == f"pyspark=={PYSPARK}"
    assert f"-{PYSPARK.rsplit('.', 1)[0]}_" in SEDONA.artifact.name
    monkeypatch.setenv("SPARK_HOME", "ours")
    monkeypatch.setenv("PYSPARK_PYTHON", "ours")
    variables = SedonaEnvironment(tmp_path).variables()
    assert "ours" not in variables.values()
    assert variables["SPARK_LOCAL_IP"] == "127.0.0.1"


def test_the_job_program_does_not_import_tailrace():
    """It runs in an environment without tailrace."""
    text = Path(sedona_environment.__file__).with_name("sedona_job.py").read_text()
    assert "import tailrace" not in text
    assert "from tailrace" not in text
