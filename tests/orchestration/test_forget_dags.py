"""The history of some DAGs is deleted from a real database of Airflow's, and other DAGs keep theirs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tailrace.embedded.embedded_airflow import EmbeddedAirflow
from tailrace.embedded.forget_dags import forget_dags

pytestmark = [pytest.mark.slow, pytest.mark.needs("airflow")]

# A killed demonstration's: a run, and a task that Airflow takes for running; and runs of a stream of somebody's own.
ADD = """
from airflow.models import DagModel, DagRun, TaskInstance
from airflow.models.dagbundle import DagBundleModel
from airflow.utils.session import create_session
from airflow.utils.types import DagRunTriggeredByType, DagRunType
from datetime import UTC, datetime

with create_session() as session:
    session.add(DagBundleModel(name="dags"))
    session.flush()
    for dag in ("stream_flights", "stream_mine"):
        session.add(DagModel(dag_id=dag, bundle_name="dags", relative_fileloc="streams.py", is_paused=False))
        session.flush()
        session.add(DagRun(dag_id=dag, run_id="manual", run_type=DagRunType.MANUAL, state="running",
                           run_after=datetime.now(UTC), triggered_by=DagRunTriggeredByType.TEST))
"""
LIST = """
from airflow.models import DagRun
from airflow.utils.session import create_session
with create_session() as session:
    print("runs:", sorted((run.dag_id, run.run_id) for run in session.query(DagRun)))
"""


@pytest.fixture
def airflow(tmp_path):
    airflow = EmbeddedAirflow(tmp_path / "airflow", tmp_path / "dags", {})
    airflow.directory.mkdir()
    return airflow


def run(airflow: EmbeddedAirflow, *arguments: str) -> str:
    environment = os.environ | airflow.environment
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=airflow.directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_runs_of_some_dags_are_deleted_and_others_stay(airflow):
    run(airflow, "-m", "airflow", "db", "migrate")
    run(airflow, "-c", ADD)
    forget_dags(airflow, ["stream_flights", "correct_flights"])
    assert "runs: [('stream_mine', 'manual')]" in run(airflow, "-c", LIST)


def test_an_airflow_that_never_ran_has_nothing_to_forget(airflow):
    forget_dags(airflow, ["stream_flights"])
    assert list(airflow.directory.iterdir()) == []


def test_a_database_that_cannot_be_read_is_said(airflow):
    (airflow.directory / "airflow.db").write_text("no database" * 100)
    with pytest.raises(RuntimeError, match="the runs of an earlier demonstration could not be deleted"):
        forget_dags(airflow, ["stream_flights"])
