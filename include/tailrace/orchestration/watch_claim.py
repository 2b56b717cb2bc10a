"""The claim of a run of stream_<query> on its stream: one run watches the stream, and others end at once.

The claim names the run, and holds until Airflow says that the run's `supervise` has ended. So it does not matter how a
second run was started, or which of its tasks was cleared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowSkipException

from tailrace.drivers.homes import resolved
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.orchestration.triggers import OVER
from tailrace.storage.layout import Layout

Log = Callable[[str], Any]
"""Called with the line that explains why a run ends."""

_TASK = "supervise"
_LOCK_S = 30.0


def watching_run(layout: Layout) -> str:
    """Return the run that claimed the stream last; empty without one, such as in a copy of the warehouse."""
    try:
        run, _, home = layout.watched_by.read_text().partition("\n")
    except FileNotFoundError:
        return ""
    return run if resolved(home) == resolved(layout.home) else ""


def leave_to_watcher(layout: Layout, context: Context, log: Log) -> None:
    """Skip the task, with a line that names the run, if another run watches the stream.

    Raises
    ------
    AirflowSkipException
        When one does; then no later task runs, and the driver is left alone.
    """
    run = watching_run(layout)
    if not run or run == context["ti"].run_id:
        return
    ti = context["ti"]
    states = ti.get_task_states(dag_id=ti.dag_id, task_ids=[_TASK], run_ids=[run])
    if run in states and states[run].get(_TASK) not in OVER:  # a deleted run has no state
        name = layout.home.name
        message = f"run {run} watches the stream of {name} already: this run ends, and leaves the driver as it is"
        log(message)
        raise AirflowSkipException(message)


def claim(layout: Layout, context: Context, log: Log) -> None:
    """Claim the stream for this run; of two simultaneous claims, one is skipped.

    Raises
    ------
    AirflowSkipException
        When another run watches it.
    """
    with layout.lock("watch", _LOCK_S):
        leave_to_watcher(layout, context, log)
        if watching_run(layout) != context["ti"].run_id:
            layout.stream.mkdir(parents=True, exist_ok=True)
            write_atomically(layout.watched_by, f"{context['ti'].run_id}\n{layout.home}")
