"""Which streams are being deployed now, and since when, by the runs that Airflow has on record."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from airflow.models import DagRun, TaskInstance, import_all_models
from sqlalchemy import create_engine, insert
from sqlalchemy.orm import Session

from tailrace.console import airflow_runs

AT = datetime(2027, 1, 15, 8, tzinfo=UTC)
AT_MS = 1_800_000_000_000


@pytest.fixture
def record(monkeypatch):
    """Puts a run of a query's stream on record, with the states of its tasks."""
    import_all_models()
    engine = create_engine("sqlite://")
    DagRun.metadata.create_all(engine, tables=[DagRun.__table__, TaskInstance.__table__])

    @contextmanager
    def session():
        with Session(engine) as opened:
            yield opened

    def put(query: str, state: str, queued_at: datetime | None = AT, **tasks: str | None) -> None:
        with engine.begin() as connection:
            run = {"dag_id": f"stream_{query}", "run_id": f"manual__{uuid.uuid4()}"}
            times = {"queued_at": queued_at, "created_at": AT, "run_after": AT}
            connection.execute(
                insert(DagRun).values(**run, **times, run_type="manual", state=state, log_template_id=None)
            )
            for task, task_state in tasks.items():
                values = {"id": uuid.uuid4(), "task_id": task, "state": task_state, "pool": "", "pool_slots": 1}
                values |= {"try_number": 1, "map_index": -1}
                connection.execute(insert(TaskInstance).values(**run, **values))

    monkeypatch.setattr(airflow_runs, "create_session", session)
    return put


@pytest.mark.parametrize(
    ("state", "tasks", "is_deploying"),
    [
        ("queued", {}, True),
        ("queued", {"check": None, "deploy": None, "supervise": None}, True),
        ("running", {"check": "running", "deploy": None}, True),
        ("running", {"check": "success", "deploy": "running"}, True),
        ("running", {"check": "success", "deploy": "success", "supervise": None}, False),
        ("running", {"check": "failed", "deploy": "upstream_failed"}, False),
        ("running", {"check": "skipped", "deploy": "skipped"}, False),
        ("failed", {"check": "failed", "deploy": None}, False),
        ("success", {}, False),
    ],
)
def test_a_stream_is_deployed_until_that_task_of_its_run_is_over(record, state, tasks, is_deploying):
    record("readings", state, **tasks)
    record("other", "running")
    assert airflow_runs.deploying_since(["readings"]) == ({"readings": AT_MS} if is_deploying else {})


def test_the_newest_run_counts_also_one_that_is_not_queued_yet(record):
    record("readings", "running", AT.replace(hour=7), deploy="success")
    record("readings", "queued", AT.replace(hour=6))
    record("readings", "queued", None)
    assert airflow_runs.deploying_since(["readings", "never"]) == {"readings": AT_MS}
    assert airflow_runs.deploying_since([]) == {}
