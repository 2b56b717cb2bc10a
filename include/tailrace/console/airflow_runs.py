"""Reads Airflow's database as its own routes do: states of tasks, times and XComs as plain values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from airflow.models import DagRun, TaskInstance
from airflow.utils.session import create_session
from sqlalchemy import and_, func, select

from tailrace.orchestration.triggers import OVER


def task_state(dag_id: str, run_id: str, task_id: str) -> str | None:
    """Return the state of a task of a run; None if there is no such run, or the task has not begun."""
    keys = TaskInstance.dag_id == dag_id, TaskInstance.run_id == run_id, TaskInstance.task_id == task_id
    with create_session() as session:
        state = session.scalar(select(TaskInstance.state).where(*keys))
    return None if state is None else str(state)


def deploying_since(names: Iterable[str]) -> dict[str, int]:
    """Return for queries whose task `deploy` is not over when their deployment began, in epoch ms."""
    dags = {f"stream_{name}": name for name in names}
    deploys = and_(
        TaskInstance.dag_id == DagRun.dag_id,
        TaskInstance.run_id == DagRun.run_id,
        TaskInstance.task_id == "deploy",
        TaskInstance.state.in_(OVER),
    )
    runs = (
        select(DagRun.dag_id, func.max(func.coalesce(DagRun.queued_at, DagRun.created_at)))
        .outerjoin(TaskInstance, deploys)
        .where(DagRun.dag_id.in_(dags), DagRun.state.in_(("queued", "running")), TaskInstance.task_id.is_(None))
        .group_by(DagRun.dag_id)
    )
    with create_session() as session:
        rows = session.execute(runs).all()
    return {dags[dag]: epoch_ms(at) for dag, at in rows}


def epoch_ms(time: datetime) -> int:
    """Return a time of the database in epoch milliseconds; times without a zone are in UTC."""
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def plain_json(value: Any) -> Any:
    """Return the value of an XCom as plain JSON.

    Airflow's own decoder would create objects from values that somebody else may have written.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
