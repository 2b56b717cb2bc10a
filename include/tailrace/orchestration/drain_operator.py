"""Operator of the DAG stream_<query> that drains the driver after somebody has ended its watch."""

from __future__ import annotations

from airflow.sdk import Context

from tailrace.drivers import driver_lifecycle
from tailrace.orchestration.refusals import refusals_fail
from tailrace.orchestration.stream_operators import DEPLOYED, WATCHED, StreamOperator
from tailrace.orchestration.triggers import DRAIN_S, STOP_S
from tailrace.orchestration.watch_claim import watching_run


class DrainOperator(StreamOperator):
    """Drains the driver if somebody marked the stream's task, or ended its run.

    The trigger's `on_kill` is faster and drains most drivers, but is not called while the triggerer is down. The rules
    follow from the behaviour of Airflow 3.3:

    - A task that is marked while deferred does not run again, so its XCom `WATCHED` still has the deployment: drain.
    - A task that should run or be retried only becomes `skipped` at the end of a run: drain.
    - `supervise` reaches `success` by itself only in `resume`; if it never watched, it was marked: drain.
    - A run that never claimed the stream, or lost its claim to another run, has nothing to drain.
    - A `supervise` that fails before it defers looks like one marked as failed in these seconds: do not drain, since a
      healthy stream is worth more. The run's state does not help: until its teardown has run, it is `running`, even if
      the run was marked.

    Airflow deletes the XComs of a task when a new try begins to run, and keeps them through a deferral.
    """

    def execute(self, context: Context) -> None:
        ti = context["ti"]
        watched_deployment = ti.xcom_pull(task_ids="supervise", key=WATCHED)
        states = ti.get_task_states(dag_id=ti.dag_id, task_ids=["supervise"], run_ids=[ti.run_id])
        state = states.get(ti.run_id, {}).get("supervise")
        if not (watched_deployment or state == "skipped" or (state == "success" and watched_deployment is None)):
            self.log.info(
                "nothing is drained: supervise (%s) came to its own end, nobody marked it. A driver that lives goes "
                "on. To watch it again, clear supervise; to end it, `tailrace drain %s`",
                state,
                self.query,
            )
            return
        with refusals_fail():
            layout = self.layout()
            if (watcher := watching_run(layout)) not in ("", ti.run_id):
                self.log.info(
                    "nothing is drained: run %s watches the stream, which this one has not, or no more", watcher
                )
                return
            deployment = watched_deployment or ti.xcom_pull(task_ids="deploy", key=DEPLOYED)
            driver_lifecycle.drain(self.host(), layout, DRAIN_S, STOP_S, self.log.info, deployment)
