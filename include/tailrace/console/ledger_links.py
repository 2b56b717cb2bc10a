"""Links from the runs of the panel `ledger` to the runs of Airflow's DAGs that made them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from airflow.models import DagRun
from airflow.utils.session import create_session
from sqlalchemy import select

from tailrace.console.airflow_runs import epoch_ms

_DAGS = {"correction": "correct", "calibration": "calibrate"}
_MOST = 2_000  # the newest runs of a DAG that are examined


@dataclass(frozen=True)
class FoundRun:
    """A run of a DAG: its data interval, and the wall-clock times of its start and end; all in ms."""

    run_id: str
    data_from: int | None
    data_to: int | None
    started: int
    ended: int | None

    def made(self, run: dict[str, Any]) -> bool:
        """Test whether a run of the ledger may be from this run, as it began during it."""
        began = run["started_at"]
        return began is not None and self.started <= began and (self.ended is None or began <= self.ended)

    def has_interval(self, run: dict[str, Any]) -> bool:
        """Test whether the data interval equals the ledger's."""
        ours = run["arrived_from"], run["arrived_to"]
        return None not in ours and ours == (self.data_from, self.data_to)


def with_links(query: str, answer: bytes) -> bytes:
    """Add `run_url` to each run in an answer of the panel: a path below Airflow's URL, or null."""
    ledger = json.loads(answer)
    dag_runs = {kind: _runs(f"{prefix}_{query}") for kind, prefix in _DAGS.items()} if ledger["runs"] else {}
    for run in ledger["runs"]:
        made_by = maker(run, dag_runs[run["kind"]])
        dag = f"{_DAGS[run['kind']]}_{query}"
        run["run_url"] = None if made_by is None else f"dags/{dag}/runs/{quote(made_by.run_id, safe='')}"
    return json.dumps(ledger).encode()


def maker(run: dict[str, Any], candidates: Sequence[FoundRun]) -> FoundRun | None:
    """Return the DAG run of a run of the ledger; among several, the one with the same interval."""
    fitting = [each for each in candidates if each.made(run)]
    exact = [each for each in fitting if each.has_interval(run)]
    if exact:
        return exact[0]
    others = [each for each in fitting if each.data_from is None]  # a run with an interval only corrects that interval
    return others[0] if len(others) == 1 else None


def _runs(dag_id: str) -> list[FoundRun]:
    columns = DagRun.run_id, DagRun.data_interval_start, DagRun.data_interval_end, DagRun.start_date, DagRun.end_date
    with create_session() as session:
        rows = session.execute(
            select(*columns)
            .where(DagRun.dag_id == dag_id, DagRun.start_date.is_not(None))
            .order_by(DagRun.start_date.desc())
            .limit(_MOST)
        ).all()
    return [FoundRun(run_id, _ms(low), _ms(high), _ms(start) or 0, _ms(end)) for run_id, low, high, start, end in rows]


def _ms(time: datetime | None) -> int | None:
    return None if time is None else epoch_ms(time)
