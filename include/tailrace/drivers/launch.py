"""What supervisord really starts: a budget of restarts, a backoff, the fence, and then the driver in its place.

    python -m tailrace.drivers.launch --home WAREHOUSE/QUERY --restarts 5 --within 600 -- spark-submit …

Exit codes of its own: 0 drained, and not deployed since; 1 an earlier start lives on; 2 no such command; 3 a crash
loop; 130 interrupted. Otherwise it becomes the command, under the same pid.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tailrace.drivers import fence
from tailrace.ground.files import write_atomically
from tailrace.ground.retries import LONGEST_S, pause_s

DRAINED, FAILED, REFUSED, CRASH_LOOP, INTERRUPTED = 0, 1, 2, 3, 130
_ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(arguments: Sequence[str] | None = None) -> int:
    """Become the command, or say why not and return the exit code."""
    parser = argparse.ArgumentParser("python -m tailrace.drivers.launch", description="Start a driver, guarded.")
    parser.add_argument("--home", type=Path, required=True, help="WAREHOUSE/QUERY of the driver")
    parser.add_argument("--restarts", type=int, default=5, help="how many restarts are no crash loop yet …")
    parser.add_argument("--within", type=float, default=600, help="… within so many seconds")
    parser.add_argument("command", nargs="+", help="the driver's command, after --")
    given = parser.parse_args(arguments)
    for number in _ENDS:
        signal.signal(number, _interrupted)
    if is_drained(given.home):
        _say(f"{given.home.name} is drained, it stays down until it is deployed anew")
        return DRAINED
    wait_s = pause(given.home, given.restarts, given.within, time.time())
    if wait_s is None:
        _say(
            f"crash loop: {given.home.name} was restarted {given.restarts} times within {given.within:g} s, and ended "
            "again. It stays down.\n    right would be: to mend what its last lines tell of, then to deploy it anew"
        )
        return CRASH_LOOP
    if wait_s:
        _say(f"a restart: waiting {wait_s:g} s")
        time.sleep(wait_s)
        if is_drained(given.home):  # it waited for up to a minute
            return DRAINED
    token = secrets.token_hex(16)
    try:
        killed = fence.fence(given.home, token)
    except TimeoutError as error:
        _say(f"an earlier start of {given.home.name} can't be ended: {error}")
        return FAILED
    if killed:
        _say(f"killed what an earlier start has left: {', '.join(map(str, killed))}")
    return _become(given.command, fence.mark(given.home, token))


def is_drained(home: Path) -> bool:
    """Whether the wish to drain stands, which a deployment takes away: a host that was restarted must not start it."""
    return os.path.exists(home / "_stream" / "drain")


def starts_file(home: Path) -> Path:
    """Where the starts of the driver of a home are counted; without it the count begins anew."""
    return home / "_stream" / "starts.json"


def pause(home: Path, restarts: int, within_s: float, now_s: float) -> float | None:
    """Count a start of the driver.

    Parameters
    ----------
    restarts : int
        The budget: how many restarts may lie within_s seconds.
    now_s : float
        The time of this start, in seconds since the epoch.

    Returns
    -------
    float or None
        How many seconds it must wait: none at the first start, then 1, 2, 4 … by how many restarts lie within_s; None
        when the budget is spent, and from then on: it has given up, until it is deployed anew.
    """
    file = starts_file(home)
    recent: list[float] = []
    given_up = False
    if os.path.exists(file):  # else also where it must not be looked for
        before, given_up = _read(file)
        recent = [*(at for at in before if now_s - within_s < at <= now_s), now_s]
        given_up = given_up or len(recent) > restarts
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps({"restarts": recent, "given_up": given_up}))
    except OSError as error:  # a full disk: what is not counted must not come fast
        _say(f"can't count this start: {error}")
        return None if given_up else LONGEST_S
    if given_up:
        return None
    return pause_s(len(recent))


def _read(file: Path) -> tuple[list[float], bool]:
    """The times of the restarts, and whether it has given up; none where the file is damaged."""
    try:
        found = json.loads(file.read_text())
        return [float(at) for at in found["restarts"]], bool(found.get("given_up"))
    except (OSError, ValueError, TypeError, KeyError) as error:
        _say(f"{file} is damaged ({error}); counting anew")
        return [], False


def _become(command: list[str], mark: str) -> int:
    """Replace this process by the command, with the signals as a new process has them."""
    first = os.path.dirname(sys.executable)  # where spark-submit lives beside its Python
    path = os.pathsep.join([first, os.environ.get("PATH", os.defpath)])
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)  # one that comes now waits, and meets the default below
    for number in (*_ENDS, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
    try:
        os.execvpe(command[0], command, os.environ | {"PATH": path, fence.MARK: mark})
    except OSError as error:
        _say(
            f"{command[0]}: can't be run: {error.strerror}\n"
            f"    right would be: a program by its path, or one in {first} or on the PATH of the driver host"
        )
        return REFUSED


def _interrupted(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(INTERRUPTED)


def _say(text: str) -> None:
    print(f"launch: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
