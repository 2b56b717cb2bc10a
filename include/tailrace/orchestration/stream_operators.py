"""Operators of the DAG stream_<query>: check, deploy, supervise, drain."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NoReturn

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException

from tailrace.drivers.driver_host import Driver, DriverHost
from tailrace.drivers.liveness import Verdict
from tailrace.ground.errors import Refused, refuse
from tailrace.ground.object_path import Location
from tailrace.orchestration import drivers, settings
from tailrace.orchestration.alert_watch import alert_of_end
from tailrace.orchestration.explanations import explain
from tailrace.orchestration.form import check_conf
from tailrace.orchestration.links import DriverLogLink, TablesLink
from tailrace.orchestration.notifiers import check_notifiers
from tailrace.orchestration.refusals import refusals_fail
from tailrace.orchestration.settings import Declared
from tailrace.orchestration.source_check import check_sources
from tailrace.orchestration.submit import Options, driver_command, environment
from tailrace.orchestration.tells_lineage import TellsLineage
from tailrace.orchestration.triggers import DRAIN_S, STOP_S, DriverTrigger
from tailrace.storage.layout import Layout

POLL_S, PATIENCE_S = 5.0, 1800.0
_WAREHOUSE = "a warehouse that Airflow and the driver host may write to"
DEPLOYED = "deployed"  # XCom key of deploy: the deployment that it found or created
WATCHED = "watched"  # XCom key of supervise: the deployment while it is deferred; empty once the watch has ended


class StreamOperator(BaseOperator):
    """Base of the tasks about the driver of a declared query.

    Parameters
    ----------
    query, file : str
        The query's name, and the file that declares it, which is read again when a task needs it.
    """

    ui_color = "#e8f1fa"
    operator_extra_links = (DriverLogLink(), TablesLink())

    def __init__(self, *, query: str, file: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.query, self.file = query, file

    def layout(self) -> Layout:
        return Layout.of(settings.warehouse(), self.query)

    def host(self) -> DriverHost:
        return settings.driver_host()

    def command(self, options: Options) -> list[str]:
        return driver_command(Declared.read(Path(self.file)), settings.warehouse(), options)

    def environment(self) -> dict[str, str]:
        return environment(Declared.read(Path(self.file)).query)


class CheckOperator(StreamOperator):
    """Checks conf, query, checkpoint, warehouse and driver host, and refuses a wrong one before a deployment."""

    def execute(self, context: Context) -> None:
        with refusals_fail():
            check_conf(context)
            layout, query = self.layout(), Declared.read(Path(self.file)).query
            _check_writable(layout.home)
            check_notifiers(query.alerts)
            self.command(Options.of(context["params"]))
            goes_on = layout.manifest() is not None
            if not goes_on:
                check_sources(query, self.log)
            status = drivers.status(self.host(), layout)
        self.log.info("%s is right; its stream %s", self.file, "goes on" if goes_on else "begins anew")
        self.log.info("%s", status)


class DeployOperator(TellsLineage, StreamOperator):
    """Gets the query's driver, or creates it."""

    lineage_of = "of_stream"

    def execute(self, context: Context) -> None:
        with refusals_fail():
            command = self.command(Options.of(context["params"]))
            result = drivers.deploy(self.host(), self.layout(), command, self.environment())
        context["ti"].xcom_push(DEPLOYED, result.deployment)
        how = "made a driver" if result.made else "found the driver, it stays as it is"
        self.log.info("%s: %s, %s, pid %s", self.query, how, result.driver.state, result.driver.pid)


class SuperviseOperator(TellsLineage, StreamOperator):
    """Watches the query's driver from the triggerer until it ends; clearing the task resumes the watch."""

    lineage_of = "of_stream"

    def execute(self, context: Context) -> NoReturn:
        self._watch(context, [])

    def _watch(self, context: Context, hangs: list[float]) -> NoReturn:
        with refusals_fail():
            layout = self.layout()
        deployment = drivers.deployment(layout)
        trigger = DriverTrigger(
            query=self.query,
            warehouse=str(layout.home.parent),
            deployment=deployment,
            poll_s=POLL_S,
            hang_after_s=context["params"]["hang_after_s"],
            patience_s=PATIENCE_S,
            file=self.file,
        )
        context["ti"].xcom_push(WATCHED, deployment)
        self.defer(trigger=trigger, method_name="resume", kwargs={"hangs": hangs, "deployment": deployment})

    def resume(self, context: Context, event: dict[str, Any], hangs: list[float], deployment: str) -> str:
        """Act on the trigger's verdict.

        Parameters
        ----------
        event : dict
            The fields of a `Verdict`.
        hangs : list of float
            The times at which drivers hung under this watch, in seconds since the epoch.
        deployment : str
            The deployment that the trigger watched; no other one is touched.
        """
        verdict = Verdict(**event)
        with refusals_fail():
            layout, host = self.layout(), self.host()
        if verdict.kind == "replaced":
            self.log.info("%s, and is watched from now on", verdict.detail)
            self._watch(context, hangs)
        if verdict.kind == "hung":
            self._replace(context, host, layout, verdict, hangs, deployment)
        message = str(drivers.status(host, layout)) if verdict.kind == "ended" else explain(verdict, host, layout)
        driver = None
        if verdict.kind != "unreachable":  # else a driver host that restarts would start it again
            driver = host.inspect(self.query)  # before it is removed, with its exit code
            drivers.clear_away(host, layout, deployment)
        if verdict.kind == "ended":
            return message
        self._alert(verdict, driver)
        raise AirflowFailException(message)

    def _alert(self, verdict: Verdict, driver: Driver | None) -> None:
        detail = f"{verdict.kind}: {verdict.detail}"
        alert_of_end(Path(self.file), self.layout(), driver, detail, self.log.info)

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Resume the task after clearing the XCom `WATCHED`: nobody asked for the stream to end.

        That holds whatever ended the watch, a broken trigger included.
        """
        context["ti"].xcom_push(WATCHED, "")
        return super().resume_execution(next_method, next_kwargs, context)

    def _replace(
        self,
        context: Context,
        host: DriverHost,
        layout: Layout,
        verdict: Verdict,
        hangs: list[float],
        deployment: str,
    ) -> NoReturn:
        """Replace a driver that hangs by a new one, within the restart budget, and continue the watch."""
        options = Options.of(context["params"])
        with drivers.alone(layout):  # a pid may be another driver's by now, so the deployment is compared too
            if drivers.deployment(layout) == deployment and host.inspect(self.query).pid == verdict.pid:
                if layout.drain.exists():  # whoever drains it ends it by force at the deadline
                    self.log.info("the driver hangs, and is being drained: it is not replaced")
                    self._watch(context, hangs)
                hangs = [at for at in hangs if at > time.time() - options.within_s] + [time.time()]
                if len(hangs) > options.restarts:
                    drivers.end(host, layout, 0)
                    self._alert(verdict, None)
                    raise AirflowFailException(explain(verdict, host, layout))
                command = self._command_of_replacement(options, verdict)
                self.log.warning("the driver hangs, %s; pid %s is killed", verdict.detail, verdict.pid)
                drivers.end(host, layout, 0)
                with refusals_fail():
                    driver = drivers.get_or_make(host, layout, command, self.environment()).driver
                self.log.info("a new driver: %s, pid %s", driver.state, driver.pid)
        self._watch(context, hangs)

    def _command_of_replacement(self, options: Options, verdict: Verdict) -> list[str]:
        """The command of the driver that replaces a hung one, which stays as it is if the query file is refused."""
        try:
            return self.command(options)
        except Refused as refused:
            self._alert(verdict, None)
            left = f"the driver hangs, {verdict.detail}, and pid {verdict.pid} is left as it is: no other can follow it"
            advice = "once that is mended, clear supervise: it is replaced then"
            raise AirflowFailException(f"{left}\n{refused}\n{advice}") from None


class DrainOperator(StreamOperator):
    """Drains the driver if someone marked the stream's task, or ended its run.

    The trigger's `on_kill` is faster and drains most drivers; it is not called while the triggerer is down. The rules
    follow from the behaviour of Airflow 3.3:

    - A task that is marked while deferred ends without running again, so its XCom `WATCHED` still has the deployment:
      drain.
    - Only the end of a run makes a task `skipped` that was to run or to be retried: drain.
    - `supervise` reaches `success` by itself only in `resume`; one that never watched was marked: drain.
    - A `supervise` that fails before it defers looks like one that is marked failed in these seconds: do not drain,
      since a healthy stream is worth more. The run's state does not help: while a teardown is to run, it is `running`,
      also after the run was marked.

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
        deployment = watched_deployment or ti.xcom_pull(task_ids="deploy", key=DEPLOYED)
        with refusals_fail():
            drivers.drain(self.host(), self.layout(), DRAIN_S, STOP_S, self.log.info, deployment)


def _check_writable(home: Location) -> None:
    """Refuse a directory in which nothing can be written; an object store is asked when the driver is deployed."""
    if not isinstance(home, Path):
        return
    try:
        home.mkdir(parents=True, exist_ok=True)
        is_writable = os.access(home, os.W_OK | os.X_OK)
    except OSError as error:
        raise refuse(str(home), f"it cannot be made: {error.strerror}", _WAREHOUSE) from None
    if not is_writable:
        raise refuse(str(home), "it cannot be written to", _WAREHOUSE)
