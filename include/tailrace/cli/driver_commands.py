"""The commands on a query's driver: deploy, status, drain, stop, and rebuild, as the DAGs do them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.api.engines import EngineName
from tailrace.cli.arguments import File, FileOrName, Streams, Warehouse
from tailrace.cli.engines import Engine
from tailrace.cli.local_paths import local_path
from tailrace.ground.errors import Busy, Damaged, Refused, refuse
from tailrace.ground.extras import refused_if_missing
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.stream.run_options import BATCH_ROWS
from tailrace.terminal import screen

if TYPE_CHECKING:
    from tailrace.drivers.driver_host import DriverHost
    from tailrace.orchestration.settings import Declared
    from tailrace.storage.layout import Layout

Name = Annotated[str, typer.Argument(help="The name of a declared query.", metavar="QUERY")]
Deadline = Annotated[float, typer.Option(help="Seconds for its batch and its goodbye; then it is stopped.", min=0)]
Wait = Annotated[float, typer.Option(help="Seconds from SIGTERM to SIGKILL.", min=0)]


def deploy(
    query: Name,
    batch_rows: Annotated[int, typer.Option(help="At most so many rows make a batch.", min=1)] = BATCH_ROWS,
    restarts: Annotated[int, typer.Option(help="More restarts than this are a crash loop …", min=0)] = 5,
    within_s: Annotated[int, typer.Option(help="… within so many seconds.", min=1)] = 600,
    driver_memory: Annotated[str, typer.Option(help="Heap of the driver's JVM, from 500m to 999g.")] = "2g",
) -> None:
    """Start the query's driver on the driver host; a driver that lives already stays as it is."""
    from tailrace.drivers import driver_lifecycle
    from tailrace.drivers.edits import in_words
    from tailrace.orchestration.submit import Options, deployed_query, driver_command, environment

    options = Options(batch_rows, restarts, within_s, driver_memory)
    declaration, host, layout = _find(query)
    command = driver_command(declaration, str(layout.home.parent), options)
    asked = deployed_query(declaration, options)
    deployment = driver_lifecycle.deploy(host, layout, command, environment(declaration.query), asked)
    if deployment.not_in_force:
        screen.err.print(f"WARNING: {in_words(layout, deployment.not_in_force)}", markup=False, soft_wrap=True)
    outcome = "made a driver" if deployment.made else "found the driver, it stays as it is"
    screen.out.print(f"{query}: {outcome}, {deployment.driver.state}, pid {deployment.driver.pid}", soft_wrap=True)


def status(
    query: Annotated[
        str | None,
        typer.Argument(help="A query's name, or its file; without it: all of them.", metavar="[FILE|NAME]"),
    ] = None,
    warehouse: Annotated[
        str | None,
        typer.Option(help="Show the streams of this warehouse by what it says itself; no driver host is asked."),
    ] = None,
    wide: Annotated[bool, typer.Option("--wide", help="All columns, however wide.")] = False,
) -> None:
    """Show the state of the query's driver: its process, its last commit, the rows left to read, K, coverage.

    Without a name: a line for each declared query, each query of the warehouse, and each driver. Where there is no
    driver host, it shows what the warehouse itself says: of TAILRACE_WAREHOUSE, else of the folder warehouse here.
    """
    from tailrace.cli.warehouse_status import has_streams, missing_in, print_status

    if query is not None and Path(query).is_file():
        from tailrace.query.loading import load

        query = load(Path(query)).name
    if warehouse is not None:
        print_status(warehouse, query, wide)
        return
    try:
        with refused_if_missing("tailrace status"):
            _print_drivers(query, wide)
    except Refused as refused:
        warehouse = os.environ.get("TAILRACE_WAREHOUSE") or "warehouse"
        if isinstance(refused, Busy | Damaged) or not has_streams(warehouse, None):
            raise
        if not has_streams(warehouse, query):
            raise Refused([*refused.problems, missing_in(warehouse, str(query))]) from None
        why = f"{refused.problems[0].where}: {refused.problems[0].fault}"
        screen.err.print(f"no driver host is asked ({why}); warehouse {warehouse} says:", markup=False, soft_wrap=True)
        print_status(warehouse, query, wide)


def _print_drivers(query: str | None, wide: bool) -> None:
    """Print the status of a query's driver; without a query, a table of all queries and drivers."""
    from tailrace.drivers import driver_lifecycle
    from tailrace.orchestration.overview import overview
    from tailrace.orchestration.stream_notes import stream_notes
    from tailrace.terminal.tables import print_table

    if query is not None:
        host, layout = _find_begun(query)
        status = driver_lifecycle.status(host, layout)
        for problem in status.problems.values():
            screen.out.print(f"WARNING: {query}: {problem}", markup=False, soft_wrap=True)
        for line in (status.head, *status.facts(), *stream_notes(layout, status)):
            screen.out.print(line, markup=False, soft_wrap=True)
        return
    columns, rows, problems = overview()
    print_table(columns, rows, wide)
    for problem in problems:
        screen.err.print(problem, markup=False, soft_wrap=True)


def drain(query: Name, deadline: Deadline = 60.0, wait: Wait = 10.0) -> None:
    """End the query's driver between two batches; what is open stays open, and the next one goes on from there."""
    from tailrace.drivers import driver_lifecycle

    host, layout = _find_begun(query)
    driver_lifecycle.drain(
        host, layout, deadline, wait, lambda line: screen.err.print(line, markup=False, soft_wrap=True)
    )


def stop(query: Name, wait: Wait = 10.0) -> None:
    """End the query's driver by force; the batch that it was at is done again by the next one."""
    from tailrace.drivers import driver_lifecycle

    host, layout = _find_begun(query)
    driver = driver_lifecycle.stop(host, layout, wait)
    screen.out.print(f"{query}: {driver.state}, {driver.detail}", markup=False, soft_wrap=True)


def rescale(
    query: FileOrName,
    tasks: Annotated[int, typer.Argument(help="The number of tasks, from 1 to 64.", metavar="TASKS")],
    warehouse: Warehouse,
    streams: Streams = None,
) -> None:
    """Spread the query's state over another number of tasks, between two batches of its stream and without a restart.

    A stream at rest takes it up with its next run. No answer depends on the number.
    """
    from tailrace.cli.opening import open_named

    opened = open_named(query, streams, warehouse)
    now = opened.rescale(tasks)
    screen.out.print(f"{opened.name}: {tasks} tasks from its next batch on, {now} until then", soft_wrap=True)


def rebuild(
    file: File,
    warehouse: Warehouse,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done; write nothing.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(help="Write what --dry-run says to this file, as JSON.", metavar="PATH", callback=local_path),
    ] = None,
    engine: Engine = EngineName.spark,
    streams: Streams = None,
) -> None:
    """Build a drained query's state again from history: another parallelism, another window, or a lost checkpoint.

    Where the answers stay the same, the tables stay. Else all is answered again, and the old answers are kept aside. It
    comes into force at its end; until then Ctrl-C leaves everything as it was.
    """
    from tailrace.cli.opening import open_query
    from tailrace.terminal.stream_progress import ProgressPrinter

    query = open_query(file, streams, warehouse)
    if report is not None and not dry_run:
        raise refuse("--report", "only a dry run has a report", "--dry-run beside it; or no --report")
    if dry_run:
        lines = query.rebuild(dry_run=True).lines()
        if report is not None:
            write_atomically(report, json.dumps({"lines": lines}))
        for line in lines:
            screen.out.print(line, markup=False, soft_wrap=True)
        return
    with ProgressPrinter() as progress:
        done = query.rebuild(engine=engine, on_batch=progress)
    for line in done.lines():
        screen.err.print(line, markup=False, soft_wrap=True)
    if done.before is not None:
        screen.err.print(f"what was before is in {done.before}, to be removed when you need it no more", soft_wrap=True)


def _find(name: str) -> tuple[Declared, DriverHost, Layout]:
    """Return the declared query, the driver host, and the query's layout."""
    from tailrace.orchestration import settings
    from tailrace.storage.layout import Layout

    settings.use_in_shell()
    declaration = settings.find(name)
    return declaration, settings.driver_host(), Layout.for_query(settings.warehouse(), name)


def _find_begun(name: str) -> tuple[DriverHost, Layout]:
    """Return the driver host and the layout of a query that is declared, or has a stream or a driver.

    Raises
    ------
    Refused
        When none of these is there.
    """
    from tailrace.orchestration import settings
    from tailrace.orchestration.overview import is_begun
    from tailrace.storage.layout import Layout

    settings.use_in_shell()
    try:
        settings.find(name)
    except Refused:
        try:
            begun = is_begun(settings.driver_host(), name)
        except Refused:
            begun = False
        if not begun:
            raise
    return settings.driver_host(), Layout.for_query(settings.warehouse(), name)
