"""The commands on a query's driver: deploy, status, drain, stop. They do the same as the DAGs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.engine.batch_header import BATCH_ROWS
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
    """Get the query's driver on the driver host, or make it: there is only ever one."""
    from tailrace.orchestration import drivers
    from tailrace.orchestration.submit import Options, driver_command, environment

    options = Options(batch_rows, restarts, within_s, driver_memory)
    declaration, host, layout = _find(query)
    manifest = layout.manifest()
    if manifest is not None:
        layout.require_same(manifest, declaration.query.structure())
    command = driver_command(declaration, layout.home.parent, options)
    deployment = drivers.deploy(host, layout, command, environment())
    outcome = "made a driver" if deployment.made else "found the driver, it stays as it is"
    screen.out.print(f"{query}: {outcome}, {deployment.driver.state}, pid {deployment.driver.pid}", soft_wrap=True)


def status(query: Name) -> None:
    """Say how the query's driver stands: its process, its last commit, what it has still to read, K, coverage."""
    from tailrace.orchestration import drivers

    _, host, layout = _find(query)
    screen.out.print(str(drivers.status(host, layout)), markup=False, soft_wrap=True)


def drain(query: Name, deadline: Deadline = 60.0, wait: Wait = 10.0) -> None:
    """End the query's driver between two batches; what is open stays open, and the next one goes on from there."""
    from tailrace.orchestration import drivers

    _, host, layout = _find(query)
    drivers.drain(host, layout, deadline, wait, lambda line: screen.err.print(line, markup=False, soft_wrap=True))


def stop(query: Name, wait: Wait = 10.0) -> None:
    """End the query's driver by force; the batch that it was at is done again by the next one."""
    from tailrace.orchestration import drivers

    _, host, layout = _find(query)
    driver = drivers.stop(host, layout, wait)
    screen.out.print(f"{query}: {driver.state}, {driver.detail}", markup=False, soft_wrap=True)


def _find(name: str) -> tuple[Declared, DriverHost, Layout]:
    """The declared query, the driver host, and the query's layout."""
    from tailrace.orchestration import settings
    from tailrace.storage.layout import Layout

    settings.use_in_shell()
    declaration = settings.find(name)
    return declaration, settings.driver_host(), Layout.of(settings.warehouse(), name)
