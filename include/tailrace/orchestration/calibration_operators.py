"""Operator of the DAG calibrate_<query>."""

from __future__ import annotations

from airflow.sdk import Context

from tailrace.orchestration.batch_job import BatchJob

_SCHEDULED_RUN = "scheduled"


class CalibrateOperator(BatchJob):
    """Runs the calibration by spark-submit; its log has the measurements.

    A scheduled run with too little history proposes nothing and succeeds; a run by hand fails and says so.
    """

    job, app, lineage_of = "calibration", "calibrate.py", "of_calibration"

    def arguments(self, context: Context) -> list[str]:
        options = ["--dry-run"] if context["params"]["dry_run"] else []
        return options + (["--if-ready"] if context["dag_run"].run_type == _SCHEDULED_RUN else [])
