"""The DAGs of queries as Airflow's database has them: read in one statement, from tables of Airflow's own models."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from airflow.models import DagModel, DagRun
from airflow.utils.types import DagRunTriggeredByType, DagRunType
from sqlalchemy import create_engine, event
from sqlalchemy.orm import Session

from tailrace.console import airflow_dags
from tailrace.console.airflow_dags import KnownDag, held_up, read_dags


@pytest.fixture
def database(monkeypatch):
    """A database in memory with the tables of DAGs and runs, and the statements that it was asked."""
    engine, statements = create_engine("sqlite://"), []
    for table in ("dag", "dag_run", "log_template"):  # a run takes the newest template
        DagModel.metadata.tables[table].create(engine)

    @contextmanager
    def create_session():
        with Session(engine) as session:
            yield session

    monkeypatch.setattr(airflow_dags, "create_session", create_session)
    event.listen(engine, "before_cursor_execute", lambda _, __, statement, *___: statements.append(statement))
    with Session(engine) as session:
        yield session, statements


def add(session, dag, states=(), **values):
    session.add(DagModel(dag_id=dag, bundle_name="dags", **{"is_paused": False, "is_stale": False} | values))
    for number, state in enumerate(states):
        kind = {"run_type": DagRunType.MANUAL, "triggered_by": DagRunTriggeredByType.TEST}
        now = datetime.now(UTC)
        session.add(DagRun(dag_id=dag, run_id=f"manual__{number}", state=state, run_after=now, **kind))
    session.commit()


def test_the_dags_that_airflow_reads_are_known_by_one_statement(database):
    session, statements = database
    add(session, "stream_a", ("queued", "running", "success", "failed"), is_paused=True, timetable_summary="None")
    add(session, "correct_a", ("success",), timetable_summary="0 * * * *")
    add(session, "stream_gone", ("queued",), is_stale=True)
    add(session, "stream_other")
    statements.clear()
    assert read_dags(["stream_a", "correct_a", "stream_gone", "stream_never"]) == {
        "stream_a": KnownDag(is_paused=True, is_scheduled=False, unfinished=2),
        "correct_a": KnownDag(is_paused=False, is_scheduled=True, unfinished=0),
    }
    assert len(statements) == 1


def test_what_is_not_known_to_be_late_is_no_warning():
    dags = {"correct_q": KnownDag(is_paused=True, is_scheduled=True, unfinished=0)}
    assert held_up("q", dags, None) == held_up("q", dags, 0) == held_up("other", dags, 5) == ()
    (paused,) = held_up("q", dags, 1)
    assert "1 late tuple is in no correction" in paused.says
