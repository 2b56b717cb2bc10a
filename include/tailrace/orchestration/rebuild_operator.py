"""Operator of the DAG rebuild_<query>."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Context

from tailrace.drivers import driver_lifecycle
from tailrace.ground.errors import refuse
from tailrace.orchestration import settings
from tailrace.orchestration.reported_job import ReportedJob
from tailrace.storage.layout import Layout


class RebuildOperator(ReportedJob):
    """Runs the rebuild by spark-submit. A dry run writes nothing but an XCom with its report.

    While the query has a driver, only a dry run is possible, as the host might restart the driver during a rebuild.
    """

    job, app, lineage_of, part = "rebuild", "rebuild.py", "of_rebuild", "settings"
    rebuilds = False

    def lineage_details(self) -> dict[str, Any]:
        return {"rebuilds": self.rebuilds}

    def arguments(self, context: Context) -> list[str]:
        if context["params"]["dry_run"]:
            return self.dry_run_options()
        driver = driver_lifecycle.inspect(settings.driver_host(), Layout.for_query(settings.warehouse(), self.query))
        if driver.alive:
            fault = f"its driver is {driver.state}, and would go on with the stream that is rebuilt"
            raise refuse(f"query {self.query}", fault, f"tailrace drain {self.query}, first; or a dry run")
        self.rebuilds = True
        return []
