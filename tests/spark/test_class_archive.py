"""The archive of Spark's classes: used where it is there and Spark's configuration is ours, else left alone."""

from __future__ import annotations

import os
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
    archive.empty_conf.mkdir()
    archive.file.touch()
    return archive


def test_without_an_archive_spark_has_its_settings_on_the_class_path(tmp_path, monkeypatch):
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    archive = ClassArchive(tmp_path)
    assert (archive.conf_directory(used=True), archive.jvm_options) == (str(CONF), "")
    assert (CONF / "log4j2.properties").exists()


def test_with_one_the_class_path_has_no_files_and_an_option_names_the_log_settings(archive, tmp_path):
    assert archive.conf_directory(used=True) == str(tmp_path / "conf")
    assert archive.conf_directory(used=False) == str(CONF)
    assert f'"-XX:SharedArchiveFile={archive.file}"' in archive.jvm_options
    assert archive.log_option in archive.jvm_options
    assert archive.log_option.endswith(f"=file://{CONF}/log4j2.properties")


def test_without_its_file_the_log_settings_are_named_all_the_same(archive):
    archive.file.unlink()
    assert archive.jvm_options == archive.log_option


def test_a_configuration_of_the_users_own_is_left_as_it_is(archive, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    assert (archive.conf_directory(used=True), archive.jvm_options) == ("/etc/spark", "")


def test_a_process_that_a_driver_starts_uses_it_too(archive, monkeypatch):
    options = archive.jvm_options
    monkeypatch.setenv("SPARK_CONF_DIR", archive.conf_directory(used=True))
    assert archive.jvm_options == options
    assert archive.conf_directory(used=False) == str(CONF), "as for a master or worker that it starts"


def test_where_spark_writes_none_the_program_says_so(tmp_path, spark, monkeypatch):
    monkeypatch.setattr(make_class_archive, "session", lambda *_, exit_s: nullcontext(spark))
    with pytest.raises(RuntimeError, match="has written no archive"):
        make_class_archive.make(ClassArchive(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["conf"]


@pytest.mark.skipif("SPARK_CONF_DIR" in os.environ, reason="with the user's own no archive is used")
def test_the_archive_that_make_setup_makes_fits_sparks_class_path(spark):
    """The JVM of a driver would pass over one that does not, in silence."""
    maps = Path(f"/proc/{SparkContext._gateway.proc.pid}/maps").read_text()
    assert f" {ClassArchive().file.resolve()}\n" in maps
