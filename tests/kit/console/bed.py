"""A test bed of the pages: an embedded Airflow with users of all roles, a driver host, and a small warehouse."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

from kit.console import poison as console_poison
from kit.console import warehouse as console_warehouse
from kit.console.rights import ONLY_SPEEDS, WITHOUT_LOGS
from kit.console.warehouse import Warehouse
from kit.suite.waiting import PATIENCE_S, until
from tailrace.drivers import driver_lifecycle
from tailrace.embedded.airflow_api import Api
from tailrace.embedded.embedded_airflow import USER, EmbeddedAirflow
from tailrace.embedded.embedded_processes import EmbeddedHost
from tailrace.embedded.platform_environment import environment_variables
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.status import Status

ROOT = Path(__file__).parents[3]
ROLES = {USER: "admin", "op": "op", "user": "user", "viewer": "viewer", WITHOUT_LOGS: "user", ONLY_SPEEDS: "user"}
PAGES = "/tailrace/"
LOCAL = {"TAILRACE_ENGINE": "local"}


@dataclass(frozen=True)
class Bed:
    """All of it, while it runs.

    Attributes
    ----------
    passwords : dict
        The password of each user.
    """

    warehouse: Warehouse
    hosting: EmbeddedHost
    airflow: EmbeddedAirflow
    passwords: dict[str, str]

    @property
    def url(self) -> str:
        return self.airflow.url

    def api(self, user: str = USER) -> Api:
        """A client of Airflow's REST API, as a user with a token."""
        return Api.log_in(self.url, user, self.passwords[user])

    def client(self, user: str | None = None) -> httpx.Client:
        """A client with a user's cookie, as browsers send it; None is nobody. It follows no redirects."""
        jar = {} if user is None else {"_token": self.api(user).token}
        return httpx.Client(base_url=self.url, cookies=jar, timeout=PATIENCE_S)

    def await_dags(self, *dags: str) -> None:
        """Wait until Airflow has found some DAGs."""
        api = self.api()
        self.until(lambda: {*dags} <= {dag["dag_id"] for dag in api.call("GET", "dags", limit=100)["dags"]})

    def deploy(self, name: str) -> None:
        """Let the driver host run a query's stream in a process without a JVM, as `tailrace run` does."""
        file = self.warehouse.queries / f"{name}.yaml"
        layout = self.warehouse.layout(name)
        run = [sys.executable, "-m", "tailrace", "run", str(file), "--warehouse", str(self.warehouse.tables)]
        launch = [sys.executable, "-m", "tailrace.drivers.launch", "--home", str(layout.home), "--"]
        deployed = DeployedQuery(file, file.read_text(), {"batch_rows": 4_000_000, "driver_memory": "2g"})
        command = [*launch, *run, "--deployed", name, "--engine", "local"]
        driver_lifecycle.deploy(self.hosting.host, layout, command, {}, deployed)

    def status(self, name: str) -> Status | None:
        """The last report of a query's driver."""
        return Status.read(self.warehouse.layout(name))

    def is_at_work(self, name: str) -> bool:
        """Whether a query's driver has read all that there is."""
        status = self.status(name)
        return status is not None and status.state in ("waiting", "quiet") and status.rows > 0

    def until(self, condition: Callable[[], Any]) -> Any:
        """Wait for a condition, and return its first true value."""
        return until(condition, every_s=0.2)


def environment(warehouse: Warehouse, hosting: EmbeddedHost) -> dict[str, str]:
    """The environment of Airflow: users, what is declared, and the connections."""
    return {
        **LOCAL,
        **environment_variables(hosting, warehouse.queries, warehouse.tables),
        "AIRFLOW__CORE__AUTH_MANAGER": "kit.console.rights.RightsByUser",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{role}" for user, role in ROLES.items()),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",  # all queries are declared before it starts
        "PYTHONPATH": f"{ROOT / 'include'}:{ROOT / 'tests'}",
        "TAILRACE_SPARK_APPS": str(ROOT / "spark_apps"),
    }


@contextmanager
def running_bed(home: Path) -> Iterator[Bed]:
    """Run a bed in a directory; nothing of it runs afterwards."""
    warehouse = console_warehouse.build(home)
    for builder in console_poison.BUILDERS:
        builder(warehouse)
    # What spark-submit starts runs in its own process, without a Spark context: drivers by the DAGs start as fast.
    with ExitStack() as stack:
        with patch.dict(os.environ, LOCAL):  # no longer: the process has other tests while the bed runs
            hosting = stack.enter_context(EmbeddedHost(home / "drivers"))
        airflow = EmbeddedAirflow(home / "airflow", ROOT / "dags", environment(warehouse, hosting))
        with airflow:
            passwords = json.loads((airflow.directory / "passwords.json").read_text())
            bed = Bed(warehouse, hosting, airflow, passwords)
            kinds = ("stream", "correct", "calibrate", "rebuild")  # a file each, which Airflow reads one by one
            bed.await_dags("stream_orders", "correct_orders", *(f"{kind}_speeds" for kind in kinds))
            yield bed
