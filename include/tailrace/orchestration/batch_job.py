"""Base operator of a query's batch jobs, run by spark-submit; a killed job leaves no process behind."""

from __future__ import annotations

import os
import subprocess
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from tailrace.drivers import fence
from tailrace.orchestration import settings, spark_connection
from tailrace.orchestration.event_extra import add_to_events
from tailrace.orchestration.form import check_conf
from tailrace.orchestration.lineage_mixin import LineageMixin
from tailrace.orchestration.links import StreamLink, TablesLink
from tailrace.orchestration.passed_connections import passed_connections
from tailrace.orchestration.refusals import refusals_fail
from tailrace.orchestration.submit import Options
from tailrace.storage.layout import Layout

_EXIT_REFUSED = 2
_OF_FAILURES = "refused ", "failed "  # our commands begin the reason of their end with these
_LAST_LINES = 5
_KILL_TIMEOUT_S = 4.0  # Airflow kills a task 5 s after asking it to end


class BatchJob(LineageMixin, SparkSubmitOperator):
    """Runs one of the Spark apps over a query's file and the warehouse; a refusal by the app is not retried.

    Parameters
    ----------
    query, file : str
        The query's name, and the file that declares it.
    """

    operator_extra_links = (StreamLink(), TablesLink())
    part: ClassVar[str] = "ledger"
    """The part of the query's page about the task."""

    job: ClassVar[str]
    """Name of this kind of job, unique among the kinds; it marks the job's processes."""

    app: ClassVar[str]
    """File name of the app, in the directory of the Spark apps."""

    def __init__(self, *, query: str, file: str, **kwargs: Any) -> None:
        super().__init__(conn_id=settings.SPARK, deploy_mode="client", **kwargs)  # so that the fence reaches it
        self.query, self.file = query, file

    @abstractmethod
    def arguments(self, context: Context) -> list[str]:
        """Return the app's arguments besides query file and warehouse; a refusal here fails the task."""

    def execute(self, context: Context) -> None:
        with refusals_fail():
            check_conf(context)
            declared = settings.Declared.read(Path(self.file)).query
            spark_connection.check()
            self.conf = spark_connection.conf(declared.parallelism)
            self._driver_memory = Options.from_params(context["params"]).driver_memory
            warehouse, app_arguments = settings.warehouse(), self.arguments(context)
            connections = passed_connections(declared)
        self.application = str(settings.spark_apps() / self.app)
        self.application_args = [self.file, "--warehouse", str(warehouse), *app_arguments]
        if pids := self._fence():
            self.log.warning("killed what an earlier %s has left: %s", self.job, ", ".join(map(str, pids)))
        os.environ.update(settings.spark_environment() | connections | {self._mark: self._home()})
        try:
            super().execute(context)
        except AirflowException as error:
            if self._process is None:
                raise
            code = self._process.returncode
            failure = AirflowFailException if code == _EXIT_REFUSED else AirflowException
            raise failure(self._last_words() or f"{self.job} ended with exit code {code}") from error
        add_to_events(context, self.outlets, Layout.for_query(warehouse, self.query), self.log.warning)

    def on_kill(self) -> None:
        """Kill spark-submit and all its descendants, since the app's Python would outlive its JVM."""
        super().on_kill()
        self._fence()

    @property
    def _process(self) -> subprocess.Popen[str] | None:
        return None if self._hook is None else self._hook._submit_sp

    def _last_words(self) -> str:
        """Return the app's last output: its refusal or failure, else its last lines."""
        assert self._hook is not None
        lines = self._hook._submit_log_tail.splitlines()[2:]  # after an empty line and a heading
        begins = [number for number, line in enumerate(lines) if line.startswith(_OF_FAILURES)]
        return "\n".join(lines[begins[0] :] if begins else lines[-_LAST_LINES:])

    @property
    def _mark(self) -> str:
        """The environment variable that marks the job's processes; child processes inherit it."""
        return f"TAILRACE_{self.job.upper()}"

    def _fence(self) -> list[int]:
        """Kill every process on this machine of this query's jobs of this kind; return their pids.

        These may be left of a job whose Airflow worker was killed.
        """
        home = self._home()
        return fence.kill(lambda: fence.carrying(self._mark, lambda value: value == home), _KILL_TIMEOUT_S)

    def _home(self) -> str:
        return str(Layout.for_query(settings.warehouse(), self.query).home)
