"""The services of docker-compose.yaml as processes: each starts, is healthy by its own check, and does its part.

The flights of the demonstration come from a Kafka topic; their stream runs on the Spark cluster, deployed by an Airflow
that has its metadata in PostgreSQL; corrected, its answers are the batch answers.
"""

from __future__ import annotations

import secrets
import subprocess
import time
from base64 import urlsafe_b64encode
from typing import Any

import pyarrow.dataset as ds
import pytest
import yaml
from confluent_kafka import KafkaException, admin

from compose import ROOT, Here, required_variables, services
from postgres import server
from processes import beyond_loopback, command, listening
from tailrace.bench.kafka.broker import kafka_jars
from tailrace.demo.truth import share_right, truth
from tailrace.drivers import fence
from tailrace.drivers.spark_daemon import page
from tailrace.orchestration.airflow_api import Api
from tailrace.query.loading import load
from tailrace.storage.layout import Layout
from tailrace.storage.results import read_answers
from tailrace.storage.status import Status

pytestmark = [pytest.mark.spark, pytest.mark.e2e, pytest.mark.timeout(1500)]

ORDER = ("airflow-api-server", "airflow-scheduler", "airflow-dag-processor", "airflow-triggerer", "driver-host")
CLUSTER = ("spark-master", "spark-worker-1", "spark-worker-2")
FLIGHTS = ROOT / "include" / "queries" / "flights.yaml"
SAMPLE = ROOT / "samples" / "flights"
PATIENCE_S = 400
PASSWORD = "chosen-by-a-person"


def until(condition, what: str, seconds: float = PATIENCE_S):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(1)
    pytest.fail(f"in vain: {what}")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """All services, healthy."""
    names = {name: secrets.token_hex(32) for name in required_variables()}
    names |= {"AIRFLOW_FERNET_KEY": urlsafe_b64encode(secrets.token_bytes(32)).decode()}
    secret_values = names | {"AIRFLOW_ADMIN_PASSWORD": PASSWORD}
    here = Here(tmp_path_factory.mktemp("compose"), secret_values, kafka_jars())
    queries = here.home / "queries"
    queries.mkdir()
    (queries / "flights.yaml").write_text(yaml.safe_dump(from_topic(here)))
    declared = services()["postgres"]["environment"]
    with server(here.ports["5432"], names["POSTGRES_PASSWORD"], declared["POSTGRES_INITDB_ARGS"]):
        assert here.start("airflow-init").wait(PATIENCE_S) == 0, (here.log / "airflow-init").read_text()[-3000:]
        try:
            here.start("kafka")
            here.start("spark-master")
            until(lambda: page(int(here.ports["8090"])), "Spark's master")
            for service in (*CLUSTER[1:], *ORDER):
                here.start(service)
            for service in ("kafka", *CLUSTER, *ORDER):
                until(lambda service=service: here.is_healthy(service), f"{service} becomes healthy: {logs(here)}")
            make_topic(here)
            yield here
        finally:
            fence.kill(here.processes, 60)


def from_topic(here: Here) -> dict[str, Any]:
    """The query over flights, which come from a topic with the times at which the broker appends them."""
    query = yaml.load(FLIGHTS.read_text(), yaml.BaseLoader)
    stream = query["streams"]["departures"]
    del stream["arrival_time"]
    servers = f"127.0.0.1:{here.ports['9092']}"
    stream["source"] = {"format": "kafka", "servers": servers, "topic": "flights", "connection": "tailrace_kafka"}
    query["disorder"]["tick"] = "100 ms"
    return query


def make_topic(here: Here) -> None:
    """Make a topic of three partitions, as a user who has the password."""
    client = admin.AdminClient(client_settings(here, here.secrets["KAFKA_PASSWORD"]))
    client.create_topics([admin.NewTopic("flights", 3, 1)])["flights"].result()


def client_settings(here: Here, password: str) -> dict[str, Any]:
    secured = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    login = {"sasl.username": "tailrace", "sasl.password": password}
    return secured | login | {"bootstrap.servers": f"127.0.0.1:{here.ports['9092']}", "log_level": 0}


def logs(here: Here) -> str:
    return "\n".join(f"{file.name}: {file.read_text(errors='replace')[-700:]}" for file in sorted(here.log.iterdir()))


def test_every_service_is_started_here():
    assert {*ORDER, *CLUSTER, "kafka", "postgres", "airflow-init"} == set(services())


def test_a_topic_streamed_on_the_cluster_is_corrected_to_the_batch_answers(here):
    api = Api.log_in(f"http://127.0.0.1:{here.ports['8080']}", "admin", PASSWORD)
    for dag in ("stream_flights", "correct_flights"):
        until(lambda dag=dag: dag in [d["dag_id"] for d in api.call("GET", "dags")["dags"]], f"{dag} is found")
        api.call("PATCH", f"dags/{dag}", {"is_paused": False})
    warehouse, query = here.home / "srv" / "tailrace", load(here.home / "queries" / "flights.yaml")
    run = api.trigger("stream_flights", {})
    place = f"127.0.0.1:{here.ports['9092']}/flights"
    replay = ["tailrace", "replay", "--kafka", place, "--connection", "tailrace_kafka", "--rate", "20000"]
    replay += ["--source", str(SAMPLE), "--event-time", "actual", "--model", "none"]
    sent = subprocess.run(
        replay, env=here.environment("airflow-scheduler"), capture_output=True, text=True, check=False, timeout=300
    )
    assert sent.returncode == 0, sent.stderr
    layout = Layout.of(warehouse, "flights")

    def state() -> str | None:
        status = Status.read(layout)
        return None if status is None else status.state

    flights = ds.dataset(SAMPLE).count_rows()
    until(lambda: state() == "quiet" and Status.read(layout).rows == flights, "the stream is read")
    applications = [application["name"] for application in page(int(here.ports["8090"]))["activeapps"]]
    assert applications == ["tailrace flights"]
    assert not beyond_loopback(listening(here.processes()))
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


def test_no_secret_stands_in_a_log_or_a_command_line(here):
    secret_values = [value for name, value in here.secrets.items() if len(value) > 20]
    words = "\n".join(" ".join(command(process)) for process in here.processes())
    files = [file for file in here.home.rglob("*.log") if file.is_file()] + list(here.log.iterdir())
    text = words + "\n".join(file.read_text(errors="replace") for file in files)
    assert [name for name, value in here.secrets.items() if value in secret_values and value in text] == []


def test_the_broker_asks_for_the_password(here):
    with pytest.raises(KafkaException):
        admin.AdminClient(client_settings(here, "another")).list_topics(timeout=5)


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
