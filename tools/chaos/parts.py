"""The services of docker-compose.yaml under a live stream: each can be away for a while, stopped or killed."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from keeper import Keeper
from live_driver import LiveDriver
from topic_feeder import TopicFeeder
from workloads import NAME, WORKLOADS, drawn_streams

from kit.parts.compose import Here
from kit.parts.compose_run import PASSWORD, all_services, client_settings, make_topic, servers, until
from kit.parts.postgres import Server
from tailrace.drivers.supervisor import SupervisorHost
from tailrace.embedded.airflow_api import Api
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status

DAG = f"stream_{NAME}"
_KIND, _GAP_MS, _FIRST_COMMITS = "aggregate", 50, 3


class Part(NamedTuple):
    """A service, and whether the stream goes on with the same driver while it is away: if it is stopped, if killed."""

    service: str
    on_stop: bool
    on_kill: bool


PARTS = (
    Part("postgres", True, True),
    Part("kafka", False, False),
    Part("spark-master", True, True),
    Part("spark-worker-1", False, False),
    Part("airflow-triggerer", True, True),
    Part("airflow-scheduler", True, True),
    Part("airflow-api-server", True, True),
)


@dataclass
class Platform:
    """All services, healthy, and the stream of a topic that Airflow has deployed on the Spark cluster."""

    here: Here
    postgres: Server
    api: Api
    driver: LiveDriver
    feeder: TopicFeeder
    keeper: Keeper
    run: str

    def processes(self, service: str) -> list[psutil.Process]:
        """The processes of a service, the oldest first."""
        started = self.postgres.process if service == "postgres" else self.here.started[service]
        with suppress(psutil.NoSuchProcess):
            return [(root := psutil.Process(started.pid)), *root.children(recursive=True)]
        return []

    def start(self, service: str) -> subprocess.Popen[bytes]:
        """Start a service that was killed, as its engine would."""
        return self.postgres.start() if service == "postgres" else self.here.start(service)

    @property
    def status(self) -> Status | None:
        return Status.read(Layout(self.driver.home))

    def is_supervised_since(self, wall_s: float) -> bool:
        """True if the task `supervise` waits in the triggerer, and has told of the driver after a time."""
        path = f"dags/{DAG}/dagRuns/{self.run}/taskInstances/supervise"
        task = self.api.call("GET", path)
        if task["state"] != "deferred":
            return False
        log = self.api.call("GET", f"{path}/logs/{task['try_number']}", full_content=True)["content"]
        return any(NAME in str(line.get("event")) and _time_s(line) > wall_s for line in log)

    def drain(self) -> None:
        """End the stream as a user of Airflow does: by marking its run."""
        self.api.call("PATCH", f"dags/{DAG}/dagRuns/{self.run}", {"state": "success"})
        until(lambda: not self.driver.host.inspect(NAME).alive, "the driver drains")


def _time_s(line: dict[str, Any]) -> float:
    text = line.get("timestamp")
    return datetime.fromisoformat(text).timestamp() if text else 0.0


@contextmanager
def platform(directory: Path, seed: int) -> Iterator[Platform]:
    """Start all services, deploy the stream, and wait until it is watched and has committed."""
    with all_services(directory) as (here, postgres):
        workload = WORKLOADS[_KIND]
        streams = drawn_streams(workload, seed, _GAP_MS)
        query = workload.query(directory)
        place = {"servers": servers(here), "topic": NAME, "connection": "tailrace_kafka"}
        query["streams"][NAME]["source"] = {"format": "kafka"} | place
        file = directory / "queries" / f"{NAME}.yaml"
        file.write_text(json.dumps(query))
        make_topic(here, NAME, 1)
        feeder = TopicFeeder(streams[NAME], NAME, client_settings(here, here.secrets["KAFKA_PASSWORD"]))
        keeper = Keeper(here)
        feeder.start()
        try:
            api = Api.log_in(f"http://127.0.0.1:{here.ports['8080']}", "admin", PASSWORD)
            until(lambda: DAG in [dag["dag_id"] for dag in api.call("GET", "dags")["dags"]], f"{DAG} is found")
            api.call("PATCH", f"dags/{DAG}", {"is_paused": False})
            host = SupervisorHost(
                f"http://127.0.0.1:{here.ports['9001']}",
                here.home / "srv" / "drivers" / "programs",
                "tailrace",
                here.secrets["DRIVER_HOST_PASSWORD"],
            )
            driver = LiveDriver(host, file, here.home / "srv" / "tailrace", here.environment("airflow-scheduler"))
            started_s = time.time()
            keeper.start()
            found = Platform(here, postgres, api, driver, feeder, keeper, api.trigger(DAG))
            until(lambda: driver.commits >= _FIRST_COMMITS, "the first commits")
            until(lambda: found.is_supervised_since(started_s), "the driver is watched")
            yield found
        finally:
            keeper.stop()
            feeder.stop()
