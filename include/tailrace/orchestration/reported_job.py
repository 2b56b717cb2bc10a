"""Base operator of batch jobs with a dry run, whose report becomes an XCom of the task."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from airflow.sdk import Context

from tailrace.orchestration.addresses import REPORT
from tailrace.orchestration.batch_job import BatchJob


class ReportedJob(BatchJob):
    """Runs an app, and stores the report of its dry run for the query's page."""

    report: Path | None = None
    """The file for the app's report, in a directory of this task alone that is removed at its end."""

    def execute(self, context: Context) -> None:
        with TemporaryDirectory(prefix="tailrace-") as directory:
            self.report = Path(directory) / "report.json"
            super().execute(context)
            if self.report.exists():
                context["ti"].xcom_push(REPORT, json.loads(self.report.read_bytes()))

    def dry_run_options(self) -> list[str]:
        """Return the app's options for a dry run, with its report."""
        return ["--dry-run", "--report", str(self.report)]
