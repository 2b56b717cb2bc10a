"""Reads Airflow's database as its own routes do: states of tasks, times and XComs as plain values."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from airflow.models import TaskInstance
from airflow.utils.session import create_session
from sqlalchemy import select


def task_state(dag_id: str, run_id: str, task_id: str) -> str | None:
    """Return the state of a task of a run; None where there is no such run, or the task has not begun."""
    keys = TaskInstance.dag_id == dag_id, TaskInstance.run_id == run_id, TaskInstance.task_id == task_id
    with create_session() as session:
        state = session.scalar(select(TaskInstance.state).where(*keys))
    return None if state is None else str(state)


def epoch_ms(time: datetime) -> int:
    """Return a time of the database in epoch milliseconds; one without a zone is UTC."""
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def plain_json(value: Any) -> Any:
    """Return the value of an XCom as plain JSON.

    Airflow's decoder makes objects of values, which somebody else may have written.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
