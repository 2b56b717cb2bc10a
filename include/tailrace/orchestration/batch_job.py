"""A batch job of a query, by spark-submit, that leaves nothing behind when it is killed."""

from __future__ import annotations

import os
import subprocess
from abc import abstractmethod
from typing import Any, ClassVar

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from tailrace.drivers import fence
from tailrace.orchestration import settings
from tailrace.orchestration.form import check_conf
from tailrace.orchestration.stream_operators import refusals_fail
from tailrace.orchestration.submit import Options
from tailrace.spark import loopback
from tailrace.storage.layout import Layout

_REFUSED = 2
_DEATH_S = 4.0  # Airflow kills the task 5 s after it asked it to end


class BatchJob(SparkSubmitOperator):
    """Runs one of the Spark apps over a query's file and the warehouse; what the app refuses is not tried again.

    Parameters
    ----------
    query, file : str
        The query's name, and the file that declares it.
    """

    job: ClassVar[str]
    """What it is, in a word that no other kind of job has: its processes are known by it."""

    app: ClassVar[str]
    """The app's file."""

    def __init__(self, *, query: str, file: str, **kwargs: Any) -> None:
        super().__init__(conn_id=settings.SPARK, **kwargs)
        self.query, self.file = query, file

    @abstractmethod
    def arguments(self, context: Context) -> list[str]:
        """The app's, beside the file and the warehouse; what is refused here fails the task."""

    def execute(self, context: Context) -> None:
        with refusals_fail():
            check_conf(context)
            self.conf = loopback.conf(settings.spark_master())
            self._driver_memory = Options.of(context["params"]).driver_memory
            warehouse, chosen = settings.warehouse(), self.arguments(context)
        self.application = str(settings.spark_apps() / self.app)
        self.application_args = [self.file, "--warehouse", str(warehouse), *chosen]
        if killed := self._fence():
            self.log.warning("killed what an earlier %s has left: %s", self.job, ", ".join(map(str, killed)))
        os.environ.update(settings.spark_environment() | {self._mark: self._home()})
        try:
            super().execute(context)
        except AirflowException as error:
            if self._process is not None and self._process.returncode == _REFUSED:
                raise AirflowFailException(str(error)) from None
            raise

    def on_kill(self) -> None:
        """Kill spark-submit and all that it started: the Python of the app would outlive its JVM."""
        super().on_kill()
        self._fence()

    @property
    def _process(self) -> subprocess.Popen[str] | None:
        return None if self._hook is None else self._hook._submit_sp

    @property
    def _mark(self) -> str:
        """The environment variable by which the job's processes are known: they pass it on."""
        return f"TAILRACE_{self.job.upper()}"

    def _fence(self) -> list[int]:
        """Kill every process of such a job of this query on this machine, also of one whose worker was killed."""
        home = self._home()
        return fence.kill(lambda: fence.carrying(self._mark, lambda value: value == home), _DEATH_S)

    def _home(self) -> str:
        return str(Layout.of(settings.warehouse(), self.query).home)
