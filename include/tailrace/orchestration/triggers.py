"""Airflow triggers, which wait without a worker slot for a driver's end or the stream's commits."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from airflow.triggers.base import BaseTrigger, TriggerEvent

from tailrace.drivers import driver_lifecycle
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.health_log import HealthLog
from tailrace.drivers.liveness import LivenessJudge, LivenessVerdict
from tailrace.ground.duration import format_time
from tailrace.orchestration import settings
from tailrace.orchestration.alert_watch import AlertWatch
from tailrace.orchestration.driver_metrics import DriverMetrics
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status

TELL_S = 60.0  # interval between lines in the log of a waiting run
DRAIN_S, STOP_S = 30.0, 5.0  # with Airflow's own delay, within a minute
ON_KILL_S = 3.0  # Airflow waits for it meanwhile
OVER = ("success", "failed", "skipped", "upstream_failed", "removed")
DELETED = "deleted"
LONGEST_DOWNTIME_MS = 30 * 86_400_000  # a silent source further behind the wall clock has replayed a past


class DriverTrigger(BaseTrigger):
    """Watches a query's driver and fires once, with a `LivenessVerdict`.

    Airflow may load it again after its task is over, so it only acts on the driver of its deployment.

    Parameters
    ----------
    query, warehouse : str
        The query's name, and the directory of all tables.
    deployment : str
        Name of the driver's deployment, the same through all restarts; a later deployment has its own watch.
    poll_s : float
        Interval between two polls, in s.
    hang_after_s, patience_s : float
        How long the driver may be silent, and its host unreachable, in s.
    file : str
        The file that declares the query, for its alerts.
    """

    def __init__(
        self,
        query: str,
        warehouse: str,
        deployment: str,
        poll_s: float,
        hang_after_s: float,
        patience_s: float,
        file: str,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.query, self.warehouse, self.deployment, self.file = query, warehouse, deployment, file
        self.poll_s, self.hang_after_s, self.patience_s = poll_s, hang_after_s, patience_s

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("query", "warehouse", "deployment", "poll_s", "hang_after_s", "patience_s", "file")
        return f"{type(self).__module__}.{type(self).__name__}", {name: getattr(self, name) for name in names}

    @property
    def layout(self) -> Layout:
        return Layout.for_query(self.warehouse, self.query)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        judge = LivenessJudge(self.hang_after_s, self.patience_s)
        health = HealthLog(self.layout, Path(self.file), self.hang_after_s, self.patience_s)
        alerts = await asyncio.to_thread(self._alert_watch)
        metrics = await asyncio.to_thread(DriverMetrics, self.query, self.log.info)
        while True:
            status, early_verdict, away = await asyncio.to_thread(self._poll)
            now_s = time.monotonic()
            await asyncio.to_thread(metrics.send, status)
            for line in await asyncio.to_thread(health.observe, status, away, now_s):
                (self.log.warning if line.is_warning else self.log.info)(line.text)
            verdict = early_verdict or judge.observe(
                status.driver if status else None, status.reported if status else None, now_s
            )
            if verdict is not None:
                is_wrong = verdict.kind not in ("ended", "replaced")
                (self.log.warning if is_wrong else self.log.info)(f"{self.query}: {verdict.kind}, {verdict.detail}")
                yield TriggerEvent(verdict.as_event())  # type: ignore[no-untyped-call]
                return
            if alerts is not None:
                await asyncio.to_thread(alerts.observe, status)
            await asyncio.sleep(self.poll_s)

    def _alert_watch(self) -> AlertWatch | None:
        """Return the watch over the conditions of alerts; None where the query's file can't be read."""
        try:
            return AlertWatch(Path(self.file), self.layout, self.log.info)
        except Exception as error:
            self.log.info("nobody is notified of alerts, their declaration can't be read: %s", error)
            return None

    def _poll(self) -> tuple[DriverStatus | None, LivenessVerdict | None, str]:
        """Poll the driver once; return its status, a verdict, and the reason for a missing status.

        The verdict ends the watch at once. Status and verdict may be None: the watch survives an error.
        """
        try:
            status = driver_lifecycle.status(settings.driver_host(), self.layout)
            # read after the status, so that the status is not from a later deployment
            deployment = driver_lifecycle.deployment(self.layout)
        except Exception as error:
            return None, None, str(error)
        if deployment != self.deployment:
            return status, LivenessVerdict("replaced", "another driver was deployed"), ""
        return status, None, ""

    async def on_kill(self) -> None:
        """Drain the driver if the task is over; leave it if the task was cleared, since the task then runs again.

        Airflow also calls this on a clear, and when another triggerer has taken over the trigger. It may cancel the
        call after a second, long before a batch ends, so all work is done in a thread that continues after the call.
        Airflow does not call it if the triggerer was down meanwhile; the task `drain` covers that case.
        """
        draining = asyncio.ensure_future(asyncio.to_thread(self._drain_if_over))
        done, _ = await asyncio.wait({draining}, timeout=ON_KILL_S)
        if done:
            draining.result()
        else:
            self.log.info("the driver of %s is still being drained; that goes on", self.query)

    def _drain_if_over(self) -> None:
        state = self._task_state()
        if state not in (*OVER, DELETED):
            self.log.info("the driver of %s stays, the task is %s", self.query, state or "to run again")
            return
        self.log.info("the task is %s", state)
        driver_lifecycle.drain(settings.driver_host(), self.layout, DRAIN_S, STOP_S, self.log.info, self.deployment)

    def _task_state(self) -> str | None:
        ti = self.task_instance
        if ti is None:
            return None
        states = RuntimeTaskInstance.get_task_states(
            dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id], map_index=ti.map_index
        )
        state: str | None = states.get(ti.run_id, {ti.task_id: DELETED}).get(ti.task_id)
        return state


class FrontierTrigger(BaseTrigger):
    """Fires when stream and history have committed up to a point of arrival time.

    Parameters
    ----------
    query, warehouse : str
        The query's name, and the directory of all tables.
    until_ms : int
        This point, in epoch ms.
    poll_s : float
        Interval between two polls, in s.
    """

    def __init__(self, query: str, warehouse: str, until_ms: int, poll_s: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.query, self.warehouse, self.until_ms, self.poll_s = query, warehouse, until_ms, poll_s

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("query", "warehouse", "until_ms", "poll_s")
        return f"{type(self).__module__}.{type(self).__name__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        layout, last_log_s = Layout.for_query(self.warehouse, self.query), -math.inf
        while True:
            is_reached, line = await asyncio.to_thread(_reached_or_error, layout, self.until_ms)
            past_end_ms = None if is_reached else await asyncio.to_thread(_past_end_or_error, layout, self.until_ms)
            if is_reached or past_end_ms is not None:
                self.log.info(line)
                ends = {} if past_end_ms is None else {"past_end_ms": past_end_ms}
                yield TriggerEvent({"until_ms": self.until_ms} | ends)  # type: ignore[no-untyped-call]
                return
            if time.monotonic() - last_log_s >= TELL_S:
                self.log.info("%s; %s", line, await asyncio.to_thread(_driver_line, layout))
                last_log_s = time.monotonic()
            await asyncio.sleep(self.poll_s)


def _reached_or_error(layout: Layout, until_ms: int) -> tuple[bool, str]:
    """Call `reached`; an error, such as a missing disk, counts as not reached, so that the wait survives it."""
    try:
        return reached(layout, until_ms)
    except Exception as error:
        return False, f"how far the stream of {layout.home.name} has come can't be read: {error}"


def reached(layout: Layout, until_ms: int) -> tuple[bool, str]:
    """Return whether stream and history have committed up to a point of arrival time, and a line for the log."""
    from tailrace.storage.opened_tables import OpenedTables  # noqa: PLC0415 (Delta takes long to import, and DAG files import this)
    from tailrace.storage.progress import read_progress  # noqa: PLC0415 (Delta takes long to import, and DAG files import this)

    progress = read_progress(OpenedTables(layout))
    if progress is None or not progress.until:
        return False, f"{layout.home.name} has committed nothing yet; this run waits for {format_time(until_ms)}"
    if progress.ended:
        return True, f"the stream has ended, all of {layout.home.name} is committed"
    is_reached, so_far = progress.until >= until_ms, format_time(progress.until)
    suffix = "" if is_reached else f"; this run waits for {format_time(until_ms)}"
    return is_reached, f"the stream has committed up to {so_far}{suffix}"


def _past_end_or_error(layout: Layout, until_ms: int) -> int | None:
    """Call `past_end`; return None if the status can't be read, so that the wait continues."""
    try:
        return past_end(layout, until_ms)
    except Exception:
        return None


def past_end(layout: Layout, until_ms: int) -> int | None:
    """Return the point (epoch ms) at which a stream's arrival times end; None while later ones may come.

    They end when a past was read to its end: the stream is silent, and so far behind the wall clock that no downtime
    explains it. A stream that is down or busy may still continue.
    """
    status = Status.read(layout)
    if status is None or status.committed is None or status.state != "quiet" or status.rows_left:
        return None
    behind_ms = status.at_ms - status.committed
    if status.committed >= until_ms or behind_ms < LONGEST_DOWNTIME_MS:
        return None
    return status.committed


def _driver_line(layout: Layout) -> str:
    try:
        status = driver_lifecycle.status(settings.driver_host(), layout)
    except Exception as error:
        return f"the driver host does not answer: {error}"
    line = "; ".join([*(problem.partition("\n")[0] for problem in status.problems.values()), status.head])
    return line if status.driver.alive else f"no driver runs (trigger stream_{layout.home.name}): {line}"
