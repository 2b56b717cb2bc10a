"""Reads the newest runs of queries' DAGs from Airflow's database; for failed ones the task and the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal
from urllib.parse import quote

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.models import DagModel, DagRun, TaskInstance
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState, TaskInstanceState
from sqlalchemy import Row, Select, and_, exists, func, select
from sqlalchemy.orm import aliased

from tailrace.console import rights
from tailrace.console.airflow_runs import epoch_ms, plain_json
from tailrace.ground.duration import format_time
from tailrace.orchestration.addresses import DAG_KINDS
from tailrace.orchestration.failure_reason import REASON
from tailrace.panels.panel import Shown

RUNS_OF = {
    "stream": "deployment",
    "correct": "correction",
    "calibrate": "calibration",
    "publish": "publication",
    "rebuild": "rebuild",
}
"""The word for a run of each kind of DAG."""

_ON_STREAMS = tuple(kind for kind in DAG_KINDS if kind != "rebuild")  # an abandoned rebuild needs no attention
_GOING_ON = DagRunState.RUNNING, DagRunState.QUEUED


class LastRun(Shown):
    """The newest ended run of a DAG, or a running one.

    Attributes
    ----------
    tone : str
        `good`: it succeeded; `warn`: it failed, and no later run has succeeded; `bad`: the stream's own run failed, and
        no driver runs; `idle`: it is running, or a later run has succeeded.
    at : int or None
        The time at which it ended; the start of a running one.
    task : str or None
        The first task that failed.
    says : str or None
        The failure in a sentence, which quotes the task's log for users with the right to it.
    page : str
        The path of the failed task's log or of the run, below Airflow's URL.
    """

    kind: str
    state: str
    tone: Literal["good", "warn", "bad", "idle"]
    at: int | None
    task: str | None = None
    says: str | None = None
    page: str


def read_failures(names: Iterable[str], user: BaseUser) -> dict[str, list[LastRun]]:
    """Return the newest runs of queries' DAGs that failed, and the running runs of streams.

    Successful runs are only read for DAGs with a failed run, as Airflow's table has no index by time.
    """
    queries = list(names)
    streams = [f"stream_{name}" for name in queries]
    dags = [f"{kind}_{name}" for kind in _ON_STREAMS for name in queries]
    return _read(dags, [DagRunState.FAILED], streams, user)


def read_all(name: str, user: BaseUser) -> list[LastRun]:
    """Return the newest runs of each of a query's DAGs: running ones, and ended ones."""
    dags = [f"{kind}_{name}" for kind in DAG_KINDS]
    return _read(dags, [DagRunState.FAILED, DagRunState.SUCCESS], dags, user).get(name, [])


def _read(
    dags: Sequence[str], ended: Sequence[DagRunState], going_on: Sequence[str], user: BaseUser
) -> dict[str, list[LastRun]]:
    """Return the runs by query, in the order of the kinds of DAGs; running ones come first."""
    running, over = _rows(_newest_going_on(going_on)), _rows(_newest_ended(dags, ended))
    open_logs = set(rights.readable_dags({row.dag_id for row in over if row.value is not None}, user, rights.RECORDS))
    runs_of: dict[str, dict[tuple[int, bool], LastRun]] = {}
    for row in (*running, *over):
        kind, _, name = row.dag_id.partition("_")
        is_over = row.state not in _GOING_ON
        run = _ended(kind, row, row.dag_id in open_logs) if is_over else _going_on(kind, row)
        runs = runs_of.setdefault(name, {})
        runs.setdefault((DAG_KINDS.index(kind), is_over), run)  # the first of several failed tasks
    return {name: [by_kind[key] for key in sorted(by_kind)] for name, by_kind in runs_of.items()}


def _rows(statement: Select[Any]) -> Sequence[Row[Any]]:
    with create_session() as session:
        return session.execute(statement).all()


def _newest_ended(dags: Sequence[str], states: Sequence[DagRunState]) -> Select[Any]:
    """Return the statement for each DAG's newest run, by its end, among those that ended in one of some states.

    The end counts, as a run may watch a stream for weeks while others come and go. Runs before a success are left out.
    """
    of_dags = DagRun.dag_id.in_(dags), DagRun.state.in_(states)  # in both, or PostgreSQL scans the whole table
    newest = (
        select(DagRun.dag_id, func.max(DagRun.end_date).label("ended"))
        .where(*of_dags)
        .group_by(DagRun.dag_id)
        .subquery()
    )
    later = aliased(DagRun)
    is_over = exists().where(
        later.dag_id == newest.c.dag_id, later.state == DagRunState.SUCCESS, later.end_date > newest.c.ended
    )
    failed = and_(
        TaskInstance.dag_id == DagRun.dag_id,
        TaskInstance.run_id == DagRun.run_id,
        TaskInstance.state == TaskInstanceState.FAILED,
        DagRun.state == DagRunState.FAILED,
    )
    reason = and_(
        XComModel.dag_id == TaskInstance.dag_id,
        XComModel.run_id == TaskInstance.run_id,
        XComModel.task_id == TaskInstance.task_id,
        XComModel.map_index == TaskInstance.map_index,
        XComModel.key == REASON,
    )
    return (
        select(*_OF_RUN, TaskInstance.task_id, TaskInstance.end_date.label("task_ended"), XComModel.value)
        .join(newest, and_(DagRun.dag_id == newest.c.dag_id, DagRun.end_date == newest.c.ended))
        .join(DagModel, and_(DagModel.dag_id == DagRun.dag_id, ~DagModel.is_stale))
        .outerjoin(TaskInstance, failed)
        .outerjoin(XComModel, reason)
        .where(*of_dags, ~is_over)
        .order_by(TaskInstance.end_date)
    )


def _newest_going_on(dags: Sequence[str]) -> Select[Any]:
    newest = select(func.max(DagRun.id)).where(DagRun.dag_id.in_(dags), DagRun.state.in_(_GOING_ON))
    return select(*_OF_RUN).where(DagRun.id.in_(newest.group_by(DagRun.dag_id)))


_BEGUN = func.coalesce(DagRun.start_date, DagRun.queued_at).label("begun")
_OF_RUN = DagRun.dag_id, DagRun.run_id, DagRun.state, DagRun.end_date, _BEGUN


def _going_on(kind: str, row: Row[Any]) -> LastRun:
    at = None if row.begun is None else epoch_ms(row.begun)
    return LastRun(kind=kind, state=str(row.state), tone="idle", at=at, page=_page(row))


def _ended(kind: str, row: Row[Any], may_read_log: bool) -> LastRun:
    at = epoch_ms(row.task_ended or row.end_date)  # a marked run goes on until its drain is over
    if row.state == DagRunState.SUCCESS:
        return LastRun(kind=kind, state=str(row.state), tone="good", at=at, page=_page(row))
    where = "" if row.task_id is None else f", in its task {row.task_id}"
    says = f"the {RUNS_OF[kind]} failed at {format_time(at)}{where}: {_reason(row, may_read_log)}"
    page = _page(row) if row.task_id is None else f"{_page(row)}/tasks/{quote(row.task_id, safe='')}"
    return LastRun(kind=kind, state=str(row.state), tone="warn", at=at, task=row.task_id, says=says, page=page)


def _reason(row: Row[Any], may_read_log: bool) -> str:
    """Return the reason stored by the failed task; like the task's log, it may quote a record."""
    if row.value is None:
        return "it left no reason, as its process was killed, or somebody marked it; see its log"
    return str(plain_json(row.value)) if may_read_log else "its reason is in the task's log"


def _page(row: Row[Any]) -> str:
    return f"dags/{row.dag_id}/runs/{quote(row.run_id, safe='')}"
