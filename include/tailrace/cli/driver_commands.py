"""The commands on a query's driver: deploy, status, drain, stop, as the DAGs do them; and rebuild, without one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.cli.engines import Engine, EngineName, rebuild_on
from tailrace.cli.readers import File, Streams, Warehouse
from tailrace.ground.errors import Refused
from tailrace.ground.words import counted
from tailrace.stream.run_options import BATCH_ROWS
from tailrace.terminal import screen

if TYPE_CHECKING:
    from tailrace.drivers.driver_host import DriverHost
    from tailrace.orchestration.settings import Declared
    from tailrace.storage.layout import Layout
    from tailrace.stream.planned_rebuild import Rebuild

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
    """Get the query's driver on the driver host, or make it: there is only ever one."""
    from tailrace.orchestration import driver_lifecycle
    from tailrace.orchestration.edits import in_words
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
        str | None, typer.Argument(help="The name of a query; without it: all of them.", metavar="[QUERY]")
    ] = None,
    wide: Annotated[bool, typer.Option("--wide", help="All columns, however wide.")] = False,
) -> None:
    """Say how the query's driver stands: its process, its last commit, what it has still to read, K, coverage.

    Without a name: a line for each declared query, each query of the warehouse, and each driver.
    """
    from tailrace.orchestration import driver_lifecycle, edits, settings
    from tailrace.orchestration.overview import overview
    from tailrace.terminal.tables import print_table

    if query is not None:
        host, layout = _find_begun(query)
        status = driver_lifecycle.status(host, layout)
        for problem in status.problems.values():
            screen.out.print(f"WARNING: {query}: {problem}", markup=False, soft_wrap=True)
        for line in (status.head, *status.facts()):
            screen.out.print(line, markup=False, soft_wrap=True)
        with suppress(Refused):  # it is not declared any more
            if status.driver.alive and (warning := edits.warning(layout, settings.find(query).file)):
                screen.out.print(f"WARNING: {warning}", markup=False, soft_wrap=True)
        return
    columns, rows, problems = overview()
    print_table(columns, rows, wide)
    for problem in problems:
        screen.err.print(problem, markup=False, soft_wrap=True)


def drain(query: Name, deadline: Deadline = 60.0, wait: Wait = 10.0) -> None:
    """End the query's driver between two batches; what is open stays open, and the next one goes on from there."""
    from tailrace.orchestration import driver_lifecycle

    host, layout = _find_begun(query)
    driver_lifecycle.drain(
        host, layout, deadline, wait, lambda line: screen.err.print(line, markup=False, soft_wrap=True)
    )


def stop(query: Name, wait: Wait = 10.0) -> None:
    """End the query's driver by force; the batch that it was at is done again by the next one."""
    from tailrace.orchestration import driver_lifecycle

    host, layout = _find_begun(query)
    driver = driver_lifecycle.stop(host, layout, wait)
    screen.out.print(f"{query}: {driver.state}, {driver.detail}", markup=False, soft_wrap=True)


def rebuild(
    file: File,
    warehouse: Warehouse,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done; write nothing.")] = False,
    engine: Engine = EngineName.spark,
    streams: Streams = None,
) -> None:
    """Build a drained query's state again from history: another parallelism, another window, or a lost checkpoint.

    Where the answers stay the same, the tables stay. Else all is answered again, and the old answers are kept aside. It
    comes into force at its end; until then Ctrl-C leaves everything as it was.
    """
    from tailrace.ground.object_path import on_disk
    from tailrace.query.loading import load, located
    from tailrace.storage.layout import Layout
    from tailrace.stream.rebuild import plan_rebuild
    from tailrace.terminal.stream_progress import StreamProgress

    query = load(file, streams)
    layout = Layout.of(warehouse, query.name)
    if dry_run:
        with located(file, streams):
            planned = plan_rebuild(query, layout, file)
        for line in _lines(planned):
            screen.out.print(line, markup=False, soft_wrap=True)
        return
    with located(file, streams), StreamProgress() as progress:
        done = rebuild_on(engine)(query, warehouse, file, progress)
    if done is None:
        screen.err.print("what an earlier rebuild had built is in force now; nothing else was rebuilt")
        return
    for line in _lines(done):
        screen.err.print(line, markup=False, soft_wrap=True)
    aside = max((on_disk(layout.home) / "_before").iterdir(), key=lambda path: int(path.name))
    screen.err.print(f"what was before is in {aside}, to be removed when you need it no more", soft_wrap=True)


def _find(name: str) -> tuple[Declared, DriverHost, Layout]:
    """Return the declared query, the driver host, and the query's layout."""
    from tailrace.orchestration import settings
    from tailrace.storage.layout import Layout

    settings.use_in_shell()
    declaration = settings.find(name)
    return declaration, settings.driver_host(), Layout.of(settings.warehouse(), name)


def _find_begun(name: str) -> tuple[DriverHost, Layout]:
    """Return the driver host and a query's layout; the query is declared, or has a stream or a driver.

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
    return settings.driver_host(), Layout.of(settings.warehouse(), name)


def _lines(planned: Rebuild) -> list[str]:
    """Describe a rebuild in words."""
    changes = [
        f"{name}: {'not set' if before is None else before} → {'not set' if after is None else after}"
        for name, (before, after) in planned.changed.items()
    ]
    outcome = (
        "everything is answered again; results, late tuples, facts, corrections and qualities begin again, and the old "
        "ones are kept aside"
        if planned.answers_anew
        else "a new checkpoint; all answers and corrections stay as they are"
    )
    rows, batches = counted(planned.rows, "row"), counted(planned.batches, "batch", "batches")
    return [*changes, outcome, f"{rows} in {batches}, {planned.stored_rows:,} of them from history"]
