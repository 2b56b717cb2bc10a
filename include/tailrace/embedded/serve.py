"""Serves a folder: its platform runs until Ctrl-C, and the next start continues from there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailrace.embedded.embedded_airflow import START_S, USER, EmbeddedAirflow
from tailrace.embedded.embedded_platform import EmbeddedPlatform
from tailrace.embedded.embedded_processes import UMASK
from tailrace.embedded.platform_environment import ENVIRONMENT, connections_of_shell
from tailrace.embedded.served_folder import ServedFolder
from tailrace.ground.words import counted
from tailrace.orchestration.addresses import PAGES

Echo = Callable[[str], Any]
LOOK_AGAIN_S = 1.0
_LOG_END = 2000  # characters of a log in a message


def serve(home: Path, port: int | None = None, start_s: float = START_S, echo: Echo = print) -> None:
    """Start the platform of a folder, and keep it until this process is interrupted.

    Parameters
    ----------
    home : Path
        The folder, which is created.
    port : int, optional
        The port of Airflow on loopback; by default the last one, or a free one at the first start.
    start_s : float
        Seconds that Airflow may take to start.
    echo : callable
        Called with each line for people.

    Raises
    ------
    Refused
        When the folder is not to be served, or the port is in use.
    RuntimeError
        When Airflow does not start, or ends; the message quotes its log. Nothing of the platform runs then.
    """
    folder = ServedFolder(home.absolute())
    os.umask(UMASK)
    with folder.held():
        connections = connections_of_shell()
        platform = EmbeddedPlatform(
            folder.home, folder.queries, folder.warehouse, connections, start_s, echo, keeps_drivers=True
        )
        platform.kill_leftovers()  # first, as they may hold the port
        platform.port = folder.take_port(port)
        with platform:
            for line in welcome(folder, platform):
                echo(line)
            try:
                watch(platform.airflow, echo)
            finally:
                echo(f"stopping Airflow, then {_drivers(platform)}")


def welcome(folder: ServedFolder, platform: EmbeddedPlatform) -> list[str]:
    """Return the lines about a started platform: addresses, password, directories."""
    airflow, drivers = platform.airflow, platform.drivers()
    return [
        f"tailrace is at {airflow.url}{PAGES}/ , Airflow at {airflow.url} , user {USER}",
        f"    password: in {airflow.password_file}",
        f"    queries:  {folder.queries}, a file each; Airflow finds a new one within a minute",
        f"    tables:   {folder.warehouse}",
        f"    logs:     {airflow.log}, {airflow.directory / 'logs'}, {platform.driver_host.directory / 'programs'}",
        f"    a shell:  . {folder.home / ENVIRONMENT}",
        *([f"    goes on:  {', '.join(drivers)}"] if drivers else []),
        "Ctrl-C stops all of it; the next start goes on from there",
    ]


def watch(airflow: EmbeddedAirflow, echo: Echo, pause: Callable[[float], Any] = time.sleep) -> None:
    """Report each component that ended and was started again, until Airflow ends.

    Raises
    ------
    RuntimeError
        When Airflow has ended, as it does if a component ends again and again.
    """
    told = 0
    while True:
        code = airflow.ended()  # read first, so that its last events are reported, too
        lines = _events(airflow.events)
        for line in lines[told:]:
            echo(line)
        told = len(lines)
        if code is not None:
            log_end = airflow.log.read_text(errors="replace")[-_LOG_END:]
            raise RuntimeError(f"Airflow ended with exit code {code}; the end of {airflow.log}:\n{log_end}")
        pause(LOOK_AGAIN_S)


def _events(file: Path) -> list[str]:
    """Return the complete lines of the file of events; none if it does not exist yet."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return text[: text.rfind("\n") + 1].splitlines()


def _drivers(platform: EmbeddedPlatform) -> str:
    try:
        names = platform.drivers()
    except OSError:
        return "the drivers"
    return f"{counted(len(names), 'driver')} ({', '.join(names)})" if names else "the driver host, which has no driver"
