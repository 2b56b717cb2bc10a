"""Reads the DAGs of queries in Airflow's database, and the work that waits for paused DAGs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow.models import DagModel, DagRun
from airflow.timetables.simple import NullTimetable
from airflow.utils.session import create_session
from airflow.utils.state import State
from sqlalchemy import and_, func, select

from tailrace.ground.words import counted
from tailrace.panels.panel import Shown

PAUSABLE = {
    "stream": "Its runs that wait begin, and those that had begun go on.",
    "correct": "Its runs that wait begin, and its schedule runs again, from the newest interval on. The intervals that "
    "passed meanwhile stay gaps of the ledger, until a correction without a range takes them.",
}
"""The kinds of DAGs for which work waits while they are paused, and the effect of unpausing one."""

_BY_HAND = NullTimetable().summary


@dataclass(frozen=True)
class KnownDag:
    """A DAG that Airflow now reads from a file; `unfinished` is the number of its queued and running runs."""

    is_paused: bool
    is_scheduled: bool
    unfinished: int


class PausedDag(Shown):
    """A paused DAG for which work waits: `kind` is the prefix of its name, `says` describes the work."""

    kind: str
    dag: str
    says: str


def read_dags(dag_ids: Iterable[str]) -> dict[str, KnownDag]:
    """Read DAGs by their ids, in one statement; leave out stale ones, which Airflow no longer reads."""
    of_dag = and_(DagRun.dag_id == DagModel.dag_id, DagRun.state.in_(State.unfinished_dr_states))
    columns = DagModel.dag_id, DagModel.is_paused, DagModel.timetable_summary
    statement = (
        select(*columns, func.count(DagRun.id))
        .outerjoin(DagRun, of_dag)
        .where(DagModel.dag_id.in_(list(dag_ids)), DagModel.is_stale.is_(False))
        .group_by(*columns)
    )
    with create_session() as session:
        rows = session.execute(statement).all()
    return {dag: KnownDag(paused, plan not in (None, _BY_HAND), unfinished) for dag, paused, plan, unfinished in rows}


def held_up(name: str, dags: dict[str, KnownDag], uncorrected: int | None) -> tuple[PausedDag, ...]:
    """Return the paused DAGs of a query for which work waits.

    Parameters
    ----------
    uncorrected : int or None
        The number of late tuples that no correction covers; None if it is unknown.
    """
    paused = {kind: dags[f"{kind}_{name}"] for kind in PAUSABLE if f"{kind}_{name}" in dags}
    waiting = {kind: _waiting(dag, uncorrected if kind == "correct" else 0) for kind, dag in paused.items()}
    return tuple(
        PausedDag(kind=kind, dag=f"{kind}_{name}", says=f"{kind}_{name} is paused: {what}, until it is unpaused.")
        for kind, what in waiting.items()
        if what and paused[kind].is_paused
    )


def _waiting(dag: KnownDag, uncorrected: int | None) -> str:
    """Return in words the work that waits for a paused DAG; empty if none waits."""
    parts = []
    if uncorrected:
        verb = "is" if uncorrected == 1 else "are"
        parts.append(f"{counted(uncorrected, 'late tuple')} {verb} in no correction, and none comes by schedule")
    if dag.unfinished:
        verb = "neither begins nor ends" if dag.unfinished == 1 else "neither begin nor end"
        parts.append(f"{counted(dag.unfinished, 'run')} {verb}")
    return "; ".join(parts)
