"""The command `tailrace calibrate`: the accuracy by cache duration, and the slack K (allowed lateness) to propose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from tailrace.cli.arguments import File, Streams, Warehouse
from tailrace.cli.local_paths import local_path
from tailrace.ground.duration import format_durations
from tailrace.ground.errors import refuse
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.terminal import screen

if TYPE_CHECKING:
    from tailrace.calibration.report import CalibrationReport


def calibrate(
    file: File,
    warehouse: Warehouse,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what was measured; write nothing.")] = False,
    if_ready: Annotated[
        bool, typer.Option("--if-ready", help="Where there is too little of the past yet, be content with that.")
    ] = False,
    report_file: Annotated[
        Path | None,
        typer.Option(
            "--report", help="Write what was measured to this file, as JSON.", metavar="PATH", callback=local_path
        ),
    ] = None,
    accepted: Annotated[
        Path | None,
        typer.Option(
            "--accept",
            help="Propose what a dry run's report has; measure nothing.",
            metavar="REPORT",
            callback=local_path,
        ),
    ] = None,
    accepted_as: Annotated[
        str | None, typer.Option("--accepted-as", help="The name of REPORT in messages.", hidden=True)
    ] = None,
    streams: Streams = None,
) -> None:
    """Measure over the newest windows of history how accurate answers are after each of some waits, and propose K."""
    from tailrace.calibration.acceptance import accept, read_report, to_json
    from tailrace.calibration.recent_windows import NotReady
    from tailrace.cli.opening import open_query

    query = open_query(file, streams, warehouse)
    if accepted is not None:
        if dry_run or report_file is not None:
            other = "--dry-run" if dry_run else "--report"
            raise refuse(f"--accept, {other}", "--accept measures nothing, and proposes", "one of them")
        where = accepted_as or str(accepted)
        _print(accept(query.declared, warehouse, read_report(accepted, where), where))
        return
    try:
        with screen.working(f"calibrating {query.name}"):
            report = query.calibrate(dry_run=dry_run)
    except NotReady as not_ready:
        if not if_ready:
            raise
        screen.err.print(f"nothing is proposed yet: {not_ready.problems[0].fault}", markup=False, soft_wrap=True)
        return
    if report_file is not None:
        write_atomically(report_file, to_json(report))
    _print(report)


def _print(report: CalibrationReport) -> None:
    screen.work_begins()
    screen.out.print(_table(report))
    for line in report.lines():
        screen.out.print(line, markup=False, soft_wrap=True)


def _table(report: CalibrationReport) -> Table:
    table = Table("duration", "accuracy", "standard error", f"at least {report.promise:g}")
    for column in table.columns[:3]:
        column.justify = "right"
    by_column = any(row.column is not None for row in report.measurements)
    if by_column:
        table.add_column("least accurate")
    has_cost = any(row.cost is not None for row in report.measurements)
    if has_cost:
        table.add_column("cost a window", justify="right")
    durations = format_durations([row.duration_ms for row in report.measurements])
    for row, duration in zip(report.measurements, durations, strict=True):
        prefix = "K in force: " if row.duration_ms == report.k_ms else ""
        verdict = "yes" if row.accuracy >= report.promise else "no"
        cost = ["" if row.cost is None else f"{row.cost:.4g}"] if has_cost else []
        least = [row.column or ""] if by_column else []
        table.add_row(f"{prefix}{duration}", f"{row.accuracy:.4f}", f"{row.error:.4f}", verdict, *least, *cost)
    return table
