"""A database of Airflow's in memory, with the tables of runs and tasks alone, which tests fill as Airflow does."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow.models import DagModel, DagRun, TaskInstance, import_all_models
from airflow.models.base import Base
from airflow.models.xcom import XComModel
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import StaticPool


@dataclass(frozen=True)
class AirflowDatabase:
    """The database; times are milliseconds."""

    engine: Engine

    @staticmethod
    def create() -> AirflowDatabase:
        import_all_models()
        engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
        tables: Any = [model.__table__ for model in (DagModel, DagRun, TaskInstance, XComModel)]
        Base.metadata.create_all(engine, tables)
        return AirflowDatabase(engine)

    def session(self) -> Session:
        """A session, as `create_session` gives it."""
        return Session(self.engine)

    def dag(self, dag_id: str, is_stale: bool = False) -> None:
        """Add a DAG."""
        self._add(
            DagModel,
            dag_id=dag_id,
            is_stale=is_stale,
            bundle_name="dags",
            timetable_type="",
            partition_mapper_info={},
            max_active_tasks=1,
            max_consecutive_failed_dag_runs=0,
            has_task_concurrency_limits=False,
        )

    def run(
        self,
        dag_id: str,
        run_id: str,
        state: str,
        ended: int | None,
        started: int = 0,
        interval: tuple[int, int] | None = None,
        **reasons: str | None,
    ) -> None:
        """Add a run, and its failed tasks with the reasons that they have left; the first of them failed first."""
        began, end = _time(started), None if ended is None else _time(ended)
        number_of_run = self._add(
            DagRun,
            dag_id=dag_id,
            run_id=run_id,
            state=state,
            run_type="manual",
            run_after=began,
            start_date=began,
            end_date=end,
            data_interval_start=None if interval is None else _time(interval[0]),
            data_interval_end=None if interval is None else _time(interval[1]),
            log_template_id=None,
        )
        for number, (task, reason) in enumerate(reasons.items()):
            failed = None if ended is None else _time(ended - len(reasons) + number)
            keys = {"dag_id": dag_id, "run_id": run_id, "task_id": task}
            task_keys = {"id": uuid.uuid4(), "try_number": 1, "pool": "", "pool_slots": 1, "map_index": -1}
            self._add(TaskInstance, **keys, **task_keys, state="failed", end_date=failed)
            if reason is not None:
                self.xcom(dag_id, run_id, task, "reason", reason, number_of_run)

    def xcom(self, dag_id: str, run_id: str, task_id: str, key: str, value: Any, number_of_run: int = 1) -> None:
        """Add a value that a task of a run has left."""
        keys = {"dag_id": dag_id, "run_id": run_id, "task_id": task_id, "key": key}
        self._add(XComModel, **keys, dag_run_id=number_of_run, map_index=-1, value=value)

    def _add(self, model: Any, **values: Any) -> Any:
        """Add a row, and return the first column of its key."""
        with self.engine.begin() as connection:
            return connection.execute(model.__table__.insert().values(**values)).inserted_primary_key[0]


def _time(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)
