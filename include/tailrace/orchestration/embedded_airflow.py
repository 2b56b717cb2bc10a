"""An Airflow standalone of one's own, on free ports of loopback: for the demo, for tests, and for a laptop."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import psutil

from tailrace.orchestration import fence
from tailrace.orchestration.embedded import free_port
from tailrace.orchestration.supervisor import write_private

USER = "admin"
_MARK = "TAILRACE_AIRFLOW"  # in the environment of all its processes: its directory
_LOOK_AGAIN_S = 0.5
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
}


@dataclass(frozen=True)
class Api:
    """Airflow's REST API, version 2, as a logged-in user."""

    url: str
    token: str

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None, **query: Any) -> Any:
        """What the API answers, as plain data.

        Raises
        ------
        httpx.HTTPStatusError
            When it refuses; the answer's text says why.
        """
        answer = httpx.request(
            method,
            f"{self.url}/api/v2/{path}",
            json=body,
            params=query,
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=30,
        )
        answer.raise_for_status()
        return answer.json() if answer.content else None


class EmbeddedAirflow:
    """`airflow standalone` in a directory, with all its processes.

    Parameters
    ----------
    directory : Path
        AIRFLOW_HOME: its database, its logs, and the password of its only user.
    dags : Path
        The folder of DAGs.
    environment : dict
        What else its processes are to know: connections, queries, the warehouse.
    """

    def __init__(self, directory: Path, dags: Path, environment: Mapping[str, str]) -> None:
        self.directory = Path(os.path.realpath(directory))
        self._ports = {name: free_port() for name in ("api", "worker log", "trigger log")}
        self.password = secrets.token_urlsafe(12)
        passwords = self.directory / "passwords.json"
        self.url = f"http://127.0.0.1:{self._ports['api']}"
        self._inherited = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")}
        programs = str(Path(sys.executable).parent)  # standalone starts the `airflow` that it finds on PATH
        self.environment = {
            **_SETTINGS,
            "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "AIRFLOW_HOME": str(self.directory),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags.absolute()),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.directory}/airflow.db?timeout={_LOCKED_S}",
            "AIRFLOW__API__PORT": str(self._ports["api"]),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(self._ports["worker log"]),
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(self._ports["trigger log"]),
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

    def start(self, wait_s: float = 180.0) -> Api:
        """Start it, or start it again on the same database; returns when every part of it is healthy.

        Raises
        ------
        RuntimeError
            When it ends, or is not healthy in time; says what it wrote last.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        write_private(self._passwords, json.dumps({USER: self.password}))
        log = self.directory / "standalone.log"
        end = time.monotonic() + wait_s
        try:
            with log.open("ab") as output:
                child = subprocess.Popen(
                    [sys.executable, "-m", "airflow", "standalone"],
                    env=self._inherited | self.environment,
                    cwd=self.directory,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,  # so that no Ctrl-C reaches it
                )
            self._started.write_text(str(child.pid))
            while True:
                if self._healthy():
                    with suppress(httpx.HTTPError):  # one that was killed may look healthy before it is
                        return self.api()
                if child.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"Airflow did not start; its last words in {log}:\n{log.read_text()[-2000:]}")
                time.sleep(_LOOK_AGAIN_S)
        except BaseException:  # Ctrl-C too: nobody would end it
            self.kill()
            raise

    def api(self) -> Api:
        """Log in."""
        answer = httpx.post(f"{self.url}/auth/token", json={"username": USER, "password": self.password}, timeout=30)
        answer.raise_for_status()
        return Api(self.url, answer.json()["access_token"])

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

    def _healthy(self) -> bool:
        try:
            health = httpx.get(f"{self.url}/api/v2/monitor/health", timeout=5).json()
        except (httpx.HTTPError, ValueError):
            return False
        return all(part.get("status") == "healthy" for name, part in health.items())
