"""Reads the states of runs from Airflow's database, as its own routes do."""

from __future__ import annotations

from airflow.models import TaskInstance
from airflow.utils.session import create_session
from sqlalchemy import select


def task_state(dag_id: str, run_id: str, task_id: str) -> str | None:
    """Return the state of a task of a run; None where there is no such run, or the task has not begun."""
    keys = TaskInstance.dag_id == dag_id, TaskInstance.run_id == run_id, TaskInstance.task_id == task_id
    with create_session() as session:
        state = session.scalar(select(TaskInstance.state).where(*keys))
    return None if state is None else str(state)
