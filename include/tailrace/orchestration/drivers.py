"""What can be done with a query's driver: deploy, status, drain, stop. The DAGs and the command line call the same."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from tailrace.drivers.driver_host import Driver, DriverHost
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.launch import starts_file
from tailrace.ground.errors import Busy, Problem
from tailrace.ground.files import write_atomically
from tailrace.ground.polling import polls
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status, wall_ms

LAST_LINES = 30
_LOOK_S = 0.5
_GOING_S = 90.0  # how long a driver that drains may take until another one is deployed
_LOCK_S = 300.0  # longer than one who has it needs: to wait for a drain, to fence, to deploy
_FENCE_S = 45.0  # longer than what a fence grants to death


@dataclass(frozen=True)
class Deployed:
    """What `deploy` came to.

    Attributes
    ----------
    made : bool
        Whether the driver was made now; else it was there.
    deployment : str
        Names the deployment, through all its restarts; each time a driver is made it is another one.
    """

    driver: Driver
    made: bool
    deployment: str


def status(host: DriverHost, layout: Layout) -> DriverStatus:
    """How the driver of a query stands."""
    return DriverStatus(host.look(layout.home.name), Status.read(layout), wall_ms())


def deploy(host: DriverHost, layout: Layout, command: Sequence[str], environment: Mapping[str, str]) -> Deployed:
    """The query's only driver: the one that lives, or else a new one with a new count of restarts.

    One that drains is waited for. The deployment is named before there is a driver: one who dies on the way leaves a
    driver that the next call finds, under its name.
    """
    with alone(layout):
        return get_or_make(host, layout, command, environment)


def alone(layout: Layout) -> FileLock:
    """A lock: while one deploys a query's driver, or replaces it, no other one does."""
    layout.stream.mkdir(parents=True, exist_ok=True)
    return FileLock(layout.home / ".deploy.lock", timeout=_LOCK_S)


def get_or_make(host: DriverHost, layout: Layout, command: Sequence[str], environment: Mapping[str, str]) -> Deployed:
    """As `deploy`, for one who is `alone`."""
    name = layout.home.name
    driver = host.look(name)
    for _ in polls(_GOING_S, _LOOK_S):
        driver = host.look(name)
        if not (driver.alive and layout.drain.exists()):
            break
    if driver.alive and layout.drain.exists():
        raise Busy([Problem(name, f"its driver still drains after {_GOING_S:.0f} s", "to stop it, or to wait")])
    if driver.alive:
        return Deployed(driver, False, deployment(layout))
    write_atomically(_deployment_file(layout), secrets.token_hex(8))  # first: who still drains the old one asks no more
    for left in (starts_file(layout.home), layout.drain):
        left.unlink(missing_ok=True)
    return Deployed(host.deploy(name, command, environment), True, deployment(layout))


def deployment(layout: Layout) -> str:
    """The name of the last deployment; empty where there was none."""
    file = _deployment_file(layout)
    return file.read_text() if file.exists() else ""


def drain(
    host: DriverHost,
    layout: Layout,
    deadline_s: float,
    stop_s: float,
    tell: Callable[[str], Any] = lambda line: None,
    only: str | None = None,
) -> Driver:
    """End a driver between two batches; after the deadline, or where it does not listen, end it by force.

    What is open stays open, and what is committed stays: the next driver goes on from there. The wish stands until
    then: should the one who drains die on the way, no restart of the driver host brings the driver back.

    Parameters
    ----------
    deadline_s : float
        How long the driver has for its batch and its goodbye.
    stop_s : float
        How long it has after a SIGTERM, before it is killed.
    tell : callable
        Is told what happens.
    only : str, optional
        The deployment that is meant, by default the one that there is now; one that came after it stays.
    """
    name = layout.home.name
    only = deployment(layout) if only is None else only
    driver = host.look(name)
    if driver.alive:
        tell(f"{name}: to be drained, pid {driver.pid}")
    for _ in polls(deadline_s, _LOOK_S):
        driver = host.look(name)
        if not driver.alive or deployment(layout) != only:
            break
        layout.request_drain()  # again and again: a driver that is only starting takes an older wish away
        if deployment(layout) != only:  # since the look at it just now: the new one is not meant
            layout.drain.unlink(missing_ok=True)
            break
    if driver.alive and deployment(layout) != only:
        tell(f"{name}: another driver was deployed meanwhile, it stays")
        return driver
    if driver.alive:
        tell(f"{name}: not drained after {deadline_s:.0f} s, now it is stopped")
        driver = host.stop(name, stop_s)
    clear_away(host, layout, only)
    tell(f"{name}: {driver.state}, {driver.detail}")
    return driver


def stop(host: DriverHost, layout: Layout, wait_s: float) -> Driver:
    """End a driver by SIGTERM, and after the wait by SIGKILL; nothing of it is left when this returns."""
    ended = deployment(layout)
    driver = host.stop(layout.home.name, wait_s)
    clear_away(host, layout, ended)
    return driver


def clear_away(host: DriverHost, layout: Layout, ended: str) -> None:
    """Leave nothing of a deployment that has ended: no process, and no program that its host would start again.

    Where another one was made since, nothing is done: its start has seen to that. One that lives stays.

    Raises
    ------
    RuntimeError
        When something of it may live on.
    """
    with alone(layout):
        if deployment(layout) == ended and not host.look(layout.home.name).alive:
            end(host, layout, 0)


def end(host: DriverHost, layout: Layout, wait_s: float) -> None:
    """Stop a driver and clear away what is left of it, for one who is `alone`."""
    name = layout.home.name
    host.stop(name, wait_s)
    # PySpark's daemon has a process group of its own, and where it is stopped by a signal it does not end with its JVM.
    command = [sys.executable, "-m", "tailrace.drivers.fence", str(layout.home)]
    code = host.run(f"{name}-fence", command, _FENCE_S)
    if code != 0:
        how = "has not ended in time" if code is None else f"ended with exit code {code}"
        raise RuntimeError(f"something of the driver of {name} may live on: on its host `{' '.join(command)}` {how}")


def last_lines(host: DriverHost, layout: Layout) -> str:
    """The end of the driver's log, indented; empty where there is none."""
    return "\n".join(f"    {line}" for line in host.last_lines(layout.home.name, LAST_LINES))


def _deployment_file(layout: Layout) -> Path:
    return layout.stream / "deployment"
