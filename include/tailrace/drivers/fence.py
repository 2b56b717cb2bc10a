"""Finds and kills every process of an earlier start of a driver, and waits until they are dead.

PySpark's daemon creates its own process group, and a killed driver can leave its JVM behind. So processes are
identified by a mark in the environment, which every child inherits, and not by their group. On a driver host, after a
driver's end, this command kills its processes, and then ends its applications on a cluster platform, if there are any:

    python -m tailrace.drivers.fence WAREHOUSE/QUERY
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from tailrace.drivers.applications import end_applications, platform_of
from tailrace.drivers.homes import resolved
from tailrace.ground.files.object_path import Location
from tailrace.ground.polling import polls
from tailrace.storage.warehouses import location_of

MARK = "TAILRACE_DRIVER"
_LOOK_AGAIN_S = 0.02
_APPLICATIONS_S = 90.0  # for the applications of a cluster platform to end


def mark(home: Location, token: str) -> str:
    """Return the value of `MARK` for one start of the driver of a home (the directory WAREHOUSE/QUERY)."""
    return f"{resolved(home)}#{token}"


def marked(home: Location) -> list[psutil.Process]:
    """Return this user's living processes of any start of a home's driver; the path may be written in any way."""
    return _processes_of(home, but=None)


def fence(home: Location, token: str | None, wait_s: float = 30.0) -> list[int]:
    """Kill every process of this user that belongs to a start of a home's driver, except the start with the token.

    Parameters
    ----------
    token : str or None
        The start that may go on; None for none.
    wait_s : float
        How many seconds the processes may take to die.

    Returns
    -------
    list of int
        The pids of the killed processes. This process and its ancestors are never among them.

    Raises
    ------
    TimeoutError
        When one survives.
    """
    return kill(lambda: _processes_of(home, but=token), wait_s)


def _processes_of(home: Location, but: str | None) -> list[psutil.Process]:
    wanted = resolved(home)

    def belongs(value: str) -> bool:
        marked, _, token = value.rpartition("#")
        return resolved(marked) == wanted and (but is None or token != but)

    return carrying(MARK, belongs)


def carrying(name: str, fits: Callable[[str], bool]) -> list[psutil.Process]:
    """Return this user's living processes whose environment has the variable with a matching value."""
    processes = []
    for pid in psutil.pids():
        with suppress(psutil.Error):  # it has exited, or belongs to another user
            process = psutil.Process(pid)
            if process.uids().real == os.getuid():
                value = process.environ().get(name)  # a zombie has no environment
                if value is not None and fits(value):
                    processes.append(process)
    return processes


def of_session(leader: int, directory: Path) -> list[psutil.Process]:
    """Return the living processes of a leader's session that work in a directory, even after the leader's end."""
    processes = []
    for pid in psutil.pids():
        with suppress(psutil.Error, OSError):  # it has exited, or belongs to another user
            process = psutil.Process(pid)
            if os.getsid(pid) == leader and process.cwd() == str(directory) and not dead(process):
                processes.append(process)
    return processes


def kill(find: Callable[[], list[psutil.Process]], wait_s: float) -> list[int]:
    """Kill the processes that `find` returns, repeatedly, until it returns none and all of them are dead.

    SIGKILL works on stopped processes too.

    Raises
    ------
    TimeoutError
        When one survives wait_s seconds.
    """
    this_process = psutil.Process()
    self_and_ancestors = {this_process, *this_process.parents()}
    victims: set[psutil.Process] = set()
    survivor_pids: list[int] = []
    for _ in polls(wait_s, _LOOK_AGAIN_S):
        targets = set(find()) - self_and_ancestors  # children may have been forked since the last look
        for process in targets:
            with suppress(psutil.Error):
                process.kill()
        victims |= targets
        survivor_pids = sorted(process.pid for process in victims if not dead(process))
        if not targets and not survivor_pids:
            return sorted(process.pid for process in victims)
    raise TimeoutError(
        f"processes {survivor_pids} live on {wait_s:g} s after SIGKILL; they may hang in the kernel, on a disk or a "
        "network file system that is gone: mend that, or restart the machine"
    )


def dead(process: psutil.Process) -> bool:
    """Test whether a process is dead, with all its threads.

    A zombie is dead unless other threads have outlived the first one.
    """
    try:
        return not process.is_running() or (
            process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1  # its threads may still write
        )
    except psutil.NoSuchProcess:
        return True


def main(home: Location) -> None:
    """End all starts of a home's driver, on this host and a platform: processes first, as they submit applications."""
    fence(home, token=None)
    platform = platform_of(home)
    if platform is not None:
        end_applications(platform, lambda line: print(f"fence: {line}", file=sys.stderr, flush=True), _APPLICATIONS_S)


if __name__ == "__main__":
    main(location_of(sys.argv[1]))
