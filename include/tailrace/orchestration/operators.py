"""The tasks of stream_<query>: check, deploy, supervise, drain."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException

from tailrace.errors import Busy, Refused, refuse
from tailrace.orchestration import drivers, settings
from tailrace.orchestration.driver_host import DriverHost
from tailrace.orchestration.form import check_conf
from tailrace.orchestration.judge import Verdict
from tailrace.orchestration.settings import Declared
from tailrace.orchestration.submit import Options, driver_command, environment
from tailrace.orchestration.triggers import DRAIN_S, STOP_S, DriverTrigger
from tailrace.spark.layout import Layout

POLL_S, PATIENCE_S = 5.0, 1800.0
_WAREHOUSE = "a warehouse that Airflow and the driver host may write to"
DEPLOYED = "deployed"  # XCom of deploy: the deployment that it found or made
WATCHED = "watched"  # XCom of supervise: the deployment while it is deferred; empty once the watch has come to an end


@contextmanager
def refusals_fail() -> Iterator[None]:
    """What is refused would be refused again: it fails the task for good, saying what would be right.

    Where another one is at it, the task is tried again.
    """
    try:
        yield
    except Busy:
        raise
    except Refused as refused:
        raise AirflowFailException(str(refused)) from None


class StreamOperator(BaseOperator):
    """A task about the driver of a declared query.

    Parameters
    ----------
    query, file : str
        The query's name, and the file that declares it, which is read again where a task needs it.
    """

    ui_color = "#e8f1fa"

    def __init__(self, *, query: str, file: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.query, self.file = query, file

    def layout(self) -> Layout:
        return Layout.of(settings.warehouse(), self.query)

    def host(self) -> DriverHost:
        return settings.driver_host()

    def command(self, options: Options) -> list[str]:
        return driver_command(Declared.read(Path(self.file)), settings.warehouse(), options)


class CheckOperator(StreamOperator):
    """Refuses what could not run, before anything is deployed: conf, query, checkpoint, warehouse, host."""

    def execute(self, context: Context) -> None:
        with refusals_fail():
            check_conf(context)
            layout, query = self.layout(), Declared.read(Path(self.file)).query
            _check_writable(layout.home)
            origin = layout.origin()
            if origin is not None:
                layout.agree(origin, query.structure())
            self.command(Options.of(context["params"]))
            standing = drivers.status(self.host(), layout)
        self.log.info("%s is right; its stream %s", self.file, "begins anew" if origin is None else "goes on")
        self.log.info("%s", standing)


class DeployOperator(StreamOperator):
    """Gets the query's driver, or makes it."""

    def execute(self, context: Context) -> None:
        with refusals_fail():
            command = self.command(Options.of(context["params"]))
            done = drivers.deploy(self.host(), self.layout(), command, environment())
        context["ti"].xcom_push(DEPLOYED, done.deployment)
        how = "made a driver" if done.made else "found the driver, it stays as it is"
        self.log.info("%s: %s, %s, pid %s", self.query, how, done.driver.state, done.driver.pid)


class SuperviseOperator(StreamOperator):
    """Watches the query's driver from the triggerer until it ends. Clearing it takes the watch up again."""

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
        )
        context["ti"].xcom_push(WATCHED, deployment)
        self.defer(trigger=trigger, method_name="resume", kwargs={"hangs": hangs, "deployment": deployment})

    def resume(self, context: Context, event: dict[str, Any], hangs: list[float], deployment: str) -> str:
        """Act on what the trigger found.

        Parameters
        ----------
        event : dict
            A `Verdict`.
        hangs : list of float
            When drivers hung under this watch, in seconds since the epoch.
        deployment : str
            The one that the trigger watched; no other one is touched.
        """
        verdict = Verdict(**event)
        with refusals_fail():
            layout, host = self.layout(), self.host()
        if verdict.kind == "replaced":
            self.log.info("%s, and is watched from now on", verdict.detail)
            self._watch(context, hangs)
        if verdict.kind == "hung":
            self._replace(context, host, layout, verdict, hangs, deployment)
        told = str(drivers.status(host, layout)) if verdict.kind == "ended" else _explain(verdict, host, layout)
        if verdict.kind != "unreachable":  # a driver host that is started again must not start it
            drivers.clear_away(host, layout, deployment)
        if verdict.kind == "ended":
            return told
        raise AirflowFailException(told)

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Resume, and clear the mark of the watch: `drain` must not take its end for a person's wish."""
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
        """Put a new driver in the place of one that hangs, within the budget of restarts, and watch on."""
        options = Options.of(context["params"])
        with drivers.alone(layout):  # a pid may be another driver's by now: so the deployment is compared, too
            if drivers.deployment(layout) == deployment and host.look(self.query).pid == verdict.pid:
                self.log.warning("the driver hangs, %s; pid %s is killed", verdict.detail, verdict.pid)
                if layout.drain.exists():  # someone ends it, and does so by force where it does not listen
                    self.log.info("the driver hangs, and is being drained: it is not replaced")
                    self._watch(context, hangs)
                drivers.end(host, layout, 0)
                hangs = [at for at in hangs if at > time.time() - options.within_s] + [time.time()]
                if len(hangs) > options.restarts:
                    raise AirflowFailException(_explain(verdict, host, layout))
                with refusals_fail():
                    driver = drivers.get_or_make(host, layout, self.command(options), environment()).driver
                self.log.info("a new driver: %s, pid %s", driver.state, driver.pid)
        self._watch(context, hangs)


class DrainOperator(StreamOperator):
    """Drains the driver where someone marked the stream's task, or ended its run.

    The trigger's `on_kill` is faster, and drains most of them; it is not called while the triggerer is down. What is
    true in Airflow 3.3, and what is done:

    - A task that is marked while it is deferred ends without running again: it was watching to its end. It is drained.
    - Only the end of a run makes `skipped` of a task, where it is to run or to be tried again. It is drained.
    - `supervise` never ends as `success` by itself but in `resume`. One that never watched was marked. It is drained.
    - A `supervise` that fails before it defers looks like one that is marked failed within these seconds. Nothing is
      drained: a healthy stream is worth more. The run's own state says nothing: while a teardown is to run, it is
      `running`, also after it was marked.

    XComs of a task go when a new try begins to run, and stay through a deferral.
    """

    def execute(self, context: Context) -> None:
        ti = context["ti"]
        watched = ti.xcom_pull(task_ids="supervise", key=WATCHED)
        states = ti.get_task_states(dag_id=ti.dag_id, task_ids=["supervise"], run_ids=[ti.run_id])
        state = states.get(ti.run_id, {}).get("supervise")
        if not (watched or state == "skipped" or (state == "success" and watched is None)):
            self.log.info(
                "nothing is drained: supervise (%s) came to its own end, nobody marked it. A driver that lives goes "
                "on. To watch it again, clear supervise; to end it, `tailrace drain %s`",
                state,
                self.query,
            )
            return
        only = watched or ti.xcom_pull(task_ids="deploy", key=DEPLOYED)
        with refusals_fail():
            drivers.drain(self.host(), self.layout(), DRAIN_S, STOP_S, self.log.info, only)


def _check_writable(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True)
        writable = os.access(home, os.W_OK | os.X_OK)
    except OSError as error:
        raise refuse(str(home), f"it cannot be made: {error.strerror}", _WAREHOUSE) from None
    if not writable:
        raise refuse(str(home), "it cannot be written to", _WAREHOUSE)


def _explain(verdict: Verdict, host: DriverHost, layout: Layout) -> str:
    """What became of a driver, and what can be done."""
    name = layout.home.name
    if verdict.kind == "unreachable":
        return (
            f"the driver host: {verdict.detail}. The stream of {name} was left as it is, nobody watches it now. Start "
            "the driver host, or mend the connection tailrace_driver_host; then clear this task"
        )
    lines = f"\nIts last lines:\n{drivers.last_lines(host, layout)}"
    if verdict.kind == "gone":
        return f"the driver of {name} was stopped or removed: {verdict.detail}. To go on, clear this task{lines}"
    if verdict.kind == "hung":
        return f"the driver of {name} hangs again and again: {verdict.detail}; it is stopped now{lines}"
    return f"the driver of {name} has given up: {verdict.detail}. Mend what its last lines say; clear this task{lines}"
