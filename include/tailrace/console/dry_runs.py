"""Reads the newest dry run of a query's calibration or rebuild, which its task has stored in an XCom.

Reading it needs Airflow's right to the XComs of that DAG.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from sqlalchemy import select

from tailrace.calibration.acceptance import is_of, misfit, report_of
from tailrace.calibration.report import CalibrationReport
from tailrace.console import rights
from tailrace.console.airflow_runs import epoch_ms, plain_json
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.ground.duration import format_duration, format_durations
from tailrace.ground.errors import Refused
from tailrace.orchestration.addresses import REPORT
from tailrace.panels.panel import Shown
from tailrace.panels.query_view import QueryView
from tailrace.query.loading import load
from tailrace.storage.checkpoint import readable
from tailrace.storage.proposals import Proposals

_MOST_LINES, _LONGEST = 120, 400  # a calibration measures at most 100 durations


class DryRun(Shown):
    """The result of the newest dry run of an action; `run` is the path of its run's page, below Airflow's URL."""

    run_id: str
    at: int
    lines: list[str]
    run: str


@dataclass(frozen=True)
class StoredReport:
    """The report of a dry run as stored in Airflow's database; `at` is the time of writing, ms."""

    dag_id: str
    run_id: str
    at: int
    value: Any

    def shown(self, lines: list[str]) -> DryRun:
        """Return it for a page, with its result in lines."""
        run = f"dags/{self.dag_id}/runs/{quote(self.run_id, safe='')}"
        cut = [line[:_LONGEST] for line in lines[:_MOST_LINES]]
        return DryRun(run_id=self.run_id, at=self.at, lines=cut, run=run)


@dataclass(frozen=True)
class Acceptable:
    """A dry run of a calibration: its measurements, and the reason why its K can't be accepted, or None."""

    stored: StoredReport
    report: CalibrationReport | None
    why_not: str | None

    @property
    def k(self) -> str:
        """The K that it would propose."""
        return "" if self.report is None else format_duration(self.report.next_interval.k_ms)

    @property
    def shown(self) -> DryRun:
        """The dry run for a page."""
        lines = [] if self.report is None else _measured(self.report)
        return self.stored.shown(
            [*lines, *([] if self.why_not is None else [f"It can't be accepted: {self.why_not}."])]
        )


def of_rebuild(name: str, user: BaseUser) -> DryRun | None:
    """Return the newest dry run of a query's rebuild; None without one, or if the user may not read it."""
    stored = _newest(f"rebuild_{name}", "rebuild", user)
    if stored is None:
        return None
    lines = stored.value.get("lines") if isinstance(stored.value, dict) else None
    return stored.shown([str(line) for line in lines] if isinstance(lines, list) else ["its report can't be read"])


def of_calibration(view: QueryView, user: BaseUser) -> Acceptable | None:
    """Return the newest dry run of a query's calibration; None without one, or if the user may not read it."""
    stored = _newest(f"calibrate_{view.name}", "calibrate", user)
    if stored is None:
        return None
    report = None
    try:
        report = report_of(stored.value, f"run {stored.run_id}")
        return Acceptable(stored, report, _why_not(view, report))
    except (Refused, OSError) as error:  # a table may be damaged, or the disk away; the other actions are still shown
        fault = error.problems[0].fault if isinstance(error, Refused) else str(error)
        return Acceptable(stored, report, fault)


def _why_not(view: QueryView, report: CalibrationReport) -> str | None:
    if view.file is None:
        return "the query's file is gone"
    query = load(view.file)
    manifest = readable(view.tables, query)
    if not isinstance(query.policy, CacheDuration):
        return f"the policy {query.policy.policy} takes no proposal"
    if manifest is None:
        return "the query has no stream here any more"
    newest = Proposals(view.layout).newest(query.policy)
    if newest is not None and is_of(newest, report):
        return "its K is proposed already"
    return misfit(report, query, manifest.id, newest)


def _measured(report: CalibrationReport) -> list[str]:
    durations = format_durations([row.duration_ms for row in report.measurements])
    rows = (
        f"{duration}: {row.accuracy:.4f} ± {row.error:.4f}{row.of_column}"
        f"{', enough' if row.accuracy >= report.promise else ''}"
        for duration, row in zip(durations, report.measurements, strict=True)
    )
    return [report.evidence, *rows]


def _newest(dag_id: str, task_id: str, user: BaseUser) -> StoredReport | None:
    if not rights.may(user, "GET", dag_id, DagAccessEntity.XCOM):
        return None
    return _newest_stored(dag_id, task_id)


def _newest_stored(dag_id: str, task_id: str) -> StoredReport | None:
    keys = XComModel.dag_id == dag_id, XComModel.task_id == task_id, XComModel.key == REPORT
    with create_session() as session:
        row = session.scalar(select(XComModel).where(*keys).order_by(XComModel.timestamp.desc()).limit(1))
        if row is None:
            return None
        return StoredReport(dag_id, row.run_id, epoch_ms(row.timestamp), plain_json(row.value))
