"""The task of calibrate_<query>."""

from __future__ import annotations

from airflow.sdk import Context

from tailrace.orchestration.batch_job import BatchJob

_BY_SCHEDULE = "scheduled"


class CalibrateOperator(BatchJob):
    """The calibration, by spark-submit; its log has what was measured.

    A scheduled run that finds too little of the past yet proposes nothing, and is done; one by hand fails and says so.
    """

    job, app = "calibration", "calibrate.py"

    def arguments(self, context: Context) -> list[str]:
        chosen = ["--dry-run"] if context["params"]["dry_run"] else []
        return chosen + (["--if-ready"] if context["dag_run"].run_type == _BY_SCHEDULE else [])
