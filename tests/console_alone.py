"""The console's app in a process of its own, without Airflow's log-in and database: `python -m console_alone PORT`.

Its user may do everything. No DAG has run, and no driver is there. TAILRACE_QUERIES and TAILRACE_WAREHOUSE name what
it shows.
"""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from airflow.api_fastapi.core_api import security
from airflow.models import DagModel
from fastapi import FastAPI

import airflow_home  # noqa: F401 - before Airflow
from fake_host import FakeHost
from tailrace.console import last_runs, ledger_links, rights
from tailrace.console.app import app
from tailrace.orchestration import settings


class _Allowed:
    def is_authorized_dag(self, **_: Any) -> bool:
        return True


class _Unpaused:
    is_paused = is_stale = False


def serve(port: int) -> None:
    """Serve on loopback until the process ends."""
    settings.driver_host = FakeHost
    DagModel.get_team_name = staticmethod(lambda dag: None)
    DagModel.get_dag_id_to_team_name_mapping = staticmethod(lambda dags: {})
    DagModel.get_dagmodel = staticmethod(lambda dag: _Unpaused)
    ledger_links._runs = lambda dag: []
    last_runs._rows = lambda statement: []
    rights.get_auth_manager = _Allowed
    app.dependency_overrides[security.get_user] = lambda: "somebody"
    root = FastAPI()
    root.mount("/tailrace", app)
    uvicorn.run(root, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    serve(int(sys.argv[1]))
