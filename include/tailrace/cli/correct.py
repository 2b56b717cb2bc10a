"""The command `tailrace correct`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.api.engines import EngineName
from tailrace.cli.arguments import File, Streams, Warehouse
from tailrace.cli.engines import Engine
from tailrace.terminal import screen

if TYPE_CHECKING:
    from tailrace.correction.report import CorrectionReport


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
    with screen.working(f"correcting {range_of(**times).words}"):
        print_report(query.correct(**times, engine=engine))


def print_report(report: CorrectionReport) -> None:
    """Print the report of a correction."""
    screen.work_begins()
    for line in report.lines():
        screen.err.print(line, markup=False, soft_wrap=True)
