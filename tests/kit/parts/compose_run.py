"""All services of docker-compose.yaml at once, as processes of this machine: started in order, healthy, and ended."""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import admin

from bench.kafka.broker import JARS
from kit.parts.compose import Here, required_variables, services
from kit.parts.postgres import Server, server
from kit.suite import waiting
from kit.suite.waiting import PATIENCE_S
from tailrace.drivers import fence
from tailrace.drivers.spark_daemon import page

AIRFLOW = ("airflow-api-server", "airflow-scheduler", "airflow-dag-processor", "airflow-triggerer")
CLUSTER = ("spark-master", "spark-worker-1", "spark-worker-2")
PASSWORD = "chosen-by-a-person"
_PATIENCE_S = 5 * PATIENCE_S

until = partial(waiting.until, every_s=1.0, patience_s=_PATIENCE_S)
"""Waits as long as all services together may take."""


@contextmanager
def all_services(home: Path) -> Iterator[tuple[Here, Server]]:
    """Start all services below a directory, wait until each is healthy, and end them; queries lie in `home/queries`."""
    names = {name: secrets.token_hex(32) for name in required_variables()}
    names |= {"AIRFLOW_FERNET_KEY": urlsafe_b64encode(secrets.token_bytes(32)).decode()}
    here = Here(home, names | {"AIRFLOW_ADMIN_PASSWORD": PASSWORD}, JARS.bring())
    (home / "queries").mkdir()
    declared = services()["postgres"]["environment"]
    with server(here.ports["5432"], names["POSTGRES_PASSWORD"], declared["POSTGRES_INITDB_ARGS"]) as postgres:
        assert here.start("airflow-init").wait(_PATIENCE_S) == 0, (here.log / "airflow-init").read_text()[-3000:]
        try:
            here.start("kafka")
            here.start("spark-master")
            until(lambda: page(int(here.ports["8090"])), "Spark's master")
            for service in (*CLUSTER[1:], *AIRFLOW, "driver-host"):
                here.start(service)
            for service in ("kafka", *CLUSTER, *AIRFLOW, "driver-host"):
                until(
                    lambda service=service: here.is_healthy(service),
                    f"{service} becomes healthy",
                    seen=lambda: logs(here),
                )
            yield here, postgres
        finally:
            fence.kill(here.processes, PATIENCE_S)


def servers(here: Here) -> str:
    """The bootstrap servers of the broker."""
    return f"127.0.0.1:{here.ports['9092']}"


def client_settings(here: Here, password: str) -> dict[str, Any]:
    """The settings of a client of the broker, as a user who has the password."""
    secured = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    login = {"sasl.username": "tailrace", "sasl.password": password}
    return secured | login | {"bootstrap.servers": servers(here), "log_level": 0}


def make_topic(here: Here, name: str, partitions: int) -> None:
    client = admin.AdminClient(client_settings(here, here.secrets["KAFKA_PASSWORD"]))
    client.create_topics([admin.NewTopic(name, partitions, 1)])[name].result()


def logs(here: Here) -> str:
    """The end of each service's log."""
    return "\n".join(f"{file.name}: {file.read_text(errors='replace')[-700:]}" for file in sorted(here.log.iterdir()))
