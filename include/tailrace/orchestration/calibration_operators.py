"""Operator of the DAG calibrate_<query>."""

from __future__ import annotations

import json

from airflow.sdk import Context

from tailrace.ground.errors import refuse
from tailrace.orchestration.addresses import REPORT
from tailrace.orchestration.reported_job import ReportedJob

_SCHEDULED_RUN = "scheduled"


class CalibrateOperator(ReportedJob):
    """Runs the calibration by spark-submit. Its log has the measurements, and an XCom the report of a dry run.

    With too little history, a scheduled run proposes nothing and succeeds, and a manual run fails with the reason. A
    run that accepts a dry run proposes its result without measuring.
    """

    job, app, lineage_of = "calibration", "calibrate.py", "of_calibration"

    def arguments(self, context: Context) -> list[str]:
        params = context["params"]
        if accepted := params.get("accept"):
            return self._acceptance(context, accepted)
        options = self.dry_run_options() if params["dry_run"] else []
        return options + (["--if-ready"] if context["dag_run"].run_type == _SCHEDULED_RUN else [])

    def _acceptance(self, context: Context, run: str) -> list[str]:
        """Write the report of an accepted dry run to a file, and return the app's options to accept it.

        Raises
        ------
        Refused
            When this run is itself a dry run, or the accepted one has no report.
        """
        if context["params"]["dry_run"]:
            raise refuse(
                "accept, dry_run", "what is accepted is proposed, and a dry run proposes nothing", "one of them"
            )
        ti = context["ti"]
        report = ti.xcom_pull(task_ids=ti.task_id, dag_id=ti.dag_id, key=REPORT, run_id=run)
        if report is None:
            fault = f"no report of a dry run is there: {ti.dag_id} has no such run, it was no dry run, or it has failed"
            raise refuse(f"accept: {run}", fault, "the id of a run with Dry run, as its page in Airflow has it")
        assert self.report is not None
        accepted = self.report.with_name("accepted.json")
        accepted.write_text(json.dumps(report))
        return ["--accept", str(accepted), "--accepted-as", f"accept: {run}"]
