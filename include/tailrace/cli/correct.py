"""The command `tailrace correct`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.api.engines import EngineName
from tailrace.cli.arguments import File, Streams, Warehouse
from tailrace.cli.engines import Engine
from tailrace.ground.words import counted, overflow_of
from tailrace.kind.failed_pairs import FailedPairs
from tailrace.terminal import screen

if TYPE_CHECKING:
    from tailrace.correction.correct import CorrectionReport


def correct(
    file: File,
    warehouse: Warehouse,
    start: Annotated[
        str | None, typer.Option("--from", help="Event time, ISO 8601: windows that end after it.", metavar="T")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", help="Event time: windows that start before it.", metavar="T")
    ] = None,
    arrived_from: Annotated[
        str | None, typer.Option(help="Arrival time: what came late from here …", metavar="T")
    ] = None,
    arrived_to: Annotated[str | None, typer.Option(help="… up to here, this end not included.", metavar="T")] = None,
    engine: Engine = EngineName.spark,
    streams: Streams = None,
) -> None:
    """Give windows that late tuples missed their next version, from history. It can be run again, in any order."""
    from tailrace.api.times import range_of
    from tailrace.cli.opening import open_query

    query = open_query(file, streams, warehouse)
    times = {"start": start, "end": end, "arrived_from": arrived_from, "arrived_to": arrived_to}
    correction_range = range_of(**times).words
    with screen.working(f"correcting {correction_range}"):
        print_report(query.correct(**times, engine=engine), correction_range)


def print_report(report: CorrectionReport, correction_range: str) -> None:
    """Print how many answers a correction has changed, and why; the range is in words."""
    screen.work_begins()
    late, given = counted(report.late, "late tuple"), counted(report.answers, "answer")
    counts = f"{report.changed or 0:,} of {given} changed, {report.retracted:,} taken back, {late}"
    if report.repeats:
        counts += f", {counted(report.repeats, 'repeat')} of ids"
    if report.lookups:
        counts += f", looked up in versions {report.lookups}"
    screen.err.print(f"corrected {correction_range}: {counts}", markup=False, soft_wrap=True)
    from tailrace.correction.repeated_ids import NOT_LOOKED_AT

    for contents in report.other_contents or ():
        words = NOT_LOOKED_AT if contents is None else contents.words()
        screen.err.print(words, markup=False, soft_wrap=True)
    if report.overflowed:
        screen.err.print(f"warning: {overflow_of(report.overflowed)}", markup=False, soft_wrap=True)
    if report.where_failed:
        failed = FailedPairs(report.where_failed, report.where_failure)
        screen.err.print(f"warning: {failed.warning}", markup=False, soft_wrap=True)
