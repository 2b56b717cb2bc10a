"""The launcher that supervisord starts: it counts restarts, waits, fences, and becomes the driver.

    python -m tailrace.drivers.launch --home WAREHOUSE/QUERY --restarts 5 --within 600 -- spark-submit …

Its own exit codes are: 0 for drained, and not deployed since; 1 for an earlier start that survives; 2 for a command
that can't be run, or a cluster platform that denies access; 3 for a crash loop; 130 for interrupted. Otherwise it
becomes the command, with the same pid.
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
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from tailrace.drivers import fence
from tailrace.drivers.applications import end_applications, platform_of
from tailrace.ground import json_log
from tailrace.ground.errors import Refused
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.files.object_path import Location
from tailrace.ground.locales import utf_8_locale
from tailrace.ground.retries import LONGEST_S, pause_s
from tailrace.storage.deployment import DEPLOYMENT, await_deployment, deployment_file
from tailrace.storage.warehouses import location_of

DRAINED, FAILED, REFUSED, CRASH_LOOP, INTERRUPTED = 0, 1, 2, 3, 130
HOST_PASSWORD = "TAILRACE_DRIVER_HOST_PASSWORD"  # variables of supervisord, which passes on its whole environment

KEPT_S = 86_400.0
"""How long a restart stays on record; pages show a day, even if fewer count for a crash loop."""

_END_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(arguments: Sequence[str] | None = None) -> int:
    """Replace this process by the command; if that is not possible, print the reason and return the exit code."""
    parser = argparse.ArgumentParser("python -m tailrace.drivers.launch", description="Start a driver, guarded.")
    parser.add_argument("--home", type=location_of, required=True, help="WAREHOUSE/QUERY of the driver")
    parser.add_argument("--restarts", type=int, default=5, help="how many restarts are no crash loop yet …")
    parser.add_argument("--within", type=float, default=600, help="… within so many seconds")
    parser.add_argument("command", nargs="+", help="the driver's command, after --")
    options = parser.parse_args(arguments)
    try:
        json_log.use_if_asked(command="launch", query=options.home.name)
    except Refused as refused:
        _say(str(refused))
        return REFUSED
    for number in _END_SIGNALS:
        signal.signal(number, _exit_interrupted)
    if os.environ.get(DEPLOYMENT):
        await_deployment(options.home, lambda: _exists(deployment_file(options.home)) or None)
    if is_drained(options.home):
        _say(f"{options.home.name} is drained, it stays down until it is deployed again")
        return DRAINED
    wait_s = pause(options.home, options.restarts, options.within, time.time())
    if wait_s is None:
        _say(
            f"crash loop: {options.home.name} was restarted {options.restarts} times within {options.within:g} s, and "
            "ended again. It stays down.\n"
            "    right would be: to fix the cause in its last lines, then to deploy it again"
        )
        return CRASH_LOOP
    if wait_s:
        _say(f"a restart: waiting {wait_s:g} s")
        time.sleep(wait_s)
        if is_drained(options.home):  # checked again, since the wait was up to a minute
            return DRAINED
    token = secrets.token_hex(16)
    failure = _fence(options.home, token)
    return _become(options.command, fence.mark(options.home, token)) if failure is None else failure


def _fence(home: Location, token: str) -> int | None:
    """End all earlier starts; processes first, as they might submit another application.

    Return None if nothing is left of them, else an exit code. The wait for applications on a cluster platform has no
    limit: while the platform is unavailable, a restart would only use up the budget.
    """
    try:
        victims = fence.fence(home, token)
        if victims:
            _say(f"killed what an earlier start has left: {', '.join(map(str, victims))}")
        platform = platform_of(home)
        if platform is not None:
            end_applications(platform, _say)
    except TimeoutError as error:
        _say(f"an earlier start of {home.name} can't be ended: {error}")
        return FAILED
    except Refused as refused:
        _say(f"an earlier start of {home.name} can't be ended: {refused}")
        return refused.exit_code
    return None


def is_drained(home: Location) -> bool:
    """Test whether there is a drain request, which keeps a restarted host from starting the driver.

    A deployment removes it.
    """
    return _exists(home / "_stream" / "drain")


def starts_file(home: Location) -> Location:
    """Return the file that counts the restarts of a home's driver; deleting it resets the count."""
    return home / "_stream" / "starts.json"


def earlier_restarts_file(home: Location) -> Location:
    """Return the file with the restarts before the count began; pages show them, but no crash loop counts them."""
    return home / "_stream" / "earlier_restarts.json"


def forget_restarts(home: Location) -> None:
    """Reset the count of restarts after a stop that was no crash; a launcher that has given up stays down."""
    file = starts_file(home)
    with suppress(OSError):  # the warehouse is away, so the count stays
        if _exists(file) and not _read(file)[1]:
            reset_restarts(home, time.time())


def reset_restarts(home: Location, now_s: float) -> None:
    """Reset the count of restarts (idempotent); restarts of the last day stay on record as earlier ones."""
    file, earlier = starts_file(home), earlier_restarts_file(home)
    restarts = {at for each in (file, earlier) if _exists(each) for at in _read(each)[0]}
    kept_restarts = sorted(at for at in restarts if now_s - KEPT_S < at <= now_s)
    if kept_restarts or _exists(earlier):  # a damaged one, too
        write_atomically(earlier, json.dumps({"restarts": kept_restarts}))
    file.unlink(missing_ok=True)


def pause(home: Location, restarts: int, within_s: float, now_s: float) -> float | None:
    """Count a start of the driver, and return how long it must wait.

    Parameters
    ----------
    restarts : int
        The budget: the number of restarts allowed within within_s seconds.
    now_s : float
        The time of this start, in seconds since the epoch.

    Returns
    -------
    float or None
        Seconds to wait: 0 at the first start, then 1, 2, 4 … 60 by the number of restarts in the last within_s seconds;
        None once the budget is spent; then the launcher has given up until the driver is deployed again.
    """
    file = starts_file(home)
    kept_restarts: list[float] = []
    recent_restarts: list[float] = []
    given_up = False
    if _exists(file):
        earlier_restarts, given_up = _read(file)
        kept_s = max(within_s, KEPT_S)
        kept_restarts = [*(at for at in earlier_restarts if now_s - kept_s < at <= now_s), now_s]
        recent_restarts = [at for at in kept_restarts if now_s - within_s < at]
        given_up = given_up or len(recent_restarts) > restarts
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps({"restarts": kept_restarts, "given_up": given_up}))
    except OSError as error:  # such as on a full disk; restarts that are not counted must not be fast
        _say(f"can't count this start: {error}")
        return None if given_up else LONGEST_S
    if given_up:
        return None
    return pause_s(len(recent_restarts))


def _exists(file: Location) -> bool:
    """Return whether a file exists; False, without an error, if access is denied or fails."""
    with suppress(OSError):
        return file.exists()
    return False


def _read(file: Location) -> tuple[list[float], bool]:
    """Return the times of the restarts, and whether the launcher gave up; none and False if the file is damaged."""
    try:
        record = json.loads(file.read_text())
        return [float(at) for at in record["restarts"]], bool(record.get("given_up"))
    except (OSError, ValueError, TypeError, KeyError) as error:
        _say(f"{file} is damaged ({error}); counting from 0")
        return [], False


def _become(command: list[str], mark: str) -> int:
    """Replace this process by the command, with signal handling as in a new process."""
    python_directory = os.path.dirname(sys.executable)  # spark-submit is in the same directory as its Python
    path = os.pathsep.join([python_directory, os.environ.get("PATH", os.defpath)])
    signal.pthread_sigmask(signal.SIG_BLOCK, _END_SIGNALS)  # a signal now waits for the default handler below
    for number in (*_END_SIGNALS, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _END_SIGNALS)
    environment = {name: value for name, value in os.environ.items() if name != HOST_PASSWORD}
    try:
        os.execvpe(command[0], command, environment | utf_8_locale(environment) | {"PATH": path, fence.MARK: mark})
    except OSError as error:
        _say(
            f"{command[0]}: can't be run: {error.strerror}\n"
            f"    right would be: a program by its path, or one in {python_directory} or on the PATH of the driver host"
        )
        return REFUSED


def _exit_interrupted(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(INTERRUPTED)


def _say(text: str) -> None:
    print(f"launch: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
