"""Spark's own contestants: in processes of their own, as Spark is by default; without Spark here."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import contestants, side_by_side, spark_job, spark_peer
from bench.contestants import SPARKS_OWN, PassTimes, run_by_name
from bench.kafka.reading import TopicWorkload
from bench.spark_peer import SparkPeer
from bench.workloads import CASES, Workload
from tailrace.spark import local_master, masters

WORKLOAD = Workload(CASES["topk"][1], 15, [Path("/in/0.parquet"), Path("/in/1.parquet")], 900)
PACE = PassTimes([1.0, 2.0], 10, 2.5)


def test_their_jvm_is_started_as_sparks_is_by_default(monkeypatch):
    for name, value in masters.environment("local[*]").items():
        monkeypatch.setenv(name, value)  # as a session of ours leaves them
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--driver-java-options -XX:+UseSerialGC pyspark-shell")
    ours = local_master.conf("local[*]").keys() - {"spark.driver.bindAddress", "spark.driver.host"}
    settings, variables = spark_peer.settings(2, [Path("/a.jar")]), spark_peer.variables()
    assert "spark.driver.defaultJavaOptions" in ours
    assert not ours & settings.keys()
    assert not [name for name in settings if "java" in name.lower() or "stateStore" in name]
    left = {name for name in masters.environment("local[*]").keys() | {"PYSPARK_SUBMIT_ARGS"} if name in variables}
    assert left == {"SPARK_LOCAL_IP"}
    assert not [value for value in (*settings.values(), *variables.values()) if "SerialGC" in value]


@pytest.mark.needs("process")
def test_a_peer_is_given_its_settings_and_then_calls(tmp_path, monkeypatch):
    echo = """
import json, sys
for line in sys.stdin:
    job = json.loads(line)
    print(json.dumps({"jvm_options": ["-Xmx2g"]} if "settings" in job else job), flush=True)
"""
    (tmp_path / "echo.py").write_text(echo)
    peer = SparkPeer("native", tmp_path / "log", 2)
    peer._command[1:] = [str(tmp_path / "echo.py")]
    with peer:
        assert peer.jvm_options == ["-Xmx2g"]
        assert peer.call(run_by_name, "native", WORKLOAD.as_json(), "out") == {
            "function": "bench.contestants:run_by_name",
            "arguments": ["native", WORKLOAD.as_json() | {"case": ["topk", 1]}, "out"],
        }
    assert peer.exit_code == 0


def test_a_job_calls_the_function_that_it_names_with_the_session(monkeypatch):
    called = []
    monkeypatch.setitem(SPARKS_OWN, "native", lambda *arguments: called.append(arguments) or PACE)
    arguments = json.loads(json.dumps(["native", WORKLOAD.as_json(), "/out"]))
    job = {"function": "bench.contestants:run_by_name", "arguments": arguments}
    assert PassTimes(**json.loads(json.dumps(spark_job.run("session", job)))) == PACE
    assert called == [("session", WORKLOAD, Path("/out"))]


@pytest.mark.parametrize("workload", [WORKLOAD, TopicWorkload(CASES["aggregate"][0], 9, [], 5, "broker:1", "readings")])
def test_a_workload_is_the_same_in_another_process(workload):
    assert type(workload).of_json(json.loads(json.dumps(workload.as_json()))) == workload


def test_each_of_sparks_own_runs_in_its_process_and_is_measured_there(monkeypatch):
    peers = {name: SimpleNamespace(pid=os.getpid(), call=lambda *_: asdict(PACE)) for name in SPARKS_OWN}
    meters = []
    monkeypatch.setattr(side_by_side, "Meter", lambda **which: meters.append(which))
    made = side_by_side._contestants(peers, None)
    assert list(made) == ["pass-through", "native", "tailrace", "local"]
    for name in SPARKS_OWN:
        assert made[name].run("the session of ours", WORKLOAD, Path("/out"), 2) == PACE
    for contestant in made.values():
        contestant.meter()
    assert meters == [{"of": os.getpid()}] * 2 + [{"without": [os.getpid()] * 2}] * 2


def test_a_process_each_is_started_for_sparks_own(tmp_path, monkeypatch):
    started, told = [], []

    def start(name, directory, cores):
        started.append((name, cores))
        return nullcontext(SimpleNamespace(jvm_options=["-Xmx2g"]))

    monkeypatch.setattr(side_by_side, "SparkPeer", start)
    with side_by_side._sparks_own(tmp_path, told.append) as peers:
        assert list(peers) == list(SPARKS_OWN)
    assert started == [("pass-through", side_by_side.PARALLELISM), ("native", side_by_side.PARALLELISM)]
    assert told[1] == "native: a JVM of its own, -Xmx2g"
    assert contestants.tailrace not in SPARKS_OWN.values()
