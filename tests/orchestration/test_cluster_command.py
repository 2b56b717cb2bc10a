"""The command of a driver in cluster mode, for both platforms, and what is refused before there is one."""

from __future__ import annotations

import json
import os
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from airflow.providers.apache.spark.hooks import spark_submit

from kit.fakes.memory_bucket import memory_bucket
from tailrace.ground.errors import Refused
from tailrace.orchestration import settings
from tailrace.orchestration.submit import Options, driver_command

URL = "http://rm:8088"
KAFKA = """\
name: readings
kind: aggregate
streams:
  readings:
    source: {format: kafka, topic: readings, servers: "h:9092", connection: broker}
    event_time: event_time
window: {size: 2 h, slide: 1 h}
aggregate: {function: sum, column: value}
"""


@pytest.fixture
def command(place, monkeypatch):
    """Makes the command of the query `readings` by a connection of this host and extra."""
    monkeypatch.setattr(spark_submit, "kube_client", object(), raising=False)

    def make(host: str, warehouse: Path | str = place / "warehouse", **extra: object) -> list[str]:
        declared = {"conn_type": "spark", "host": host, "extra": {"deploy-mode": "cluster"} | extra}
        monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_SPARK", json.dumps(declared))
        query = settings.find("readings")
        return driver_command(query, warehouse, Options(7, driver_memory="1g"))

    return make


def parts(command: list[str]) -> tuple[list[str], list[str], dict[str, str], list[str]]:
    """The launcher's words, the submission's, the settings, and the words of spark-submit that are none."""
    first = command.index("--")
    second = command.index("--", first + 1)
    submit = command[second + 1 :]
    pairs = [value for word, value in pairwise(submit) if word == "--conf"]
    conf = dict(pair.split("=", 1) for pair in pairs)
    return (
        command[:first],
        command[first + 1 : second],
        conf,
        [word for word in submit if word not in (*pairs, "--conf")],
    )


def test_on_yarn(command, place, monkeypatch):
    monkeypatch.setenv("TAILRACE_SOURCES", str(place))
    made = command("yarn", yarn_resourcemanager_webapp_address=URL, queue="streams", principal="ada@LAKE")
    launcher, submission, conf, submit = parts(made)
    home = place / "warehouse" / "readings"
    submitted = home / "_stream" / "submitted"
    assert launcher[1:3] == ["-m", "tailrace.drivers.launch"]
    app = f"{settings.spark_apps()}/stream.py"
    module = [sys.executable, "-m", "tailrace.drivers.cluster_submission"]
    assert submission == [*module, "--home", str(home), "--app", app, "--url", URL, "--pass", "TAILRACE_SOURCES"]
    options = ["--warehouse", str(place / "warehouse"), "--batch-rows", "7", "--deployed", "readings"]
    arguments = [str(place / "queries" / "readings.yaml"), *options]
    assert submit == [
        *(
            "spark-submit",
            "--master",
            "yarn",
            "--py-files",
            f"{submitted}/tailrace_package.zip",
            "--driver-memory",
            "1g",
        ),
        *("--principal", "ada@LAKE", "--name", "tailrace readings", "--queue", "streams", "--deploy-mode", "cluster"),
        *(f"{submitted}/stream.py", *arguments),
    ]
    assert conf["spark.authenticate"] == conf["spark.network.crypto.enabled"] == "true"
    assert (conf["spark.pyspark.python"], conf["spark.executor.instances"]) == (sys.executable, "2")
    assert not home.exists(), "a command is built, nothing is written"


def test_on_kubernetes(command, place, monkeypatch):
    monkeypatch.setenv("TAILRACE_SOURCES", str(place))
    own = {"spark.kubernetes.container.image": "lake/tailrace:1", "spark.pyspark.python": "/opt/venv/bin/python"}
    _, submission, conf, submit = parts(command("k8s://https://api:6443", namespace="streams", conf=own))
    submitted = f"local://{place / 'warehouse' / 'readings' / '_stream' / 'submitted'}"
    assert "--pass" not in submission
    assert submit[:5] == [
        "spark-submit",
        "--master",
        "k8s://https://api:6443",
        "--py-files",
        f"{submitted}/tailrace_package.zip",
    ]
    assert f"{submitted}/stream.py" in submit
    assert conf.items() >= (own | {"spark.kubernetes.namespace": "streams"}).items()
    assert conf["spark.kubernetes.driverEnv.TAILRACE_SOURCES"] == str(place)


def test_a_querys_connection_goes_to_yarn_by_name_and_to_kubernetes_by_a_secret_of_its(command, place):
    (place / "queries" / "readings.yaml").write_text(KAFKA)
    made = command("yarn", yarn_resourcemanager_webapp_address=URL)
    assert made[made.index("--pass") + 1] == "AIRFLOW_CONN_BROKER"
    setting = "spark.kubernetes.driver.secretKeyRef.AIRFLOW_CONN_BROKER"
    with pytest.raises(Refused, match=rf"nothing gives the driver broker\n.*{setting}"):
        command("k8s://https://api:6443")
    assert f"{setting}=tailrace:broker" in command("k8s://https://api:6443", conf={setting: "tailrace:broker"})


@pytest.mark.parametrize(
    "name", ["spark.hadoop.fs.s3a.secret.key", "spark.kubernetes.authenticate.submission.oauthToken"]
)
def test_a_secret_among_the_settings_is_refused_unseen(command, name):
    with pytest.raises(Refused, match=rf"{name}: command lines are no place for secrets") as refusal:
        command("yarn", yarn_resourcemanager_webapp_address=URL, conf={name: "hidden"})
    assert "hidden" not in str(refusal.value)


@pytest.mark.parametrize("name", ["spark.yarn.tags", "spark.yarn.maxAppAttempts", "spark.kubernetes.driver.pod.name"])
def test_a_setting_that_would_hide_a_driver_is_refused(command, name):
    with pytest.raises(Refused, match=f"{name}: by it a query's drivers are found and ended"):
        command("yarn", yarn_resourcemanager_webapp_address=URL, conf={name: "x"})


@pytest.mark.parametrize(
    ("host", "extra", "right"),
    [
        ("yarn", {}, "http://HOST:8088 of the ResourceManager"),
        ("spark://h:7077", {}, "the host yarn or k8s"),
        ("local[*]", {}, "deploy-mode client"),
        (
            "yarn",
            {"yarn_resourcemanager_webapp_address": URL, "conf": {"spark.executor.cores": 2}},
            "spark.executor.memory",
        ),
    ],
)
def test_a_connection_that_lacks_something_is_refused(command, monkeypatch, host, extra, right):
    monkeypatch.setenv("TAILRACE_SPARK_SECRET", "0123456789abcdef")
    with pytest.raises(Refused, match=f"(?s)connection tailrace_spark.*right would be: .*{right}"):
        command(host, **extra)


def test_kubernetes_without_what_the_provider_asks_for_is_refused(command, monkeypatch):
    monkeypatch.delattr(spark_submit, "kube_client")
    with pytest.raises(Refused, match="pip install apache-airflow-providers-cncf-kubernetes"):
        command("k8s://https://api:6443")


def test_a_connections_settings_hold_in_client_mode_too_but_not_against_the_masters(place, monkeypatch):
    extra = {"conf": {"spark.authenticate": "false", "spark.executor.memory": "3g"}}
    monkeypatch.setenv(
        "AIRFLOW_CONN_TAILRACE_SPARK", json.dumps({"conn_type": "spark", "host": "yarn", "extra": extra})
    )
    made = driver_command(settings.find("readings"), place / "warehouse", Options())
    assert "cluster_submission" not in " ".join(made)
    assert {"spark.authenticate=true", "spark.executor.memory=3g"} <= set(made)
    assert os.path.basename(made[-8]) == "stream.py"


@pytest.mark.parametrize("host", ["yarn", "k8s://https://api:6443"])
def test_a_warehouse_in_a_bucket_is_refused(command, monkeypatch, host):
    home = memory_bucket(monkeypatch)
    with pytest.raises(Refused) as refusal:
        command(host, str(home), yarn_resourcemanager_webapp_address=URL)
    (problem,) = refusal.value.problems
    assert problem.where == f"{home}/readings"
    assert problem.fault == "it is in an object store, where this can't be done"
    assert problem.remedy == "a warehouse in a directory"
    assert not list(home.iterdir())
