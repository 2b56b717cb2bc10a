"""Runs the components of Airflow on one machine, as `airflow standalone` does, but without log servers.

    python -m tailrace.embedded.airflow_parts

The log servers always listen on all addresses. They serve logs of other machines; on one machine the API server reads
the files itself.

A component that ends is started again, as by a service manager: a scheduler gives up when two transactions collide in
SQLite. If one ends again and again, all components end; so do they after SIGINT and SIGTERM. The embedded driver host,
whose directory is in the environment variable TAILRACE_EMBEDDED_HOST, is also started again if it was killed. Each such
event is printed, and added to the file `EVENTS` in the working directory, AIRFLOW_HOME. The logs there are rotated.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from filelock import Timeout

from tailrace.embedded.embedded_processes import EmbeddedHost, private
from tailrace.embedded.log_rotation import LogRotation

KEPT_HOST = "TAILRACE_EMBEDDED_HOST"
"""The environment variable that names the directory of the embedded driver host to keep running."""

EVENTS = "events.log"
"""The file of events, since the last start."""

API_SERVER = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
"""Environment variables that make the API server return memory used by the console; tasks are faster without them."""

AIRFLOW = (sys.executable, "-m", "airflow")
PARTS = (("scheduler", "--skip-serve-logs"), ("triggerer", "--skip-serve-logs"), ("dag-processor",), ("api-server",))
_POLL_S, _TERMINATION_S = 0.5, 20.0
RESTARTS, _RECENT_S = 3, 600.0  # the most restarts of a component, and within which time


def main() -> int:
    """Migrate the database, and run each component until one has ended too often.

    Returns
    -------
    int
        The exit code of that component, 1 in place of 0; 0 after SIGINT or SIGTERM.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)  # also if the parent process ignores Ctrl-C
    parts: dict[str, subprocess.Popen[bytes]] = {}
    try:
        subprocess.run([*AIRFLOW, "db", "migrate"], check=True)
        ends: dict[str, list[float]] = {arguments[0]: [] for arguments in PARTS}
        for arguments in PARTS:
            parts[arguments[0]] = _started(arguments)
        directory = os.environ.get(KEPT_HOST)
        host = EmbeddedHost(Path(directory)) if directory else None
        rotation = LogRotation(Path.cwd())
        while True:
            _keep(host)
            rotation.run_if_due()
            for arguments in PARTS:
                name = arguments[0]
                try:
                    code = parts[name].wait(_POLL_S)
                except subprocess.TimeoutExpired:
                    continue
                now_s = time.monotonic()
                ends[name] = [end_s for end_s in ends[name] if now_s - end_s < _RECENT_S] + [now_s]
                if len(ends[name]) > RESTARTS:
                    _report(f"Airflow's {name} ended with exit code {code}, again: all of it ends")
                    return code or 1
                _report(f"Airflow's {name} ended with exit code {code}: it is started again")
                parts[name] = _started(arguments)
    except KeyboardInterrupt:
        return 0
    finally:
        for part in parts.values():
            part.terminate()
        for part in parts.values():
            try:
                part.wait(_TERMINATION_S)
            except subprocess.TimeoutExpired:
                part.kill()


def _started(arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    environment = API_SERVER if arguments[0] == "api-server" else {}
    return subprocess.Popen([*AIRFLOW, *arguments], env=environment | os.environ)


def _keep(host: EmbeddedHost | None) -> None:
    """Restart the driver host if it was killed; print an error, and retry."""
    try:
        if host is not None and host.keep():
            _report(f"the driver host in {host.directory} was killed: it is started again")
    except (OSError, Timeout, TimeoutError) as error:
        print(f"the driver host can't be started: {error}", flush=True)


def _report(event: str) -> None:
    """Print an event, and add it to the file of events."""
    print(event, flush=True)
    with suppress(OSError), open(EVENTS, "a", encoding="utf-8", opener=private) as events:  # a full disk ends nothing
        print(event, file=events)


if __name__ == "__main__":
    sys.exit(main())
