"""The command `tailrace run`."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.api.engines import EngineName
from tailrace.cli.arguments import File, Streams, Warehouse
from tailrace.cli.correct import print_report
from tailrace.cli.engines import Engine
from tailrace.stream.run_options import BATCH_ROWS
from tailrace.terminal import screen

if TYPE_CHECKING:
    from tailrace.api.run import Run


def run(
    file: File,
    warehouse: Warehouse,
    input: Annotated[
        list[str] | None, typer.Option(help="Read a stream from elsewhere.", metavar="STREAM=PATH")
    ] = None,
    bounded: Annotated[bool, typer.Option("--bounded", help="End at the end of the input.")] = False,
    keep_open: Annotated[
        bool, typer.Option("--keep-open", help="End without closing what is open; a later run goes on.")
    ] = False,
    correct: Annotated[bool, typer.Option("--correct", help="Then correct all of it.")] = False,
    batch_rows: Annotated[
        int, typer.Option(help="At most so many rows make a batch; no answer depends on it.", min=1)
    ] = BATCH_ROWS,
    engine: Engine = EngineName.spark,
    streams: Streams = None,
    deployed: Annotated[
        str | None, typer.Option(help="Run the copy of FILE with which this query was deployed.", hidden=True)
    ] = None,
) -> None:
    """Run a query in the foreground: live, or --bounded. Ctrl-C stops it; the next run goes on, on either engine."""
    from tailrace.api.query import Query
    from tailrace.cli.inputs import with_inputs
    from tailrace.cli.opening import open_query
    from tailrace.query.chain import chain_of
    from tailrace.storage.deployed import DeployedQuery
    from tailrace.storage.deployment import await_deployment
    from tailrace.storage.layout import Layout
    from tailrace.stream.opening_lines import awaited, lines_about_times
    from tailrace.stream.written_answers import noting_written
    from tailrace.terminal.stream_progress import ProgressPrinter

    if deployed is None:
        query = open_query(file, streams, warehouse)
        chain_of(query.declared, file)  # two live queries that wait for each other would never begin
    else:
        layout = Layout.for_query(warehouse, deployed)
        declared = await_deployment(layout.home, lambda: DeployedQuery.read(layout)).query()
        query = Query(declared, file, streams, place=warehouse, names_options=True)
    query = replace(query, declared=with_inputs(query.declared, input or []))
    query.require_runnable(bounded, keep_open, correct, engine)
    if not bounded and deployed is None:
        for line in awaited(query.declared):
            screen.err.print(line, markup=False, soft_wrap=True)
    with ProgressPrinter(lambda: lines_about_times(query.declared, query.layout), is_live=not bounded) as progress:
        ended = query.run(
            engine=engine, bounded=bounded, keep_open=keep_open, batch_rows=batch_rows, strict=False, on_batch=progress
        )
    with noting_written(ended.layout):
        _print_ended(ended, warehouse, is_corrected_next=correct or deployed is not None)  # a deployed query's DAG does
        if correct and ended.has_begun:
            with screen.working("correcting"):
                print_report(ended.correct(engine=engine))
    if ended.summary.failed:
        screen.err.print("[bold red]failed[/] none of the records that were read was accepted")
        raise typer.Exit(1)


def _print_ended(ended: Run, warehouse: str, is_corrected_next: bool) -> None:
    """Print the accepted and rejected records of a run, with the commands about these."""
    screen.work_begins()
    for line in ended.lines(is_corrected_next):
        screen.err.print(line, markup=False, soft_wrap=True)
    if ended.summary.rejections.records:
        command = f"tailrace quarantine {ended.name} --warehouse {shlex.quote(warehouse)}"
        screen.err.print(f"the rejected records: {command}", markup=False, soft_wrap=True)
