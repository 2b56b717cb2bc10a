"""The archive of Spark's classes: used where it is there and Spark's configuration is ours, else left alone."""

from __future__ import annotations

import os

import pytest

from tailrace.spark.class_archive import CONF, ClassArchive


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
    assert (archive.conf_directory(with_archive=True), archive.jvm_options) == (str(CONF), "")
    assert (CONF / "log4j2.properties").exists()


def test_with_one_the_class_path_has_no_files_and_an_option_names_the_log_settings(archive, tmp_path):
    assert archive.conf_directory(with_archive=True) == str(tmp_path / "conf")
    assert archive.conf_directory(with_archive=False) == str(CONF)
    assert f'"-XX:SharedArchiveFile={archive.file}"' in archive.jvm_options
    assert archive.log_option in archive.jvm_options
    assert archive.log_option.endswith(f"=file://{CONF}/log4j2.properties")


def test_without_its_file_the_log_settings_are_named_all_the_same(archive):
    archive.file.unlink()
    assert archive.jvm_options == archive.log_option


def test_a_path_that_the_jvm_would_split_is_not_given_to_it(tmp_path, monkeypatch):
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    archive = ClassArchive(tmp_path / f"a{os.pathsep}b")
    archive.empty_conf.mkdir(parents=True)
    archive.file.touch()
    assert archive.jvm_options == archive.log_option


def test_a_configuration_of_the_users_own_is_left_as_it_is(archive, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    assert (archive.conf_directory(with_archive=True), archive.jvm_options) == ("/etc/spark", "")


def test_a_process_that_a_driver_starts_uses_it_too(archive, monkeypatch):
    options = archive.jvm_options
    monkeypatch.setenv("SPARK_CONF_DIR", archive.conf_directory(with_archive=True))
    assert archive.jvm_options == options
    assert archive.conf_directory(with_archive=False) == str(CONF), "as for a master or worker that it starts"
