"""The tasks of correct_<query>: wait for the frontier, correct."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Literal

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from tailrace.duration import format_duration, format_time, parse_time_ms
from tailrace.errors import refuse
from tailrace.orchestration import fence, settings
from tailrace.orchestration.operators import POLL_S, StreamOperator, refusals_fail
from tailrace.orchestration.settings import Declared
from tailrace.orchestration.triggers import FrontierTrigger, reached
from tailrace.query import Query
from tailrace.spark.layout import Layout

_REFUSED = 2
_MARK = "TAILRACE_CORRECTION"
_DEATH_S = 4.0  # Airflow kills the task 5 s after it asked it to end
_BY_INTERVAL = ("scheduled", "backfill")
_INTERVAL: tuple[Literal["data_interval_start"], Literal["data_interval_end"]] = (
    "data_interval_start",
    "data_interval_end",
)


def event_range(context: Context) -> tuple[str | None, str | None]:
    """The range of event time of a run by hand, as it was typed; None: unbounded.

    Raises
    ------
    Refused
        When an end is no time. Airflow does not look at that.
    """
    for name in ("from", "to"):
        try:
            parse_time_ms(context["params"][name] or "1970-01-01")
        except ValueError:
            wrong = f"{context['params'][name]!r} is no time"
            raise refuse(name, wrong, "ISO 8601, as 2013-01-02T00:00:00Z; or nothing") from None
    return context["params"]["from"] or None, context["params"]["to"] or None


def span(context: Context, query: Query) -> tuple[int, int] | None:
    """The interval of arrival [a, b) in ms that a run is about; None: it is about a range of event time.

    Its ends are floored to the query's tick, as those of the intervals beside it are: nothing is left out.

    Raises
    ------
    AirflowSkipException
        When the tick is so long that no end of one falls into the interval.
    Refused
        When a scheduled run or a backfill is given a range of event time.
    """
    run, params = context["dag_run"], context["params"]
    if run.run_type not in _BY_INTERVAL:
        return None
    if params["from"] or params["to"]:
        raise refuse(
            "from, to", f"a {run.run_type} run corrects its own interval", "a run triggered by hand, for a range"
        )
    tick = max(query.tick_ms, 1)
    start, end = (parse_time_ms(f"{context[name]}") // tick * tick for name in _INTERVAL)
    if start >= end:
        raise AirflowSkipException(f"no tick of {format_duration(tick)} ends in this interval: the next run has it")
    return start, end


class WaitOperator(StreamOperator):
    """Waits, in the triggerer, until stream and history have committed up to the end of the run's interval."""

    def execute(self, context: Context) -> None:
        with refusals_fail():
            layout, interval = self.layout(), span(context, Declared.read(Path(self.file)).query)
            if interval is None:
                event_range(context)
                self.log.info("a run by hand corrects what is committed, and waits for nothing")
                return
        there, line = reached(layout, interval[1])
        self.log.info(line)
        if not there:
            trigger = FrontierTrigger(self.query, str(layout.home.parent), interval[1], POLL_S)
            self.defer(trigger=trigger, method_name="resume")

    def resume(self, context: Context, event: dict[str, Any]) -> None:
        self.log.info("committed up to %s, the correction begins", format_time(event["until_ms"]))


class CorrectOperator(SparkSubmitOperator):
    """The correction, by spark-submit: of the run's interval, or of a range of event time where it was asked for.

    Parameters
    ----------
    query, file : str
        The query's name, and the file that declares it.
    """

    def __init__(self, *, query: str, file: str, **kwargs: Any) -> None:
        super().__init__(conn_id=settings.SPARK, **kwargs)
        self.query, self.file = query, file

    def execute(self, context: Context) -> None:
        with refusals_fail():
            settings.connection(settings.SPARK)  # the hook would go to YARN where it is missing
            warehouse, interval = settings.warehouse(), span(context, Declared.read(Path(self.file)).query)
            ends = event_range(context) if interval is None else tuple(map(format_time, interval))
        names = ("--from", "--to") if interval is None else ("--arrived-from", "--arrived-to")
        chosen = [word for name, end in zip(names, ends, strict=True) if end for word in (name, end)]
        self.application = str(settings.spark_apps() / "correct.py")
        self.application_args = [self.file, "--warehouse", str(warehouse), *chosen]
        self._driver_memory = context["params"]["driver_memory"]
        if killed := self._fence(_DEATH_S):
            self.log.warning("killed what an earlier correction has left: %s", ", ".join(map(str, killed)))
        os.environ.update(settings.spark_environment() | {_MARK: self._home()})
        try:
            super().execute(context)
        except AirflowException as error:
            if self._process is not None and self._process.returncode == _REFUSED:
                raise AirflowFailException(str(error)) from None
            raise

    @property
    def _process(self) -> subprocess.Popen[str] | None:
        return None if self._hook is None else self._hook._submit_sp

    def on_kill(self) -> None:
        """Kill spark-submit and all that it started: the Python of the app would outlive its JVM."""
        super().on_kill()
        self._fence(_DEATH_S)

    def _fence(self, wait_s: float) -> list[int]:
        """Kill every process of a correction of this query on this machine, also of one whose worker was killed."""
        home = self._home()
        return fence.kill(lambda: fence.carrying(_MARK, lambda value: value == home), wait_s)

    def _home(self) -> str:
        return str(Layout.of(settings.warehouse(), self.query).home)
