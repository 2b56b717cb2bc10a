"""Finds and kills every process of an earlier start of a driver, and sees to it that they are dead.

PySpark's daemon makes a process group of its own, and a killed driver can leave its JVM: so not the group but a mark
in the environment, which every child inherits, tells whose a process is. On a driver host, after a driver's end:

    python -m tailrace.drivers.fence WAREHOUSE/QUERY
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from tailrace.ground.polling import polls

MARK = "TAILRACE_DRIVER"
_LOOK_AGAIN_S = 0.02


def mark(home: Path, token: str) -> str:
    """The value of `MARK` for one start of the driver of a home."""
    return f"{os.path.realpath(home)}#{token}"


def marked(home: Path) -> list[psutil.Process]:
    """The living processes of this user that belong to any start of the driver of a home, however it is spelled."""
    return _of(home, but=None)


def fence(home: Path, token: str | None, wait_s: float = 30.0) -> list[int]:
    """Kill every process of this user that belongs to a start of the driver of a home, but to that of the token.

    Parameters
    ----------
    token : str or None
        The start that may live; None: none may.
    wait_s : float
        How many seconds death may take.

    Returns
    -------
    list of int
        The pids of those that were killed. This process and its ancestors are never among them.

    Raises
    ------
    TimeoutError
        When one lives on.
    """
    return kill(lambda: _of(home, but=token), wait_s)


def _of(home: Path, but: str | None) -> list[psutil.Process]:
    real = os.path.realpath(home)

    def belongs(value: str) -> bool:
        place, _, token = value.rpartition("#")
        return os.path.realpath(place) == real and (but is None or token != but)

    return carrying(MARK, belongs)


def carrying(name: str, fits: Callable[[str], bool]) -> list[psutil.Process]:
    """The living processes of this user whose environment has the variable, with a value that fits."""
    found = []
    for pid in psutil.pids():
        with suppress(psutil.Error):  # it has gone, or is another user's
            process = psutil.Process(pid)
            if process.uids().real == os.getuid():
                value = process.environ().get(name)  # a zombie has none
                if value is not None and fits(value):
                    found.append(process)
    return found


def of_session(leader: int, directory: Path) -> list[psutil.Process]:
    """The living processes, working in a directory, of the session that a process began: also after its own end."""
    found = []
    for pid in psutil.pids():
        with suppress(psutil.Error, OSError):  # it has gone, or is another user's
            process = psutil.Process(pid)
            if os.getsid(pid) == leader and process.cwd() == str(directory) and not dead(process):
                found.append(process)
    return found


def kill(find: Callable[[], list[psutil.Process]], wait_s: float) -> list[int]:
    """Kill what is found, with SIGKILL, which works on stopped ones too, until nothing is found anew and all are dead.

    Raises
    ------
    TimeoutError
        When one lives on after wait_s seconds.
    """
    me = psutil.Process()
    spared = {me, *me.parents()}
    killed: set[psutil.Process] = set()
    left: list[int] = []
    for _ in polls(wait_s, _LOOK_AGAIN_S):
        found = set(find()) - spared  # children may have been forked since the last look
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        killed |= found
        left = sorted(process.pid for process in killed if not dead(process))
        if not found and not left:
            return sorted(process.pid for process in killed)
    raise TimeoutError(
        f"processes {left} live on {wait_s:g} s after SIGKILL; they may hang in the kernel, on a disk or a "
        "network file system that is gone: mend that, or restart the machine"
    )


def dead(process: psutil.Process) -> bool:
    """Whether nothing of it runs any more; a zombie is dead, but for threads that have outlived the first one."""
    try:
        return not process.is_running() or (
            process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1  # a last write may be in them
        )
    except psutil.NoSuchProcess:
        return True


if __name__ == "__main__":
    fence(Path(sys.argv[1]), token=None)
