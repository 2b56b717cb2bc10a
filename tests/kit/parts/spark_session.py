"""Fixtures of one Spark for all tests of a group: a JVM's start takes long, and is tested apart."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailrace.spark import app, distributed_correction, session

TESTS = Path(__file__).parents[2]

_open = session.session


@pytest.fixture(scope="session")
def _spark():
    if opened := SparkSession.getActiveSession():  # of another directory's tests in this process, which end it later
        yield opened
        return
    with _open("tests", 2, environment={"PYTHONPATH": str(TESTS)}) as spark:  # workers import parts of tests
        yield spark


@pytest.fixture
def spark(_spark, monkeypatch):
    """The shared session, in the place of one for each job."""

    @contextmanager
    def shared(name, shuffle_partitions, settings=None, environment=None):
        _spark.conf.set("spark.sql.shuffle.partitions", str(shuffle_partitions))
        with pytest.MonkeyPatch.context() as patch:
            for variable, value in (environment or {}).items():
                patch.setitem(_spark.sparkContext.environment, variable, value)
            yield _spark

    monkeypatch.setattr(app, "session", shared)
    monkeypatch.setattr(distributed_correction, "session", shared)
    return _spark
