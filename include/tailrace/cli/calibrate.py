"""The command `tailrace calibrate`: the accuracy by cache duration, and the slack K (allowed lateness) to propose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from tailrace.cli.readers import File, Streams, Warehouse
from tailrace.ground.duration import format_duration, format_durations
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
    streams: Streams = None,
) -> None:
    """Measure over the newest windows of history how accurate answers are after each of some waits, and propose K."""
    from tailrace.calibration.calibrate import calibrate as measure
    from tailrace.calibration.recent_windows import NotReady
    from tailrace.query.loading import load

    query = load(file, streams)
    try:
        with screen.working(f"calibrating {query.name}"):
            report = measure(query, warehouse, dry_run)
    except NotReady as not_ready:
        if not if_ready:
            raise
        screen.err.print(f"nothing is proposed yet: {not_ready.problems[0].fault}", markup=False, soft_wrap=True)
        return
    screen.out.print(_table(report))
    for line in _lines(report):
        screen.out.print(line, markup=False, soft_wrap=True)


def _table(report: CalibrationReport) -> Table:
    table = Table("duration", "accuracy", "standard error", f"at least {report.promise:g}")
    for column in table.columns[:3]:
        column.justify = "right"
    by_column = any(row.column is not None for row in report.measurements)
    if by_column:
        table.add_column("least accurate")
    durations = format_durations([row.duration_ms for row in report.measurements])
    for row, duration in zip(report.measurements, durations, strict=True):
        prefix = "K in force: " if row.duration_ms == report.k_ms else ""
        verdict = "yes" if row.accuracy >= report.promise else "no"
        least = [row.column or ""] if by_column else []
        table.add_row(f"{prefix}{duration}", f"{row.accuracy:.4f}", f"{row.error:.4f}", verdict, *least)
    return table


def _lines(report: CalibrationReport) -> list[str]:
    k = format_duration(report.next_interval.k_ms)
    if report.proposed is None:
        return [report.evidence, "nothing is proposed: only policy cache_duration takes up what calibrations find"]
    outcome = "proposed" if report.proposed else "would be proposed, and nothing was written"
    return [report.evidence, f"searched {report.interval}, next {report.next_interval}; K = {k} {outcome}"]
