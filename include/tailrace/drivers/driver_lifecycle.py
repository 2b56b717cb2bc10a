"""Operations on a query's driver, for DAGs and the command line: deploy, status, drain, stop."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from tailrace.drivers.driver_host import Driver, DriverHost
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.edits import not_in_force
from tailrace.drivers.homes import deployed_program, program_of
from tailrace.drivers.launch import reset_restarts
from tailrace.ground.errors import Busy, Problem
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.polling import polls
from tailrace.query.differences import Difference
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.deployment import DEPLOYMENT, deployment_file
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status, wall_ms

LAST_LINES = 30
POLL_S = 0.5
GOING_S = 90.0  # how long a deployment waits for a draining driver
_LOCK_S = 300.0  # longer than the lock's holder needs to wait for a drain, to fence, and to deploy
_FENCE_S = 150.0  # longer than a fence waits for killed processes, and for applications on a platform, to end


@dataclass(frozen=True)
class Deployed:
    """Result of `deploy`.

    Attributes
    ----------
    made : bool
        Whether this call created the driver.
    not_in_force : list of Difference
        The settings in which a living driver differs from the requested ones.
    deployment : str
        Name of the deployment, the same through all restarts; each created driver gets a new one.
    """

    driver: Driver
    made: bool
    deployment: str
    not_in_force: list[Difference] = field(default_factory=list)


def status(host: DriverHost, layout: Layout) -> DriverStatus:
    """Return the status of a query's driver, from its host and its own status file."""
    return DriverStatus(inspect(host, layout), Status.read(layout), wall_ms())


def inspect(host: DriverHost, layout: Layout) -> Driver:
    """Return the state of a query's driver from its host; ignore another warehouse's driver of the same name."""
    return host.inspect(program_of(host, layout.home))


def deploy(
    host: DriverHost,
    layout: Layout,
    command: Sequence[str],
    environment: Mapping[str, str],
    query: DeployedQuery | None = None,
) -> Deployed:
    """Return the query's only driver: the live one, or a new one with a new count of restarts (idempotent).

    It waits for a draining driver. The deployment's name is written before the driver is created, so that the next call
    finds the driver even if this caller dies.

    Parameters
    ----------
    query : DeployedQuery, optional
        The copy that a new driver runs; by default the recorded one. A living driver keeps its own.
    """
    require_at_hand(host, layout)
    with exclusive_access(layout):
        return get_or_create(host, layout, command, environment, query)


def exclusive_access(layout: Layout) -> AbstractContextManager[Any]:
    """Return the lock under which a process deploys or replaces a query's driver."""
    layout.stream.mkdir(parents=True, exist_ok=True)
    return layout.lock("deploy", _LOCK_S)


def get_or_create(
    host: DriverHost,
    layout: Layout,
    command: Sequence[str],
    environment: Mapping[str, str],
    query: DeployedQuery | None = None,
) -> Deployed:
    """Deploy like `deploy`, for a caller that holds the lock `exclusive_access`."""
    name = layout.home.name
    require_at_hand(host, layout)
    driver = inspect(host, layout)
    for _ in polls(GOING_S, POLL_S):
        driver = inspect(host, layout)
        if not (driver.alive and layout.drain.exists()):
            break
    if driver.alive and layout.drain.exists():
        raise Busy([Problem(name, f"its driver still drains after {GOING_S:.0f} s", "to stop it, or to wait")])
    if driver.alive:
        return Deployed(driver, False, deployment(layout), not_in_force(layout, query) if query else [])
    new_name = secrets.token_hex(8)
    write_atomically(deployment_file(layout.home), new_name)  # first, so that a drain of the old one stops requesting
    reset_restarts(layout.home, time.time())
    layout.drain.unlink(missing_ok=True)
    if query is not None:
        query.write(layout)
    program = host.deploy(program_of(host, layout.home), command, {**environment, DEPLOYMENT: new_name})
    return Deployed(program, True, deployment(layout))


def is_away(host: DriverHost, layout: Layout) -> bool:
    """Return whether the warehouse has no deployment although the driver host has a program for it.

    A deployment is written before its program, beside the query's tables. So this is a different directory, such as the
    mount point of a disk that is not mounted.
    """
    return not deployment(layout) and deployed_program(host, layout.home) is not None


def require_at_hand(host: DriverHost, layout: Layout) -> None:
    """Refuse to begin again while the warehouse is unavailable, see `is_away`."""
    if is_away(host, layout):
        fault = "it has nothing of this query, and the driver host has its driver on record: the warehouse is away"
        anew = f"tailrace stop {layout.home.name}, and to deploy again"
        remedy = f"to mount its disk; or, to begin again and read the source from its start, {anew}"
        raise Busy([Problem(str(layout.home), fault, remedy)])


def deployment(layout: Layout) -> str:
    """Return the name of the last deployment; empty if there was none."""
    file = deployment_file(layout.home)
    return file.read_text() if file.exists() else ""


def drain(
    host: DriverHost,
    layout: Layout,
    deadline_s: float,
    stop_s: float,
    echo: Callable[[str], Any] = lambda line: None,
    only: str | None = None,
) -> Driver:
    """End a driver between two batches; end it by force if it has not ended at the deadline.

    Open windows stay open, and commits stay: the next driver continues from there. The drain request stays until then:
    if the caller dies, a restart of the driver host does not bring the driver back.

    Parameters
    ----------
    deadline_s : float
        Time for the driver to finish its batch and shut down, in s.
    stop_s : float
        Time between SIGTERM and SIGKILL, in s.
    echo : callable
        Called with each line of progress.
    only : str, optional
        The deployment to drain, by default the present one; a later one is left alone.
    """
    name = layout.home.name
    only = deployment(layout) if only is None else only
    driver = inspect(host, layout)
    if driver.alive:
        echo(f"{name}: to be drained, pid {driver.pid}")
    for _ in polls(deadline_s, POLL_S):
        driver = inspect(host, layout)
        if not driver.alive or deployment(layout) != only:
            break
        layout.request_drain()  # repeated, as a starting driver removes an older request
        if deployment(layout) != only:  # deployed since the check above: the request is not for the new driver
            layout.drain.unlink(missing_ok=True)
            break
    if driver.alive and deployment(layout) != only:
        echo(f"{name}: another driver was deployed meanwhile, it stays")
        return driver
    if driver.alive:
        echo(f"{name}: not drained after {deadline_s:.0f} s, now it is stopped")
        driver = host.stop(program_of(host, layout.home), stop_s)
    clear_away(host, layout, only)
    echo(f"{name}: {driver.state}, {driver.detail}")
    return driver


def stop(host: DriverHost, layout: Layout, wait_s: float) -> Driver:
    """End a driver by SIGTERM, after `wait_s` seconds by SIGKILL; on return no process of it is left."""
    ended_deployment = deployment(layout)
    driver = host.stop(program_of(host, layout.home), wait_s)
    clear_away(host, layout, ended_deployment)
    return driver


def clear_away(host: DriverHost, layout: Layout, ended_deployment: str) -> None:
    """Remove the leftovers of an ended deployment: processes, and the program that its host would restart.

    Do nothing if a later deployment has already cleaned up, if the driver is alive, or if the warehouse is unavailable:
    then the program is the only record of the stream.

    Raises
    ------
    RuntimeError
        When one of its processes may still be alive.
    """
    if is_away(host, layout):
        return
    with exclusive_access(layout):
        if deployment(layout) == ended_deployment and not inspect(host, layout).alive:
            end(host, layout, 0)


def end(host: DriverHost, layout: Layout, wait_s: float) -> None:
    """Stop a driver and kill its leftovers, for a caller that holds the lock `exclusive_access`."""
    name = program_of(host, layout.home)
    host.stop(name, wait_s)
    # PySpark's daemon has its own process group and, once stopped by a signal, does not end with its JVM.
    command = [sys.executable, "-m", "tailrace.drivers.fence", str(layout.home)]
    code = host.run(f"{name}-fence", command, _FENCE_S)
    if code != 0:
        how = "has not ended in time" if code is None else f"ended with exit code {code}"
        raise RuntimeError(
            f"something of the driver of {layout.home.name} may live on: on its host `{' '.join(command)}` {how}"
        )


def last_lines(host: DriverHost, layout: Layout, lines: int = LAST_LINES) -> str:
    """Return the last lines of the driver's log, indented; empty if there are none."""
    return "\n".join(f"    {line}" for line in host.last_lines(program_of(host, layout.home), lines))
