"""What waits in the triggerer, where no worker slot is held: for a driver's end, and for the frontier."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from airflow.triggers.base import BaseTrigger, TriggerEvent

from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.liveness import LivenessJudge, Verdict
from tailrace.ground.duration import format_time
from tailrace.orchestration import drivers, settings
from tailrace.storage.layout import Layout

TELL_S = 60.0  # how often a waiting task says how things stand
DRAIN_S, STOP_S = 30.0, 5.0  # with what Airflow takes to call, within a minute
OVER = ("success", "failed", "skipped", "upstream_failed", "removed")
DELETED = "deleted"


class DriverTrigger(BaseTrigger):
    """Watches a query's driver, and fires once, with a `Verdict`.

    Airflow may load it again after its task is over: so it never touches a driver but its own.

    Parameters
    ----------
    query, warehouse : str
        The query's name, and the directory of all tables.
    deployment : str
        Names the driver, through all its restarts; what is deployed later is another watch's.
    poll_s : float
        From look to look.
    hang_after_s, patience_s : float
        How long the driver may be silent, and its host unreachable.
    """

    def __init__(
        self, query: str, warehouse: str, deployment: str, poll_s: float, hang_after_s: float, patience_s: float
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.query, self.warehouse, self.deployment = query, warehouse, deployment
        self.poll_s, self.hang_after_s, self.patience_s = poll_s, hang_after_s, patience_s

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("query", "warehouse", "deployment", "poll_s", "hang_after_s", "patience_s")
        return f"{type(self).__module__}.{type(self).__name__}", {name: getattr(self, name) for name in names}

    @property
    def layout(self) -> Layout:
        return Layout.of(Path(self.warehouse), self.query)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        judge = LivenessJudge(self.hang_after_s, self.patience_s)
        told: tuple[object, float] = (None, -math.inf)
        while True:
            standing, replaced, line = await asyncio.to_thread(self._look)
            now_s, gist = time.monotonic(), None if standing is None else standing.summary
            verdict = replaced or judge.observe(
                standing.driver if standing else None, standing.reported if standing else None, now_s
            )
            if verdict is not None or gist != told[0] or now_s - told[1] >= TELL_S:
                self.log.info(line)
                told = gist, now_s
            if verdict is not None:
                yield TriggerEvent(verdict.as_event())  # type: ignore[no-untyped-call]
                return
            await asyncio.sleep(self.poll_s)

    def _look(self) -> tuple[DriverStatus | None, Verdict | None, str]:
        """Look at the driver: how it stands, or None; a verdict that ends the watch at once; a line for the log.

        The watch outlives whatever goes wrong here.
        """
        try:
            standing = drivers.status(settings.driver_host(), self.layout)
            now = drivers.deployment(self.layout)  # after the look: so what was seen is not of an earlier one
        except Exception as error:
            return None, None, f"{self.query}: the driver host does not answer; a driver that lives goes on: {error}"
        if now != self.deployment:
            return standing, Verdict("replaced", "another driver was deployed"), f"another one was deployed: {standing}"
        return standing, None, str(standing)

    async def on_kill(self) -> None:
        """Drain the driver when the task is over; leave it when the task was cleared, for it comes back.

        Airflow calls this on clear as well, and where another triggerer took the trigger over. It cancels it after a
        second, so all is done in one thread, which goes on. It does not call it at all where the triggerer was down
        meanwhile: the task `drain` sees to that.
        """
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        state = self._task_state()
        if state not in (*OVER, DELETED):
            self.log.info("the driver of %s stays, the task is %s", self.query, state or "to run again")
            return
        self.log.info("the task is %s", state)
        drivers.drain(settings.driver_host(), self.layout, DRAIN_S, STOP_S, self.log.info, self.deployment)

    def _task_state(self) -> str | None:
        ti = self.task_instance
        if ti is None:
            return None
        states = RuntimeTaskInstance.get_task_states(
            dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id], map_index=ti.map_index
        )
        found: str | None = states.get(ti.run_id, {ti.task_id: DELETED}).get(ti.task_id)
        return found


class FrontierTrigger(BaseTrigger):
    """Fires when stream and history have committed up to a point of arrival time.

    Parameters
    ----------
    query, warehouse : str
        The query's name, and the directory of all tables.
    until_ms : int
        The point that is waited for.
    poll_s : float
        From look to look.
    """

    def __init__(self, query: str, warehouse: str, until_ms: int, poll_s: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.query, self.warehouse, self.until_ms, self.poll_s = query, warehouse, until_ms, poll_s

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("query", "warehouse", "until_ms", "poll_s")
        return f"{type(self).__module__}.{type(self).__name__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        layout, told_s = Layout.of(Path(self.warehouse), self.query), -math.inf
        while True:
            there, line = await asyncio.to_thread(_reached_or_why_not, layout, self.until_ms)
            if there:
                self.log.info(line)
                yield TriggerEvent({"until_ms": self.until_ms})  # type: ignore[no-untyped-call]
                return
            if time.monotonic() - told_s >= TELL_S:
                self.log.info("%s; %s", line, await asyncio.to_thread(_driver_line, layout))
                told_s = time.monotonic()
            await asyncio.sleep(self.poll_s)


def _reached_or_why_not(layout: Layout, until_ms: int) -> tuple[bool, str]:
    """As `reached`; but whatever goes wrong, as a disk that is away, the wait outlives it."""
    try:
        return reached(layout, until_ms)
    except Exception as error:
        return False, f"how far the stream of {layout.home.name} has come can't be read: {error}"


def reached(layout: Layout, until_ms: int) -> tuple[bool, str]:
    """Whether stream and history have committed up to a point, and how to say it."""
    from tailrace.storage.progress import Progress  # noqa: PLC0415 (Delta takes long to import, and DAG files import this)

    committed = Progress.read(layout)
    if committed is None or not committed.until:
        return False, f"{layout.home.name} has committed nothing yet; this run waits for {format_time(until_ms)}"
    if committed.ended:
        return True, f"the stream has ended, all of {layout.home.name} is committed"
    there, so_far = committed.until >= until_ms, format_time(committed.until)
    waits = "" if there else f"; this run waits for {format_time(until_ms)}"
    return there, f"the stream has committed up to {so_far}{waits}"


def _driver_line(layout: Layout) -> str:
    try:
        standing = drivers.status(settings.driver_host(), layout)
    except Exception as error:
        return f"the driver host does not answer: {error}"
    return str(standing) if standing.driver.alive else f"no driver runs (trigger stream_{layout.home.name}): {standing}"
