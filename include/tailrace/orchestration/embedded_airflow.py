"""An Airflow of one's own, on a free port of loopback: for the demo, for tests, and for a laptop."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import psutil

from tailrace.drivers import fence
from tailrace.drivers.embedded import UMASK, free_port, private
from tailrace.ground.files import write_atomically
from tailrace.ground.polling import polls
from tailrace.orchestration.airflow_api import Api

USER = "admin"
START_S = 600.0  # a busy laptop took 155 s
_MARK = "TAILRACE_AIRFLOW"  # in the environment of all its processes: its directory
_LOOK_AGAIN_S, _TELL_S = 0.5, 15.0
_IS_LOCKED = "database is locked"  # one whose snapshot is old is told so at once, and may not wait
_HALF_DONE = "Another backfill is running"  # one's own, if it was locked out half-way: Airflow ends that in 2 min or so
_TRY_AGAIN_S, _TRIES_S = 2.0, 240.0
_LOCKED_S = 60  # how long one process waits for another's write: by default five, which a busy laptop exceeds
_SETTINGS = {
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
    "AIRFLOW__CORE__PARALLELISM": "4",
    "AIRFLOW__API__WORKERS": "1",
    "AIRFLOW__API__HOST": "127.0.0.1",
    "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
    "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
    "AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK": "False",
    "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
    "AIRFLOW__LOGGING__FILE_TASK_HANDLER_NEW_FILE_PERMISSIONS": "0o600",  # by default the group's too
    "AIRFLOW__LOGGING__FILE_TASK_HANDLER_NEW_FOLDER_PERMISSIONS": "0o700",
    # No part serves logs: their files are read. For a task that goes on Airflow asks there too; nobody has port 1.
    "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": "1",
    "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": "1",
    "AIRFLOW__LOGGING__NAMESPACE_LEVELS": "airflow.utils.log.file_task_handler=CRITICAL",
    # On a busy laptop: by default 30, 50 and 5 s.
    "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "300",
    "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": "300",
    "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
}


class EmbeddedAirflow:
    """An Airflow in a directory, with all its processes; its files are for this user alone.

    Parameters
    ----------
    directory : Path
        AIRFLOW_HOME: its database, its logs, and the password of its only user.
    dags : Path
        The folder of DAGs.
    environment : dict
        What else its processes are to know: connections, queries, the warehouse.
    start_s : float
        How long a start may take.
    tell : callable
        Is told, while it starts, what is waited for.
    """

    def __init__(
        self,
        directory: Path,
        dags: Path,
        environment: Mapping[str, str],
        start_s: float = START_S,
        tell: Callable[[str], Any] = lambda line: None,
    ) -> None:
        self.directory = Path(os.path.realpath(directory))
        self._start_s, self._tell = start_s, tell
        port = free_port()
        self.password = secrets.token_urlsafe(12)
        passwords = self.directory / "passwords.json"
        self.url = f"http://127.0.0.1:{port}"
        self._inherited = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")}
        programs = str(Path(sys.executable).parent)
        self.environment = {
            **_SETTINGS,
            "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "AIRFLOW_HOME": str(self.directory),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags.absolute()),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.directory}/airflow.db?timeout={_LOCKED_S}",
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
            _MARK: str(self.directory),
            **environment,
        }
        self._passwords = passwords
        self._started = self.directory / "standalone.pid"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> Api:
        """Start it, or start it again on the same database; returns when every part of it is healthy.

        Raises
        ------
        RuntimeError
            When it ends, or is not healthy in time; says what was waited for, and what it wrote last.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(self._passwords, json.dumps({USER: self.password}), 0o600)
        log = self.directory / "standalone.log"
        try:
            with open(log, "ab", opener=private) as output:
                child = subprocess.Popen(
                    [sys.executable, "-m", "tailrace.orchestration.airflow_parts"],
                    env=self._inherited | self.environment,
                    cwd=self.directory,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,  # so that no Ctrl-C reaches it
                    umask=UMASK,
                )
            write_atomically(self._started, str(child.pid), 0o600)
            return self._await(child, log)
        except BaseException:  # Ctrl-C too: nobody would end it
            self.kill()
            raise

    def _await(self, child: subprocess.Popen[bytes], log: Path) -> Api:
        told_s, waits_for, ended = 0.0, "", None
        for since_s in polls(self._start_s, _LOOK_AGAIN_S):
            waits_for = self._waits_for()
            if not waits_for:
                with suppress(httpx.HTTPError, TimeoutError):  # one that was killed may look healthy before it is
                    return self.api(patient=False)
                waits_for = "the API server to let us in"
            if (ended := child.poll()) is not None:
                break
            if since_s > told_s + _TELL_S:
                told_s = since_s
                self._tell(f"waiting for {waits_for}: {since_s:.0f} s of {self._start_s:g} s")
        why = f"within {self._start_s:g} s" if ended is None else f"it ended with exit code {ended}"
        wrote = f"the end of {log}:\n{log.read_text(errors='replace')[-2000:]}"
        raise RuntimeError(f"Airflow did not start, {why}; it waited for {waits_for}; {wrote}")

    def _waits_for(self) -> str:
        """The parts of it that are not healthy yet; empty when all are."""
        try:
            health = httpx.get(f"{self.url}/api/v2/monitor/health", timeout=5).json()
        except (httpx.HTTPError, ValueError):
            return "Airflow's API server"
        sick = [name.replace("_", " ") for name, part in health.items() if (part or {}).get("status") != "healthy"]
        return f"Airflow's {', '.join(sick)}" if sick else ""

    def api(self, patient: bool = True) -> Api:
        """Log in; one who is not patient tries once."""
        return Api.log_in(self.url, USER, self.password, patient)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `airflow …` beside it, as a person would in a shell, who tries again where SQLite was locked."""
        end, locked = time.monotonic() + _TRIES_S, False
        while True:
            done = subprocess.run(
                [sys.executable, "-m", "airflow", *words],
                env=self._inherited | self.environment,
                cwd=self.directory,
                capture_output=True,
                text=True,
                check=False,
            )
            locked = locked or _IS_LOCKED in done.stderr
            again = _IS_LOCKED in done.stderr or (locked and _HALF_DONE in done.stderr)
            if not done.returncode or not again or time.monotonic() > end:
                return done
            time.sleep(_TRY_AGAIN_S)

    def processes(self) -> list[psutil.Process]:
        """All that live: what carries its mark and, as some write over their environment, its session in this place."""
        session = int(self._started.read_text()) if self._started.exists() else None
        marked = fence.carrying(_MARK, lambda value: value == str(self.directory))
        return list({*marked, *(fence.of_session(session, self.directory) if session else ())})

    def stop(self, wait_s: float = 20.0) -> None:
        """End it as Ctrl-C would, and what does not end with it by SIGKILL; nothing is left."""
        try:
            everyone = self.processes()
            for process in everyone:
                with suppress(psutil.Error):
                    if process.parent() not in everyone:
                        process.send_signal(signal.SIGINT)
            psutil.wait_procs(everyone, wait_s)
        finally:  # also at a second Ctrl-C
            self.kill()
            self._started.unlink(missing_ok=True)

    def kill(self) -> None:
        """End all of it at once, as a machine that fails does."""
        fence.kill(self.processes, wait_s=30.0)
