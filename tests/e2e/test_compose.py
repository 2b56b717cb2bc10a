"""The services of docker-compose.yaml as processes: each starts, is healthy by its own check, and does its part.

The flights of the demonstration come from a Kafka topic; their stream runs on the Spark cluster, deployed by an Airflow
that has its metadata in PostgreSQL; corrected, its answers are the batch answers.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
from contextlib import suppress
from typing import Any
from uuid import uuid4

import httpx
import psutil
import pyarrow.dataset as ds
import pytest
import yaml
from confluent_kafka import KafkaException, admin

from demo.truth import share_right, truth
from kit.parts.compose import ROOT, Here, services
from kit.parts.compose_run import (
    AIRFLOW,
    CLUSTER,
    PASSWORD,
    all_services,
    client_settings,
    logs,
    make_topic,
    servers,
    until,
)
from kit.parts.postgres import Server
from kit.parts.processes import beyond_loopback, command, listening
from kit.suite.waiting import PATIENCE_S
from tailrace.drivers.ports import free_port
from tailrace.drivers.spark_daemon import page
from tailrace.embedded.airflow_api import Api
from tailrace.query.loading import load
from tailrace.storage.layout import Layout
from tailrace.storage.results import read_answers
from tailrace.storage.status import Status

pytestmark = [pytest.mark.needs("clusters"), pytest.mark.xdist_group("compose")]

FLIGHTS = ROOT / "include" / "queries" / "flights.yaml"
SAMPLE = ROOT / "samples" / "flights"


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """All services, and the server of PostgreSQL."""
    with all_services(tmp_path_factory.mktemp("compose")) as (here, postgres):
        (here.home / "queries" / "flights.yaml").write_text(yaml.safe_dump(from_topic(here)))
        make_topic(here, "flights", 3)
        yield here, postgres


@pytest.fixture(scope="module")
def here(healthy):
    return healthy[0]


def from_topic(here: Here) -> dict[str, Any]:
    """The query over flights, which come from a topic with the times at which the broker appends them."""
    query = yaml.load(FLIGHTS.read_text(), yaml.BaseLoader)
    stream = query["streams"]["departures"]
    del stream["arrival_time"]
    place = {"servers": servers(here), "topic": "flights", "connection": "tailrace_kafka"}
    stream["source"] = {"format": "kafka"} | place
    query["disorder"]["tick"] = "100 ms"
    return query


def test_every_service_is_started_here():
    assert {*AIRFLOW, *CLUSTER, "driver-host", "kafka", "postgres", "airflow-init"} == set(services())


def test_a_topic_streamed_on_the_cluster_is_corrected_to_the_batch_answers(healthy):
    here, postgres = healthy
    api = Api.log_in(f"http://127.0.0.1:{here.ports['8080']}", "admin", PASSWORD)
    for dag in ("stream_flights", "correct_flights"):
        until(lambda dag=dag: dag in [d["dag_id"] for d in api.call("GET", "dags")["dags"]], f"{dag} is found")
        api.call("PATCH", f"dags/{dag}", {"is_paused": False})
    warehouse, query = here.home / "srv" / "tailrace", load(here.home / "queries" / "flights.yaml")
    run = api.trigger("stream_flights", {})
    place = f"{servers(here)}/flights"
    replay = [
        sys.executable,
        str(ROOT / "tools" / "dev.py"),
        "replay",
        "--kafka",
        place,
        "--connection",
        "tailrace_kafka",
        "--rate",
        "20000",
    ]
    replay += ["--source", str(SAMPLE), "--event-time", "actual", "--model", "none"]
    sent = subprocess.run(
        replay,
        env=here.environment("airflow-scheduler"),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert sent.returncode == 0, sent.stderr
    layout = Layout.for_query(warehouse, "flights")

    def state() -> str | None:
        status = Status.read(layout)
        return None if status is None else status.state

    flights = ds.dataset(SAMPLE).count_rows()
    until(lambda: state() == "quiet" and Status.read(layout).rows == flights, "the stream is read")
    applications = [application["name"] for application in page(int(here.ports["8090"]))["activeapps"]]
    assert applications == ["tailrace flights"]
    assert not beyond_loopback(listening(here.processes()))
    stop_for_a_while(postgres, layout)
    correction = api.trigger("correct_flights", {})
    path = f"dags/correct_flights/dagRuns/{correction}"
    until(lambda: api.call("GET", path)["state"] in ("success", "failed"), "the correction ends")
    assert api.call("GET", path)["state"] == "success", logs(here)
    answers = read_answers(query, warehouse, False)[0]
    expected = truth(load(FLIGHTS))
    assert len(answers) == len(expected)
    assert share_right(answers, expected) == 1
    api.call("PATCH", f"dags/stream_flights/dagRuns/{run}", {"state": "success"})
    until(lambda: state() == "drained", "the driver drains")


def stop_for_a_while(postgres: Server, layout: Layout) -> None:
    """Stop Airflow's database until the driver has reported some times without it."""
    server = psutil.Process(postgres.process.pid)
    stopped = [server, *server.children(recursive=True)]
    pid, since_ms = Status.read(layout).pid, Status.read(layout).at_ms
    for process in stopped:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    try:
        until(lambda: Status.read(layout).at_ms > since_ms + 4000, "the driver goes on without the database")
    finally:
        for process in stopped:
            with suppress(psutil.NoSuchProcess):
                process.resume()
    assert Status.read(layout).pid == pid


def test_no_secret_stands_in_a_log_or_a_command_line(here):
    secret_values = [value for name, value in here.secrets.items() if len(value) > 20]
    words = "\n".join(" ".join(command(process)) for process in here.processes())
    files = [file for file in here.home.rglob("*.log") if file.is_file()] + list(here.log.iterdir())
    text = words + "\n".join(file.read_text(errors="replace") for file in files)
    assert [name for name, value in here.secrets.items() if value in secret_values and value in text] == []


def test_the_broker_asks_for_the_password(here):
    with pytest.raises(KafkaException):
        admin.AdminClient(client_settings(here, "another")).list_topics(timeout=5)


def test_the_broker_has_no_listener_without_a_password(here):
    plain = {"bootstrap.servers": f"127.0.0.1:{here.ports['9092']}", "log_level": 0}
    with pytest.raises(KafkaException):
        admin.AdminClient(plain).list_topics(timeout=5)


def test_airflow_asks_for_the_password(here):
    url = f"http://127.0.0.1:{here.ports['8080']}"
    for path in ("api/v2/dags", "api/v2/connections", "api/v2/dags/stream_flights/dagRuns"):
        assert httpx.get(f"{url}/{path}", timeout=PATIENCE_S).status_code == 401
    wrong = {"username": "admin", "password": "another"}
    assert httpx.post(f"{url}/auth/token", json=wrong, timeout=PATIENCE_S).status_code == 401
    task = httpx.patch(f"{url}/execution/task-instances/{uuid4()}/run", json={}, timeout=PATIENCE_S)
    assert task.status_code in (401, 403), "a task's own interface asks for the token that the scheduler gave it"


def test_the_driver_host_asks_for_the_password(here):
    url = f"http://127.0.0.1:{here.ports['9001']}"
    for login in (None, ("tailrace", "another")):
        client = httpx.Client(auth=login, timeout=PATIENCE_S)
        assert client.post(f"{url}/RPC2", headers={"content-type": "text/xml"}).status_code == 401
        assert client.get(url).status_code == 404, "it has no page"


def test_the_cluster_asks_for_the_secret(here):
    command = here.command(services()["spark-worker-1"]["command"])
    for option in ("--port", "--ui-port"):
        command[command.index(option) + 1] = str(free_port())
    stranger = here.environment("spark-worker-1") | {"TAILRACE_SPARK_SECRET": secrets.token_hex(32)}
    log = here.log / "stranger"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=stranger, stdout=output, stderr=output, cwd=here.home)
    try:
        until(lambda: "Failed to connect to master" in log.read_text(errors="replace"), f"it is refused: {log}")
        assert page(int(here.ports["8090"]))["aliveworkers"] == 2
    finally:
        process.kill()
        process.wait()


def test_nobody_else_listens(here):
    """Whoever listens asks for a password, as the other tests show, or does so on his own loopback in every case."""
    guarded = {here.ports[port] for port in ("5432", "7077", "7078", "7079", "8080", "9001", "9092")}
    on_loopback = {here.ports[port] for port in ("8090", "8091", "8092", "9093")}
    ports = {address.rpartition(":")[2] for address in listening(here.processes())}
    assert ports - guarded == on_loopback


def test_the_database_asks_for_the_password(here):
    wrong = here.environment("airflow-scheduler")
    name = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"
    assert here.secrets["POSTGRES_PASSWORD"] in wrong[name]
    wrong[name] = wrong[name].replace(here.secrets["POSTGRES_PASSWORD"], "another")
    check = subprocess.run(
        here.command(["airflow", "db", "check", "--retry", "0"]), env=wrong, capture_output=True, text=True, check=False
    )
    assert check.returncode != 0
    assert "authentication failed" in check.stderr + check.stdout
