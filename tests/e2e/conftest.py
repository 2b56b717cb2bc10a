"""One complete Airflow and one driver host, shared by all end-to-end tests of a process."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from kit.draws.e2e_queries import PUBLICATIONS, live_query, sums_query
from kit.suite.waiting import PATIENCE_S, until
from tailrace.drivers import driver_lifecycle, fence
from tailrace.embedded.airflow_api import Api
from tailrace.embedded.embedded_airflow import EmbeddedAirflow
from tailrace.embedded.embedded_processes import EmbeddedHost
from tailrace.embedded.platform_environment import environment_variables
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status

ROOT = Path(__file__).parents[2]
QUERY = (ROOT / "include" / "queries" / "flights.yaml").read_text()

ACTIVE = "stream_flights", "correct_flights", "stream_live", "consume_live", "publish_live"
"""The DAGs of queries that are declared from the start. Airflow starts their triggers at a next look at their files."""

# A DAG as a user writes it, which knows no more of tailrace than the asset's name and URI.
CONSUMER = """
from airflow.sdk import DAG, Asset, task

with DAG("consume_live", schedule=[Asset(name="live.results", uri="tailrace://live/results")], catchup=False):
    @task
    def consume(triggering_asset_events=None):
        for events in triggering_asset_events.values():
            for event in events:
                print("consumed", event.extra["total_rows"], "rows")

    consume()
"""


@dataclass
class Platform:
    """Airflow, the driver host, and the query `flights`, replayed at a rate that can be changed."""

    home: Path
    hosting: EmbeddedHost
    airflow: EmbeddedAirflow
    api: Api

    @property
    def layout(self) -> Layout:
        return Layout.for_query(self.home / "tables", "flights")

    def declare(self, rate: int) -> None:
        sample = str(ROOT / "samples" / "flights")
        text = QUERY.replace("../../samples/flights", sample).replace("rate: 1500", f"rate: {rate}")
        assert str(rate) in text
        assert sample in text
        (self.home / "queries" / "flights.yaml").write_text(text)

    def unpause(self, dag: str) -> None:
        """Let a DAG run, once Airflow has found it."""
        self.until(lambda: dag in [found["dag_id"] for found in self.api.call("GET", "dags", limit=100)["dags"]])
        self.api.call("PATCH", f"dags/{dag}", {"is_paused": False})

    def trigger(self, dag: str, **conf: Any) -> str:
        return self.api.trigger(dag, conf)

    def states(self, dag: str, run: str) -> dict[str, str | None]:
        answer = self.api.call("GET", f"dags/{dag}/dagRuns/{run}/taskInstances")["task_instances"]
        return {instance["task_id"]: instance["state"] for instance in answer}

    def log(self, dag: str, run: str, task: str) -> str:
        """The log of a task, over all its tries."""
        tries = self.api.call("GET", f"dags/{dag}/dagRuns/{run}/taskInstances/{task}")["try_number"]
        path = f"dags/{dag}/dagRuns/{run}/taskInstances/{task}/logs"
        return "\n".join(json.dumps(self.api.call("GET", f"{path}/{number}")) for number in range(1, tries + 1))

    def mark(self, run: str, state: str, dag: str = "stream_flights") -> None:
        self.api.call("PATCH", f"dags/{dag}/dagRuns/{run}", {"state": state})

    def driver(self) -> int | None:
        """The pid of the living driver."""
        driver = driver_lifecycle.inspect(self.hosting.host, self.layout)
        return driver.pid if driver.alive else None

    def processes(self) -> list[psutil.Process]:
        return fence.marked(self.layout.home)

    def batches(self) -> int:
        """Number of committed batches by the driver's last report; 0 before its first commit."""
        status = Status.read(self.layout)
        return status.batches if status and status.committed_at_ms else 0

    def until(self, condition: Callable[[], Any]) -> Any:
        """Wait for a condition, and return its first true value."""
        return until(condition, every_s=0.3, seen=self._seen, patience_s=4 * PATIENCE_S)

    def _seen(self) -> str:
        host = self.hosting.host
        state, lines = driver_lifecycle.inspect(host, self.layout), driver_lifecycle.last_lines(host, self.layout)
        return f"{state}, {Status.read(self.layout)}: {lines}"

    def streams(self) -> bool:
        """Wait for a driver that lives and commits another batch."""
        before = self.batches()
        return bool(self.until(lambda: self.driver() and self.batches() > before))


@pytest.fixture(scope="session")
def platform(tmp_path_factory) -> Iterator[Platform]:
    home = tmp_path_factory.mktemp("platform")
    (home / "queries").mkdir()
    shutil.copytree(ROOT / "dags", home / "dags", ignore=shutil.ignore_patterns("__pycache__"))
    (home / "dags" / "consumers.py").write_text(CONSUMER)
    (home / "dags" / "publications.py").write_text(PUBLICATIONS)
    live_query(home / "queries")
    with EmbeddedHost(home / "drivers") as hosting:
        environment = environment_variables(hosting, home / "queries", home / "tables")
        environment["TAILRACE_SPARK_APPS"] = str(ROOT / "spark_apps")
        airflow = EmbeddedAirflow(home / "airflow", home / "dags", environment)
        running_platform = Platform(home, hosting, airflow, Api("", ""))
        running_platform.declare(10)  # so it ends in no test before `test_corrections_that_waited…`, on no machine
        with airflow:
            running_platform.api = airflow.api()
            for dag in ACTIVE:
                running_platform.unpause(dag)
            sums_query(home / "queries", home / "sums")  # it is found while Airflow runs
            yield running_platform
