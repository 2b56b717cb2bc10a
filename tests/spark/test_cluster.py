"""A standalone cluster of PySpark's own daemons on loopback: the same answers, and a secret that it asks for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from kit.oracles.oracle import stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.parts.processes import beyond_loopback, command, is_dead, listening
from kit.runs.kill_points import SETTINGS, TUPLES, write_input
from kit.runs.warehouse import rows_of
from kit.suite.waiting import PATIENCE_S, until
from tailrace.drivers.fence import dead, kill
from tailrace.drivers.spark_daemon import page
from tailrace.embedded.embedded_cluster import EmbeddedCluster
from tailrace.spark.cluster_master import SECRET

pytestmark = [pytest.mark.needs("clusters"), pytest.mark.xdist_group("cluster")]
ROOT = Path(__file__).parents[2]
RUN = Path(__file__).with_name("cluster_run.py")
PATHS = os.pathsep.join([str(ROOT / "include"), str(ROOT / "tests")])

MASTER = "org.apache.spark.deploy.master.Master"
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
REFUSED = "Exception while bootstrapping client"
"""What Spark's transport says where the other side breaks off its handshake of authentication."""

WHERE = """
import os
import pyarrow as pa
from tailrace.spark.session import session

def where(batches):
    import tailrace
    for batch in batches:
        yield pa.table({"file": [tailrace.__file__], "at": [os.getcwd()]}).to_batches()[0]

with session("where", 2) as spark:
    rows = spark.range(0, 64, 1, 16).mapInArrow(where, "file string, at string").collect()
    print(*sorted({row.file for row in rows}), *sorted({row["at"] for row in rows}), sep="\\n")
    for name in ("spark.authenticate", "spark.network.crypto.enabled", "spark.authenticate.secret"):
        print(name, spark.sparkContext.getConf().get(name))
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with EmbeddedCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster
    assert not cluster.processes()


def python(cluster: EmbeddedCluster, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": PATHS} | cluster.environment | variables
    return subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False
    )


def executors(cluster: EmbeddedCluster, count: int) -> list[psutil.Process]:
    """The processes of executors, once there are `count` of them; none before."""
    processes = [process for process in cluster.processes() if EXECUTOR in command(process)]
    return processes if len(processes) == count else []


def test_a_query_gives_the_oracles_answers_on_two_workers(cluster, tmp_path):
    write_input(tmp_path)
    result = python(cluster, str(RUN), str(tmp_path))
    assert result.returncode == 0, result.stderr[-3000:]
    assert_streamed(rows_of(tmp_path / "wh"), stream(TUPLES, SETTINGS))
    applications = page(cluster.ui_port)["completedapps"]
    assert [application["name"] for application in applications if "readings" in application["name"]]


@pytest.mark.timeout(3600)
def test_a_master_that_is_started_again_and_an_executor_that_is_lost_change_no_answer(cluster, tmp_path):
    """A batch is begun meanwhile. Of a master that knows nothing of it, the driver would get no other executor.

    The executors need not be the same afterwards: a master that hears of a worker before it hears of that worker's
    executors has them killed, and others started.
    """
    write_input(tmp_path)
    job = subprocess.Popen(
        [sys.executable, str(RUN), str(tmp_path), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": PATHS} | cluster.environment,
        stderr=(tmp_path / "stderr").open("w"),
    )
    try:
        until(lambda: (tmp_path / "begun").exists() or job.poll() is not None, patience_s=4 * PATIENCE_S)
        (master,) = [process for process in cluster.processes() if MASTER in command(process)]
        master.kill()
        until(lambda: is_dead(master.pid))
        cluster.start_master()
        until(lambda: page(cluster.ui_port).get("aliveworkers") == cluster.workers, patience_s=2 * PATIENCE_S)
        until(
            lambda: [app["state"] for app in page(cluster.ui_port)["activeapps"]] == ["RUNNING"],
            patience_s=2 * PATIENCE_S,
        )
        until(lambda: executors(cluster, cluster.workers), patience_s=2 * PATIENCE_S)[0].kill()
        (tmp_path / "go").touch()
        assert job.wait(4 * PATIENCE_S) == 0, (tmp_path / "stderr").read_text()[-3000:]
    finally:
        job.kill()
        job.wait()
    rows = rows_of(tmp_path / "wh")
    assert_streamed(rows, stream(TUPLES, SETTINGS))
    assert sum(row["rows"] for row in rows["metrics"]) == len(TUPLES)


def test_executors_of_both_workers_run_the_drivers_package_and_no_command_line_holds_the_secret(cluster):
    result = python(cluster, "-c", WHERE)
    assert result.returncode == 0, result.stderr[-3000:]
    lines = result.stdout.splitlines()
    package, *places = lines[:-3]
    assert package == "./tailrace_package.zip/tailrace/__init__.py", "not what lies on the worker's own path"
    assert {Path(place).relative_to(cluster.directory).parts[0] for place in places} == {"worker-0", "worker-1"}
    assert lines[-3:-1] == ["spark.authenticate true", "spark.network.crypto.enabled true"]
    assert cluster.secret not in result.stdout + result.stderr
    daemons = cluster.processes()
    assert not [process for process in daemons if cluster.secret in " ".join(command(process))]
    logs = [file.read_text(errors="replace") for file in cluster.directory.rglob("*") if file.is_file()]
    assert not [text for text in logs if cluster.secret in text]


def test_nothing_of_it_can_be_reached_from_another_machine(cluster):
    addresses = listening(cluster.processes())
    assert len(addresses) == 6, "a port and a page of each daemon, and no REST server"
    assert not beyond_loopback(addresses)


def test_a_worker_with_another_secret_is_refused(cluster):
    stranger = cluster.start_worker("stranger", **{SECRET: "f" * 64})
    log = cluster.directory / "stranger.log"
    try:
        until(lambda: "Failed to connect to master" in log.read_text(errors="replace"))
        assert page(cluster.ui_port)["aliveworkers"] == cluster.workers
    finally:
        psutil.Process(stranger.pid).kill()
        stranger.wait()


def test_a_driver_with_another_secret_is_refused(cluster, tmp_path):
    """Spark gives up after three tries of 20 s each, so the first refusal is enough, and the driver is killed."""
    log, answer = tmp_path / "log", tmp_path / "answer"
    environment = os.environ | {"PYTHONPATH": PATHS} | cluster.environment | {SECRET: "f" * 64}
    with log.open("wb") as errors, answer.open("wb") as output:
        driver = subprocess.Popen([sys.executable, "-c", WHERE], env=environment, stdout=output, stderr=errors)
    try:
        until(lambda: REFUSED in log.read_text(errors="replace") or driver.poll() is not None)
        assert REFUSED in log.read_text(errors="replace")
        assert page(cluster.ui_port)["activeapps"] == []
        assert not answer.read_text()
    finally:
        if driver.poll() is None:  # else it has ended its JVM itself
            kill(lambda: [one for one in psutil.Process(driver.pid).children(recursive=True) if not dead(one)], 30)
        driver.kill()
        driver.wait()


@pytest.mark.parametrize(("secret", "why"), [("", "it is not set"), ("short", "fewer than 16 characters")])
def test_a_driver_without_a_secret_starts_no_jvm(cluster, secret, why):
    result = python(cluster, "-c", WHERE, **{SECRET: secret})
    assert result.returncode != 0
    assert why in result.stderr


def test_its_end_leaves_no_process(tmp_path):
    with EmbeddedCluster(tmp_path / "cluster", workers=1) as cluster:
        pids = [process.pid for process in cluster.processes()]
        assert len(pids) == 2
    assert all(map(is_dead, pids))
