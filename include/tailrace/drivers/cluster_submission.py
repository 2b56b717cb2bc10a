"""The driver's program on its host in deploy mode `cluster`: submits the driver to a platform, and waits for its end.

    python -m tailrace.drivers.cluster_submission --home WAREHOUSE/QUERY --app spark_apps/stream.py -- spark-submit …

It copies the app and the package into the warehouse, where the command reads them, so that the driver always runs this
host's version. The host treats this program as the driver: its exit code is the driver's if the platform reports it,
else 0 or 1, and a signal ends the driver (130). The launcher first ends the applications of all earlier starts; this
program ends an earlier submission that reaches the platform later.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tailrace.drivers import fence
from tailrace.drivers.applications import end_applications, tag_of, write_platform
from tailrace.drivers.cluster_platform import Application, ClusterPlatform, PlatformDown
from tailrace.drivers.submission import bring, platform_named, submission
from tailrace.ground import json_log
from tailrace.ground.errors import Refused
from tailrace.ground.retries import pause_s

DONE, FAILED, REFUSED, INTERRUPTED = 0, 1, 2, 130
_POLL_S = 1.0
_UNSEEN_S = 120.0  # how long a successful submission may stay invisible


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a driver on a platform to its end, and return its exit code."""
    parser = argparse.ArgumentParser("python -m tailrace.drivers.cluster_submission", description="Submit a driver.")
    parser.add_argument("--home", type=Path, required=True, help="WAREHOUSE/QUERY of the driver")
    parser.add_argument("--app", type=Path, required=True, help="the stream app, of this host")
    parser.add_argument("--url", default="", help="URL of YARN's ResourceManager; several with , between them")
    parser.add_argument("--pass", dest="passed", action="append", default=[], help="a variable that the driver gets")
    parser.add_argument("command", nargs="+", help="the provider's spark-submit command, after --")
    options = parser.parse_args(arguments)
    try:
        json_log.use_if_asked(command="cluster_submission", query=options.home.name)
        start = os.environ.get(fence.MARK, "").rpartition("#")[2]
        platform = platform_named(options.command, options.url, tag_of(options.home))
        write_platform(options.home, platform)
        bring(options.home, options.app)
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: stopped.set())
        with submission(options.command, platform.submission_settings(start), options.passed) as command:
            code = Watch(platform, start, stopped.wait).run(lambda: _submit(command, stopped))
        if stopped.is_set():
            end_applications(platform, _say)
            return INTERRUPTED
        return code
    except Refused as refused:
        _say(str(refused))
        return refused.exit_code


class Watch:
    """One driver on a platform, from its submission to its end.

    Parameters
    ----------
    start : str
        Token of this start of the driver.
    wait : callable
        Waits a number of seconds; returns True if the driver must end at once.
    """

    def __init__(
        self,
        platform: ClusterPlatform,
        start: str,
        wait: Callable[[float], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._platform, self._start, self._wait, self._clock = platform, start, wait, clock
        self._told = ""

    def run(self, submit: Callable[[], int]) -> int:
        """Submit the driver once the platform answers; return its exit code when it has ended or must end.

        Raises
        ------
        Refused
            When the platform denies access.
        """
        if self._answer() is None:
            return INTERRUPTED
        code = submit()
        unseen_s = self._clock() + (_UNSEEN_S if code == DONE else 0.0)  # a failed submission may have arrived
        seen = False
        while (applications := self._answer()) is not None:
            own = next((one for one in applications if one.start == self._start), None)
            if own is not None and own.over:
                return self._end(own)
            if own is not None:
                seen = True
                self._tell(f"{own.id}: {own.detail}")
            elif seen:
                _say("the platform does not know the driver any more")
                return FAILED
            elif self._clock() >= unseen_s:
                _say(f"spark-submit ended with exit code {code}, and the platform knows no driver of this start")
                return REFUSED if code == REFUSED else FAILED
            if self._wait(_POLL_S):
                return INTERRUPTED
        return INTERRUPTED

    def _answer(self) -> list[Application] | None:
        """Return the query's applications once the platform answers, and end those of other starts; None at a stop."""
        failures = 0
        while True:
            try:
                applications = self._platform.applications()
                for application in applications:
                    if application.start != self._start and not application.over:
                        self._tell(f"{application.id} of another start is ended: {application.detail}")
                        self._platform.end(application)
                return applications
            except PlatformDown as error:
                failures += 1
                self._tell(f"no news of the driver: {error}")
            if self._wait(pause_s(failures)):
                return None

    def _end(self, own: Application) -> int:
        code = FAILED if own.exit_code is None else own.exit_code
        try:
            lines = self._platform.last_lines(own)
        except (PlatformDown, Refused) as error:
            lines = f"its last lines are not to be had: {error}"
        print(lines, flush=True, end="\n" if lines else "")
        _say(f"{own.id} is over, exit code {code}: {own.detail}")
        return code

    def _tell(self, text: str) -> None:
        if text != self._told:
            _say(text)
            self._told = text


def _submit(command: Sequence[str], stopped: threading.Event) -> int:
    """Run spark-submit to its end, and return its exit code; kill it if the driver must end meanwhile."""
    try:
        process = subprocess.Popen(command)
    except OSError as error:
        _say(f"{command[0]}: can't be run: {error.strerror}")
        return REFUSED
    while process.poll() is None:
        if stopped.wait(0.2):
            process.kill()
            process.wait()
    return process.returncode


def _say(text: str) -> None:
    print(f"cluster: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
