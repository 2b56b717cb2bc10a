"""Settings by master: a local one's, a cluster's with its secret from the environment, none of others."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tailrace.ground.errors import Refused
from tailrace.spark import local_master, masters
from tailrace.spark.class_archive import ClassArchive
from tailrace.spark.cluster_master import SECRET
from tailrace.spark.package_archive import package_archive

VALUE = "0123456789abcdef" * 2


@pytest.mark.parametrize("master", ["spark://h:7077", "spark://h", "spark://127.0.0.1:7077", "spark://[::1]:7077"])
def test_a_cluster_is_asked_with_the_secret_and_no_setting_holds_it(monkeypatch, master):
    monkeypatch.setenv(SECRET, VALUE)
    conf, environment = masters.conf(master), masters.environment(master)
    assert {conf[f"spark.{name}"] for name in ("authenticate", "network.crypto.enabled")} == {"true"}
    assert conf["spark.master.rest.enabled"] == "false"
    assert VALUE not in " ".join(conf.values())
    assert environment["_SPARK_AUTH_SECRET"] == VALUE
    on_loopback = "//h" not in master
    assert ("spark.driver.host" in conf) == ("SPARK_LOCAL_IP" in environment) == on_loopback


@pytest.mark.parametrize("master", ["spark://h:7077", "yarn", "k8s://https://api:6443", "mesos://h", "local[2]"])
@pytest.mark.parametrize("is_made", [False, True])
def test_each_masters_drivers_have_log_settings(tmp_path, monkeypatch, master, is_made):
    archive = ClassArchive(tmp_path)
    if is_made:
        archive.empty_conf.mkdir()
        archive.file.touch()
    for module in (masters, local_master):
        monkeypatch.setattr(module, "ClassArchive", lambda: archive)
    monkeypatch.setenv(SECRET, VALUE)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    named = "-Dlog4j2.configurationFile=" in masters.conf(master).get("spark.driver.defaultJavaOptions", "")
    directory = Path(masters.environment(master)["SPARK_CONF_DIR"])
    assert named != (directory / "log4j2.properties").exists()


@pytest.mark.parametrize("secret", ["", "too short"])
def test_a_cluster_without_a_secret_is_refused(monkeypatch, secret):
    monkeypatch.setenv(SECRET, secret)
    with pytest.raises(Refused, match=rf"(?s){SECRET}.*openssl rand") as refusal:
        masters.environment("spark://h:7077")
    assert "too short" not in str(refusal.value)


@pytest.mark.parametrize("master", ["local[*]", "yarn", "k8s://https://api:6443", "mesos://h"])
def test_no_other_master_needs_the_secret(monkeypatch, master):
    """Spark makes one itself, but under a master that it does not know."""
    monkeypatch.delenv(SECRET, raising=False)
    assert "_SPARK_AUTH_SECRET" not in masters.environment(master)
    assert masters.conf(master).get("spark.authenticate") == (None if master == "mesos://h" else "true")


def test_the_package_is_packed_whole_and_removed_afterwards():
    with package_archive() as path:
        names = zipfile.ZipFile(path).namelist()
        assert {"tailrace/__init__.py", "tailrace/engine/task.py", "tailrace/spark/executor.py"} <= set(names)
        assert all(name.endswith(".py") for name in names)
    assert not Path(path).exists()


@pytest.mark.parametrize("master", ["local[*]", "spark://h:7077", "yarn"])
def test_a_drivers_jvm_takes_names_of_files_for_utf_8(monkeypatch, master):
    monkeypatch.setenv(SECRET, VALUE)
    monkeypatch.setenv("LC_ALL", "C")
    assert masters.environment(master)["LC_ALL"] == "C.UTF-8"
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert "LC_ALL" not in masters.environment(master)
