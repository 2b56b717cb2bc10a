"""The archive of Spark's classes: used where it is there and Spark's configuration is ours, else left alone."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from pyspark import SparkContext

from tailrace.spark import make_class_archive
from tailrace.spark.class_archive import CONF, ClassArchive

pytestmark = pytest.mark.spark


@pytest.fixture
def archive(tmp_path, monkeypatch):
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    archive = ClassArchive(tmp_path)
    archive.file.touch()
    return archive


def test_without_an_archive_spark_has_its_settings_on_the_class_path(tmp_path, monkeypatch):
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    archive = ClassArchive(tmp_path)
    assert (archive.conf_directory, archive.jvm_options) == (str(CONF), "")
    assert (CONF / "log4j2.properties").exists()


def test_with_one_the_class_path_has_no_files_and_an_option_names_the_log_settings(archive, tmp_path):
    assert archive.conf_directory == str(tmp_path / "conf")
    assert f"-XX:SharedArchiveFile={archive.file} " in archive.jvm_options
    assert f"=file://{CONF}/log4j2.properties" in archive.jvm_options


def test_a_configuration_of_the_users_own_is_left_as_it_is(archive, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    assert (archive.conf_directory, archive.jvm_options) == ("/etc/spark", "")


def test_a_process_that_a_driver_starts_uses_it_too(archive, monkeypatch):
    options = archive.jvm_options
    monkeypatch.setenv("SPARK_CONF_DIR", archive.conf_directory)
    assert archive.jvm_options == options


def test_where_spark_writes_none_the_program_says_so(tmp_path, spark, monkeypatch):
    monkeypatch.setenv("SPARK_CONF_DIR", "")  # the program sets it
    monkeypatch.setattr(make_class_archive, "session", lambda *_, exit_s: nullcontext(spark))
    with pytest.raises(RuntimeError, match="has written no archive"):
        make_class_archive.make(ClassArchive(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["conf"]


def test_the_archive_that_make_setup_makes_fits_sparks_class_path(spark):
    """The JVM of a driver would pass over one that does not, in silence."""
    maps = Path(f"/proc/{SparkContext._gateway.proc.pid}/maps").read_text()
    assert re.search(rf"^.* {ClassArchive().file}$", maps, re.MULTILINE)
