"""The console's app in a process of its own, without Airflow's log-in and database: `python -m kit.console.alone PORT`.

Its user may do everything. No DAG has run, and no driver is there. TAILRACE_QUERIES and TAILRACE_WAREHOUSE name what
it shows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import uvicorn
from airflow.api_fastapi.core_api import security
from airflow.models import DagModel
from fastapi import FastAPI

from kit.fakes.fake_host import FakeHost
from kit.parts import airflow_home  # noqa: F401 - before Airflow
from tailrace.console import actions_route, dry_runs, last_runs, ledger_links, rights, stream_rows, streams_route
from tailrace.console.airflow_dags import KnownDag
from tailrace.console.app import app
from tailrace.orchestration import settings


class _Allowed:
    def is_authorized_dag(self, **_: Any) -> bool:
        return True


def _all_unpaused(dag_ids: Iterable[str]) -> dict[str, KnownDag]:
    return {dag: KnownDag(is_paused=False, is_scheduled=True, unfinished=0) for dag in dag_ids}


def serve(port: int) -> None:
    """Serve on loopback until the process ends."""
    settings.driver_host = FakeHost
    DagModel.get_team_name = staticmethod(lambda dag: None)
    DagModel.get_dag_id_to_team_name_mapping = staticmethod(lambda dags: {})
    actions_route.read_dags = streams_route.read_dags = _all_unpaused
    ledger_links._runs = lambda dag: []
    stream_rows.deploying_since = lambda names: {}
    last_runs._rows = lambda statement: []
    dry_runs._newest_stored = lambda dag_id, task_id: None
    rights.get_auth_manager = _Allowed
    app.dependency_overrides[security.get_user] = lambda: "somebody"
    root = FastAPI()
    root.mount("/tailrace", app)
    uvicorn.run(root, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    serve(int(sys.argv[1]))
