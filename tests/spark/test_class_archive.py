"""The archive of Spark's classes, made and used by a real JVM."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from pyspark import SparkContext

from tailrace.spark import make_class_archive
from tailrace.spark.class_archive import ClassArchive


def test_where_spark_writes_none_the_program_says_so(tmp_path, spark, monkeypatch):
    monkeypatch.setenv("SPARK_CONF_DIR", "")  # the program sets it
    monkeypatch.setattr(make_class_archive, "session", lambda *_, exit_s: nullcontext(spark))
    with pytest.raises(RuntimeError, match="has written no archive"):
        make_class_archive.make(ClassArchive(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["conf"]


@pytest.mark.skipif("SPARK_CONF_DIR" in os.environ, reason="with the user's own no archive is used")
def test_the_archive_that_make_setup_makes_fits_sparks_class_path(spark):
    """The JVM of a driver would pass over one that does not, in silence."""
    assert ClassArchive().file.exists(), "make setup has made none: .venv/class-archive.log says why"
    maps = Path(f"/proc/{SparkContext._gateway.proc.pid}/maps").read_text()
    assert f" {ClassArchive().file.resolve()}\n" in maps
