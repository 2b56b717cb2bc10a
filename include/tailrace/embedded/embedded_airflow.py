"""An embedded Airflow on a port of loopback, for the demo, for tests, and for `tailrace serve`."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil

from tailrace.drivers import fence
from tailrace.drivers.ports import free_port
from tailrace.embedded.airflow_api import Api
from tailrace.embedded.airflow_command import run_airflow
from tailrace.embedded.airflow_parts import EVENTS
from tailrace.embedded.embedded_processes import AIRFLOW_MARK, EmbeddedProcesses
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.polling import polls

USER = "admin"
START_S = 600.0  # it took 155 s on a busy laptop
_LOCK_TIMEOUT_S = 60  # the wait of a process for another's write; the default of 5 s is too short on a busy laptop
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
    "AIRFLOW__LOGGING__FILE_TASK_HANDLER_NEW_FILE_PERMISSIONS": "0o600",  # by default the group could read the files
    "AIRFLOW__LOGGING__FILE_TASK_HANDLER_NEW_FOLDER_PERMISSIONS": "0o700",
    # No component serves logs, as their files are read. For a running task Airflow also asks a server: port 1 is
    # unused.
    "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": "1",
    "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": "1",
    "AIRFLOW__LOGGING__NAMESPACE_LEVELS": "airflow.utils.log.file_task_handler=CRITICAL",
    # For a busy laptop; the defaults are 30, 50 and 5 s.
    "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "300",
    "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": "300",
    "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
}


class EmbeddedAirflow(EmbeddedProcesses):
    """An Airflow in a directory, with all its processes.

    Parameters
    ----------
    directory : Path
        AIRFLOW_HOME: its database, its logs, and the password of its only user.
    dags : Path
        The folder of DAGs; the folder of plugins is `plugins` beside it.
    environment : dict
        Further environment variables of its processes: connections, queries, the warehouse.
    start_s : float
        Time limit of a start, in s.
    echo : callable
        Called with lines about what a start or a command waits for.
    look_again_s, echo_s : float
        The intervals between two looks at a start, and between two such lines, in s.
    port : int, optional
        The port of loopback on which its API server listens; by default a free one.
    """

    mark = AIRFLOW_MARK

    def __init__(
        self,
        directory: Path,
        dags: Path,
        environment: Mapping[str, str],
        start_s: float = START_S,
        echo: Callable[[str], Any] = lambda line: None,
        look_again_s: float = 0.5,
        echo_s: float = 15.0,
        port: int | None = None,
    ) -> None:
        super().__init__(directory)
        self._start_s, self._echo = start_s, echo
        self._look_again_s, self._tell_s = look_again_s, echo_s
        port = port or free_port()
        self.password_file = self.directory / "passwords.json"
        self.password = self._earlier_password() or secrets.token_urlsafe(12)
        self.url = f"http://127.0.0.1:{port}"
        self._base_environment = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")}
        programs = str(Path(sys.executable).parent)
        self.environment = {
            **_SETTINGS,
            "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "AIRFLOW_HOME": str(self.directory),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags.absolute()),
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(dags.absolute().with_name("plugins")),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.directory}/airflow.db?timeout={_LOCK_TIMEOUT_S}",
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self.password_file),
            **environment,
        }
        self._child: subprocess.Popen[bytes] | None = None
        self._pid_file = self.directory / "standalone.pid"

    @property
    def log(self) -> Path:
        """The file with the output of all its components."""
        return self.directory / "standalone.log"

    @property
    def events(self) -> Path:
        """The file that names each component that ended and was started again, a line each."""
        return self.directory / EVENTS

    def start(self) -> Api:
        """Start Airflow, or restart it on the same database; return a client once every component is healthy.

        Raises
        ------
        RuntimeError
            When it ends, or is not healthy in time; names the missing components, and quotes the end of its log.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(self.password_file, json.dumps({USER: self.password}), 0o600)
        self.events.unlink(missing_ok=True)
        try:
            environment = self._base_environment | self.environment
            self._child = self.launch(["-m", "tailrace.embedded.airflow_parts"], environment, self.log)
            write_atomically(self._pid_file, str(self._child.pid), 0o600)
            return self._await(self._child, self.log)
        except BaseException:  # Ctrl-C included: nobody else would end it
            self.kill()
            raise

    def _await(self, child: subprocess.Popen[bytes], log: Path) -> Api:
        last_message_s, obstacle, exit_code = 0.0, "", None
        for elapsed_s in polls(self._start_s, self._look_again_s):
            obstacle = self._unhealthy()
            if not obstacle:
                with suppress(httpx.HTTPError, TimeoutError):  # after a kill it may look healthy too early
                    return self.api(patient=False)
                obstacle = "the API server to let us in"
            if (exit_code := child.poll()) is not None:
                break
            if elapsed_s > last_message_s + self._tell_s:
                last_message_s = elapsed_s
                self._echo(f"waiting for {obstacle}: {elapsed_s:.0f} s of {self._start_s:g} s")
        why = f"within {self._start_s:g} s" if exit_code is None else f"it ended with exit code {exit_code}"
        log_end = f"the end of {log}:\n{log.read_text(errors='replace')[-2000:]}"
        raise RuntimeError(f"Airflow did not start, {why}; it waited for {obstacle}; {log_end}")

    def _earlier_password(self) -> str | None:
        """Return the password of an earlier start; None where there was none, or its file is damaged."""
        try:
            return str(json.loads(self.password_file.read_text())[USER])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def ended(self) -> int | None:
        """Return the exit code of the process that runs its components; None while it runs."""
        return None if self._child is None else self._child.poll()

    def _unhealthy(self) -> str:
        """Name the components that are not healthy yet; empty when all are healthy."""
        try:
            health = httpx.get(f"{self.url}/api/v2/monitor/health", timeout=5).json()
        except (httpx.HTTPError, ValueError):
            return "Airflow's API server"
        names = [name.replace("_", " ") for name, part in health.items() if (part or {}).get("status") != "healthy"]
        return f"Airflow's {', '.join(names)}" if names else ""

    def api(self, patient: bool = True) -> Api:
        """Log in and return a client; without `patient`, try once."""
        return Api.log_in(self.url, USER, self.password, patient)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `airflow …` on the same database, like a shell; retry if SQLite was locked."""
        environment = self._base_environment | self.environment | {self.mark: str(self.directory)}
        return run_airflow(words, environment, self.directory, self._echo)

    def processes(self) -> list[psutil.Process]:
        """Return its living processes: by the mark in their environment, and by their session.

        The session, in this directory, is needed because some processes overwrite their environment.
        """
        session = int(self._pid_file.read_text()) if self._pid_file.exists() else None
        return list({*super().processes(), *(fence.of_session(session, self.directory) if session else ())})

    def stop(self, wait_s: float = 20.0) -> None:
        """End it like Ctrl-C, and by SIGKILL after `wait_s` seconds; no process is left."""
        try:
            processes = self.processes()
            for process in processes:
                with suppress(psutil.Error):
                    if process.parent() not in processes:
                        process.send_signal(signal.SIGINT)
            psutil.wait_procs(processes, wait_s)
        finally:  # also after a second Ctrl-C
            self.kill()
            self._pid_file.unlink(missing_ok=True)

    def kill(self) -> None:
        """Kill all its processes at once, as a machine failure would."""
        fence.kill(self.processes, wait_s=30.0)
