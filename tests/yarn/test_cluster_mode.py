"""A driver in cluster mode on a real YARN, by the commands: killed, started again, stopped; corrected, the oracle's."""

from __future__ import annotations

from kit.parts import airflow_home  # isort: skip  (before any module that imports airflow)

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from kit.oracles.oracle import batch
from kit.oracles.oracle_assertions import assert_close
from kit.parts.yarn_cluster import conf, running_yarn
from kit.runs.kill_points import SETTINGS, TUPLES
from kit.runs.warehouse import even, tables_of, write_files
from kit.suite.waiting import PATIENCE_S, until
from tailrace.answers.by_window import ByWindow
from tailrace.drivers import driver_lifecycle
from tailrace.drivers.fence import carrying
from tailrace.embedded.embedded_processes import EmbeddedHost
from tailrace.orchestration import settings
from tailrace.orchestration.submit import Options, deployed_query, driver_command, environment
from tailrace.spark.distributed_correction import correct
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.results import AnswerTables
from tailrace.storage.status import Status
from tailrace.windows.sliding import Sliding

pytestmark = pytest.mark.xdist_group("yarn")
assert airflow_home.HOME
ROOT = Path(__file__).parents[2]
WAIT_S = 2 * PATIENCE_S
BOUNDS = even(len(TUPLES), 12)
QUERY = f"""\
name: readings
kind: aggregate
streams:
  readings:
    source: {{format: parquet, path: ../in}}
    event_time: event_time
    arrival_time: arrival_time
    id: id
    key: key
window: {{size: {SETTINGS.size} ms, slide: {SETTINGS.slide} ms}}
disorder: {{tick: {SETTINGS.tick} ms, policy: k_slack, k: 300 ms}}
aggregate: {{function: sum, column: value}}
parallelism: 1
"""


@pytest.fixture(scope="module")
def yarn(tmp_path_factory):
    with running_yarn(tmp_path_factory.mktemp("yarn")) as cluster:
        yield cluster


@pytest.fixture
def place(tmp_path, yarn, monkeypatch):
    """Airflow's settings, with a driver host; drivers go to the cluster."""
    extra = {"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": yarn.url, "conf": conf()}
    monkeypatch.setenv(
        "AIRFLOW_CONN_TAILRACE_SPARK", json.dumps({"conn_type": "spark", "host": "yarn", "extra": extra})
    )
    for name, value in (("QUERIES", "queries"), ("WAREHOUSE", "wh")):
        (tmp_path / value).mkdir()
        monkeypatch.setenv(f"TAILRACE_{name}", str(tmp_path / value))
    monkeypatch.setenv("TAILRACE_SPARK_APPS", str(ROOT / "spark_apps"))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(yarn.configuration))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    (tmp_path / "queries" / "readings.yaml").write_text(QUERY)
    return tmp_path


def running(yarn) -> list[str]:
    return [one["id"] for one in yarn.applications() if one["state"] not in ("FINISHED", "FAILED", "KILLED")]


def container_processes(application: str) -> list[psutil.Process]:
    """The living processes of an application: launchers, JVMs and Python of its driver and executors."""
    return carrying("CONTAINER_ID", lambda value: value.startswith(application.replace("application", "container")))


def has_committed(layout: Layout, rows: int) -> bool:
    """Whether the batches with the first so many rows are committed."""
    entry, status = Journal(layout.journal).last(), Status.read(layout)
    return entry is not None and entry.position.rows >= rows and status.batches > entry.header.batch


def test_a_driver_on_yarn_is_killed_and_started_again_and_stopped(place, yarn):
    layout, query = Layout.for_query(place / "wh", "readings"), settings.find("readings")
    write_files(TUPLES, place / "in", BOUNDS[:5])
    with EmbeddedHost(place / "host") as embedded:
        host = embedded.host

        def wait(what):
            try:
                return until(what, patience_s=WAIT_S)
            except AssertionError:
                lines = [driver_lifecycle.last_lines(host, layout), str(Status.read(layout)), str(yarn.applications())]
                pytest.fail("\n".join(lines))

        options = Options(batch_rows=100)
        command = driver_command(query, place / "wh", options)
        driver_lifecycle.deploy(host, layout, command, environment(query.query), deployed_query(query, options))
        wait(lambda: has_committed(layout, BOUNDS[4]))
        [first] = running(yarn)
        os.kill(driver_lifecycle.inspect(host, layout).pid, signal.SIGKILL)  # the submission: its driver goes on
        assert running(yarn) == [first]
        write_files(TUPLES, place / "in", BOUNDS[4:], first=4)
        wait(lambda: running(yarn) not in ([], [first]))
        assert not container_processes(first), "the next one is submitted when the earlier one is dead"
        wait(lambda: has_committed(layout, len(TUPLES)))
        [second] = running(yarn)
        assert container_processes(second)
        driver_lifecycle.stop(host, layout, 60)
        assert not running(yarn)
        wait(lambda: not container_processes(second))
        assert driver_lifecycle.inspect(host, layout).state == "ended"
    assert [one["finalStatus"] for one in yarn.applications()] == ["KILLED", "KILLED"]
    status = Status.read(layout)
    complete = [one for one in TUPLES if one.arrival_time < status.committed]
    correct(query.query, place / "wh")
    found = AnswerTables(tables_of(place / "wh"), ByWindow(Sliding(SETTINGS.size, SETTINGS.slide))).latest().to_pylist()
    truth = {window: true for window, true in batch(complete, SETTINGS).items() if window[2] <= status.frontier}
    rows = {(row["key"], row["window_start"], row["window_end"]): row for row in found}
    assert len(rows) == len(found)
    assert rows.keys() == truth.keys()
    for window, true in truth.items():
        assert rows[window]["tuples"] == true.tuples
        assert_close(rows[window]["value"], true.value, true.sum_abs)


def test_a_refusal_on_yarn_is_the_drivers_exit_code_and_it_gets_the_hosts_variables(place, yarn, monkeypatch):
    monkeypatch.setenv("TAILRACE_LOG", "json")
    layout, query = Layout.for_query(place / "wh", "readings"), settings.find("readings")
    command = driver_command(query, place / "wh", Options())
    refused_copy = replace(deployed_query(query, Options()), text="name: readings\n")
    with EmbeddedHost(place / "host") as embedded:
        driver_lifecycle.deploy(embedded.host, layout, command, environment(query.query), refused_copy)
        until(lambda: not driver_lifecycle.inspect(embedded.host, layout).alive, patience_s=WAIT_S)
        driver = driver_lifecycle.inspect(embedded.host, layout)
        assert (driver.state, driver.exit_code) == ("failed", 2), driver_lifecycle.last_lines(embedded.host, layout)
    newest = max(yarn.logs.iterdir(), key=lambda directory: directory.name)
    refused, right = map(json.loads, next(newest.rglob("stdout")).read_text().splitlines())
    assert refused["message"].endswith("readings.yaml:1: kind: is missing")
    assert "kind: aggregate" in right["message"]
    [script] = newest.rglob("launch_container.sh")  # which YARN keeps with the logs
    assert "TAILRACE_PASSED" in script.read_text()
    assert "TAILRACE_LOG" not in script.read_text()
