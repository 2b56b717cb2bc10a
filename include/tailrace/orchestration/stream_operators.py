"""Operators of the DAG stream_<query>: check, deploy, supervise."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException

from tailrace.drivers import driver_lifecycle
from tailrace.drivers.driver_host import Driver, DriverHost
from tailrace.drivers.edits import in_words
from tailrace.drivers.liveness import LivenessVerdict
from tailrace.drivers.writable import require_writable
from tailrace.ground.errors import Refused, Unfit
from tailrace.orchestration import settings
from tailrace.orchestration.alert_watch import alert_of_end
from tailrace.orchestration.event_extra import add_to_events
from tailrace.orchestration.form import check_conf
from tailrace.orchestration.lineage_mixin import LineageMixin
from tailrace.orchestration.links import DriverLogLink, StreamLink, TablesLink
from tailrace.orchestration.notifiers import check_notifiers
from tailrace.orchestration.refusals import refusals_fail
from tailrace.orchestration.settings import Declared
from tailrace.orchestration.submit import Options, deployed_query, driver_command, environment
from tailrace.orchestration.triggers import DriverTrigger
from tailrace.orchestration.watch_claim import claim, leave_to_watcher
from tailrace.query.query import Query
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status

POLL_S, PATIENCE_S = 5.0, 1800.0
DEPLOYED = "deployed"  # XCom key of deploy: the deployment that it found or created
WATCHED = "watched"  # XCom key of supervise: the deployment while the task is deferred; empty once the watch has ended


class StreamOperator(BaseOperator):
    """Base of the tasks about the driver of a declared query.

    Parameters
    ----------
    query, file : str
        The query's name, and the file that declares it, which each task reads again.
    """

    ui_color = "#e8f1fa"
    operator_extra_links = (StreamLink(), DriverLogLink(), TablesLink())
    part: ClassVar[str] = "frontier"
    """The part of the query's page about the task."""

    def __init__(self, *, query: str, file: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.query, self.file = query, file

    def layout(self) -> Layout:
        return Layout.for_query(settings.warehouse(), self.query)

    def host(self) -> DriverHost:
        return settings.driver_host()

    def declared(self) -> Declared:
        return Declared.read(Path(self.file))

    def deployment(self, declared: Declared, options: Options) -> tuple[list[str], dict[str, str], DeployedQuery]:
        """Return the command and environment of a driver, and its record."""
        command = driver_command(declared, settings.warehouse(), options)
        return command, environment(declared.query), deployed_query(declared, options)


class CheckOperator(StreamOperator):
    """Checks conf, query, checkpoint, warehouse and driver host, and refuses faults before a deployment."""

    def execute(self, context: Context) -> None:
        with refusals_fail():
            layout = self.layout()
            leave_to_watcher(layout, context, self.log.warning)  # first: a second run is skipped, not failed
            check_conf(context)
            driver_lifecycle.require_at_hand(self.host(), layout)
            query = self.declared().query
            require_writable(layout.home)
            check_notifiers(query.alerts)
            self.deployment(self.declared(), Options.from_params(context["params"]))
            goes_on = layout.manifest() is not None
            if not goes_on:
                check_sources(query, Path(self.file), self.log)
            status = driver_lifecycle.status(self.host(), layout)
            claim(layout, context, self.log.warning)
        for problem in status.problems.values():
            self.log.warning("%s: %s", self.query, problem)
        self.log.info("%s is right; its stream %s", self.file, "goes on" if goes_on else "begins again")
        for line in (status.head, *status.facts()):
            self.log.info("%s", line)


class DeployOperator(LineageMixin, StreamOperator):
    """Returns the query's driver, or creates it."""

    lineage_of = "of_stream"

    def execute(self, context: Context) -> None:
        with refusals_fail():
            options, layout = Options.from_params(context["params"]), self.layout()
            leave_to_watcher(layout, context, self.log.warning)
            deployment = self.deployment(self.declared(), options)
            claim(layout, context, self.log.warning)  # also if only this task was cleared
            result = driver_lifecycle.deploy(self.host(), layout, *deployment)
        if result.not_in_force:
            for line in in_words(layout, result.not_in_force).splitlines():
                self.log.warning("%s", line)
        context["ti"].xcom_push(DEPLOYED, result.deployment)
        how = "made a driver" if result.made else "found the driver, it stays as it is"
        self.log.info("%s: %s, %s, pid %s", self.query, how, result.driver.state, result.driver.pid)


class SuperviseOperator(LineageMixin, StreamOperator):
    """Watches the query's driver from the triggerer until it ends; clearing the task resumes the watch."""

    lineage_of = "of_stream"

    def execute(self, context: Context) -> NoReturn:
        with refusals_fail():
            claim(self.layout(), context, self.log.warning)
        self._watch(context, [])

    def _watch(self, context: Context, hangs: list[float]) -> NoReturn:
        with refusals_fail():
            layout = self.layout()
        deployment = driver_lifecycle.deployment(layout)
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
            The fields of a `LivenessVerdict`.
        hangs : list of float
            The times at which drivers hung under this watch, in seconds since the epoch.
        deployment : str
            The deployment that the trigger watched; others are left alone.
        """
        verdict = LivenessVerdict(**event)
        with refusals_fail():
            layout, host = self.layout(), self.host()
        if verdict.kind == "replaced":
            self.log.info("%s, and is watched from now on", verdict.detail)
            self._watch(context, hangs)
        if verdict.kind == "hung":
            self._replace(context, host, layout, verdict, hangs, deployment)
        message = (
            str(driver_lifecycle.status(host, layout)) if verdict.kind == "ended" else explain(verdict, host, layout)
        )
        driver = None
        if verdict.kind != "unreachable":  # otherwise the driver host would start it again when it restarts
            driver = driver_lifecycle.inspect(host, layout)  # read before it is removed, together with its exit code
            driver_lifecycle.clear_away(host, layout, deployment)
        if verdict.kind == "ended":
            add_to_events(context, self.outlets, layout, self.log.warning)
            return message
        self._alert(verdict, driver)
        raise AirflowFailException(message)

    def _alert(self, verdict: LivenessVerdict, driver: Driver | None) -> None:
        detail = f"{verdict.kind}: {verdict.detail}"
        alert_of_end(Path(self.file), self.layout(), driver, detail, self.log.info)

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Resume the task after clearing the XCom `WATCHED`, as nobody asked for the stream to end.

        This holds whatever ended the watch, including a broken trigger.
        """
        context["ti"].xcom_push(WATCHED, "")
        return super().resume_execution(next_method, next_kwargs, context)

    def _replace(
        self,
        context: Context,
        host: DriverHost,
        layout: Layout,
        verdict: LivenessVerdict,
        hangs: list[float],
        deployment: str,
    ) -> NoReturn:
        """Replace a hung driver by a new one, within the restart budget, and continue the watch."""
        options = Options.from_params(context["params"])
        if driver_lifecycle.is_away(host, layout):
            self._watch(context, hangs)  # the driver waits for the warehouse, and is the only record of the stream
        # The pid may belong to another driver by now, so the deployment is compared, too.
        with driver_lifecycle.exclusive_access(layout):
            if (
                driver_lifecycle.deployment(layout) == deployment
                and driver_lifecycle.inspect(host, layout).pid == verdict.pid
            ):
                if layout.drain.exists():  # a draining caller ends it by force at the deadline
                    self.log.info("the driver hangs, and is being drained: it is not replaced")
                    self._watch(context, hangs)
                now_s = time.time()  # without later times, recorded while the wall clock was ahead
                hangs = [*(at for at in hangs if now_s - options.within_s < at <= now_s), now_s]
                if len(hangs) > options.restarts:
                    driver_lifecycle.end(host, layout, 0)
                    self._alert(verdict, None)
                    raise AirflowFailException(explain(verdict, host, layout))
                replacement = self._replacement(options, layout, verdict)
                self.log.warning("the driver hangs, %s; pid %s is killed", verdict.detail, verdict.pid)
                driver_lifecycle.end(host, layout, 0)
                with refusals_fail():
                    driver = driver_lifecycle.get_or_create(host, layout, *replacement).driver
                self.log.info("a new driver: %s, pid %s", driver.state, driver.pid)
        self._watch(context, hangs)

    def _replacement(
        self, options: Options, layout: Layout, verdict: LivenessVerdict
    ) -> tuple[list[str], dict[str, str], DeployedQuery]:
        """Return the deployment of the driver that replaces a hung one, from the recorded copy, or else from the file.

        If it is refused, the hung driver is left alone.
        """
        try:
            on_record = DeployedQuery.read(layout)
            if on_record is None:
                return self.deployment(self.declared(), options)
            declared = Declared(on_record.file, on_record.query(), on_record.text)
            return self.deployment(declared, Options.from_params(on_record.options))
        except Refused as refused:
            self._alert(verdict, None)
            left = f"the driver hangs, {verdict.detail}, and pid {verdict.pid} is left as it is: no other can follow it"
            advice = "once that is mended, clear supervise: it is replaced then"
            raise AirflowFailException(f"{left}\n{refused}\n{advice}") from None


def check_sources(query: Query, file: Path, log: Any) -> None:
    """Refuse sources whose columns or types don't fit; log a source that can't be read, as the driver may reach it.

    A refusal names the query file's line with the column.

    Raises
    ------
    Unfit
    """
    from tailrace.query.loading import located  # noqa: PLC0415
    from tailrace.stream.source_sample import sample_sources  # noqa: PLC0415 (DAG files import this)

    try:
        with located(file):
            sample_sources(query)
    except Unfit:
        raise
    except Exception as error:
        log.warning("the sources can't be looked at from here: %s", error)


def explain(verdict: LivenessVerdict, host: DriverHost, layout: Layout) -> str:
    """Describe what happened to a driver, and what to do."""
    name = layout.home.name
    if verdict.kind == "unreachable":
        return (
            f"the driver host: {verdict.detail}. The stream of {name} was left as it is, nobody watches it now. Start "
            "the driver host, or mend the connection tailrace_driver_host; then clear this task"
        )
    lines = f"\nIts last lines:\n{driver_lifecycle.last_lines(host, layout)}"
    if verdict.kind == "gone":
        return f"the driver of {name} was stopped or removed: {verdict.detail}. To go on, clear this task{lines}"
    if verdict.kind == "hung":
        return f"the driver of {name} hangs again and again: {verdict.detail}; it is stopped now{lines}"
    status = Status.read(layout)
    if status is None or status.problem is None:
        fault = f"the driver of {name} has given up: {verdict.detail}"
        return f"{fault}. Mend what its last lines say; clear this task{lines}"
    end = f"The driver host says: {verdict.detail}. Mend that; clear this task"
    return f"the driver of {name} has given up: {status.problem}\n{end}{lines}"
