"""Embedded processes, each in its directory, for the demo, for tests and for a laptop.

One of them is a supervisord on a free loopback port: the driver host.
"""

from __future__ import annotations

import configparser
import os
import secrets
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self
from xmlrpc.client import Fault

import psutil
from filelock import FileLock

from tailrace.drivers import fence
from tailrace.drivers.driver_host import DriverHostDown
from tailrace.drivers.ports import free_port
from tailrace.drivers.supervisor import SupervisorHost
from tailrace.ground.errors import Refused, refuse
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.polling import polls

UMASK = 0o077  # the umask of everything embedded: files are for this user alone
AIRFLOW_MARK = "TAILRACE_AIRFLOW"  # variable of all processes of an embedded Airflow, with its directory
_USER = "tailrace"
_LOOK_AGAIN_S = 0.1
_PORT_ATTEMPTS = 5  # tries, as another process may take a free port before supervisord
_PORT_IN_USE = "already listening"  # supervisord's message when its port is taken


def private(path: str, flags: int) -> int:
    """Open a file (as the opener of `open`); a new file is only for this user."""
    return os.open(path, flags, 0o600)


class EmbeddedProcesses(ABC):
    """Processes in a directory that only this user may read; as a context manager it starts and stops them.

    Attributes
    ----------
    mark : str
        The variable with the directory in the environment of all its processes.
    """

    mark: ClassVar[str]

    def __init__(self, directory: Path) -> None:
        self.directory = Path(os.path.realpath(directory))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @abstractmethod
    def start(self) -> Any:
        """Start it, and return when it is ready."""

    @abstractmethod
    def stop(self) -> None:
        """End all its processes."""

    def processes(self) -> list[psutil.Process]:
        """Return its living processes."""
        return fence.carrying(self.mark, lambda value: value == str(self.directory))

    def launch(
        self, arguments: Sequence[str], environment: Mapping[str, str], log: Path, mode: str = "ab"
    ) -> subprocess.Popen[bytes]:
        """Start Python in its own session, so that Ctrl-C does not reach it; its output goes to the log."""
        with open(log, mode, opener=private) as output:
            return subprocess.Popen(
                [sys.executable, *arguments],
                cwd=self.directory,
                env={**environment, self.mark: str(self.directory)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                umask=UMASK,
            )


class EmbeddedHost(EmbeddedProcesses):
    """A supervisord, one for each directory. It outlives the process that started it, unless it is stopped.

    As a context manager it starts or finds the supervisord, and stops it with all its programs at the end.

    Parameters
    ----------
    directory : Path
        The directory of its configuration (readable for this user only, since it contains the password), logs and
        programs.
    patience_s : float
        The seconds without an answer after which a running supervisord counts as hanging.
    probe_s : float
        Seconds to wait for an answer of a starting supervisord before asking again.

    Raises
    ------
    Refused
        When supervisord can't read the path.
    """

    mark = "TAILRACE_DRIVER_HOST"

    def __init__(self, directory: Path, patience_s: float = 10.0, probe_s: float = 1.0) -> None:
        super().__init__(directory)
        self._patience_s, self._probe_s = patience_s, probe_s
        if set(str(self.directory)) & set("%[]*?\n"):
            raise refuse(f"driver host in {directory}", "supervisord takes %[]*? for its own", "a path without them")
        self._file = self.directory / "supervisord.conf"
        self._wanted = self.directory / ".wanted"  # exists from a start until a stop; contains the directory
        self._suspended = self.directory / ".suspended"  # replaces it after a stop that keeps programs
        self._output = self.directory / "supervisord.out"
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def access(self) -> Access:
        """The address and credentials of the supervisord, which exist from the first start on.

        Raises
        ------
        Refused
            When it was never started.
        """
        parser = configparser.RawConfigParser()
        if not parser.read(self._file):
            raise refuse(f"driver host in {self.directory}", "none was started there", "start it first")
        server = parser["inet_http_server"]
        host, _, port = server["port"].partition(":")
        return Access(host, int(port), server["username"], server["password"])

    @property
    def host(self) -> SupervisorHost:
        """The supervisord as a driver host, with the usual timeout."""
        return self._host(self._patience_s)

    def start(self, wait_s: float = 120.0) -> SupervisorHost:
        """Find the running supervisord, or start one in its own session, so that Ctrl-C does not reach it.

        Raises
        ------
        DriverHostDown
            When it does not answer in time; the message contains its output.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.directory / "programs").mkdir(mode=0o700, exist_ok=True)
        with self._lock():
            if self.processes() and self._answers(self._patience_s):
                return self.host
            return self._start(wait_s)

    def keep(self, wait_s: float = 120.0) -> bool:
        """Restart supervisord if it was killed, and return whether it was; leave a stopped or living one alone.

        As its configuration still has its programs, it restarts its drivers.
        """
        if not self._wanted.exists() or self._is_alive():
            return False
        with self._lock():
            if not self._wanted.exists() or self._is_alive():  # stopped or started meanwhile
                return False
            self._start(wait_s)
            return True

    def _is_alive(self) -> bool:
        """Return whether the supervisord of this directory has a process, by its pid file and its mark."""
        with suppress(OSError, ValueError, psutil.Error):
            pid = int((self.directory / "supervisord.pid").read_text())
            return psutil.Process(pid).environ().get(self.mark) == str(self.directory)
        return False

    def _start(self, wait_s: float) -> SupervisorHost:
        """Start supervisord; the caller holds the lock."""
        fence.kill(self.processes, wait_s)  # leftovers of a killed supervisord, which can't be adopted
        if is_copy := self._is_copy():  # drivers of a copy would end the original's, and it has the original's address
            self._remove_programs()
        write_atomically(self._wanted, str(self.directory), 0o600)
        self._suspended.unlink(missing_ok=True)
        previous = self.access if self._file.exists() and not is_copy else None
        port, password = (previous.port, previous.password) if previous else (free_port(), secrets.token_hex(16))
        for _ in range(_PORT_ATTEMPTS):
            write_atomically(self._file, CONFIGURATION.format(port=port, user=_USER, password=password), 0o600)
            if self._run(wait_s):
                return self.host
            port = free_port()
        raise DriverHostDown(f"driver host in {self.directory}: no port of loopback stays free; try again")

    def _is_copy(self) -> bool:
        """True in a copy of the directory of another host."""
        records = [file.read_text() for file in (self._wanted, self._suspended) if file.exists()]
        return any(directory != str(self.directory) for directory in records)

    def _remove_programs(self) -> None:
        for program in (self.directory / "programs").glob("*.conf"):
            program.unlink()

    def stop(self, wait_s: float = 10.0, keeps_programs: bool = False) -> None:
        """Stop supervisord and all its programs: TERM, and KILL after wait_s seconds; nothing is left or restarted.

        With `keeps_programs` they stay in its configuration, and its next start starts them again.

        Raises
        ------
        TimeoutError
            When a process survives.
        """
        if not (self.processes() or self._file.exists()):
            return
        with self._lock():
            if keeps_programs and self._wanted.exists():
                self._wanted.replace(self._suspended)
            self._wanted.unlink(missing_ok=True)
            try:
                if self.processes():  # a copy of the directory has the address of the original's supervisord
                    self._request_shutdown(wait_s)
            finally:  # also after a second Ctrl-C
                fence.kill(self.processes, wait_s=30.0)
                if not keeps_programs:
                    self._remove_programs()
        if self._child is not None:
            self._child.wait()

    def _run(self, wait_s: float) -> bool:
        """Start supervisord, and wait until it answers; return False if its port was taken."""
        # With these marks, a fence, or the end of the Airflow that starts it, would kill it.
        environment = {key: value for key, value in os.environ.items() if key not in (fence.MARK, AIRFLOW_MARK)}
        arguments = ["-P", "-X", "utf8", "-m", "supervisor.supervisord", "-c", str(self._file)]
        self._child = self.launch(arguments, environment, self._output, "wb")
        try:
            return self._await(self._child, wait_s)
        except BaseException:  # also at Ctrl-C, as nobody else would end it
            fence.kill(self.processes, wait_s)
            raise

    def _await(self, child: subprocess.Popen[bytes], wait_s: float) -> bool:
        reason = f"no answer in {wait_s:g} s"
        for _ in polls(wait_s, _LOOK_AGAIN_S):
            if self._answers(self._probe_s):
                return True
            if (exit_code := child.poll()) is not None:
                reason = f"it ended with exit code {exit_code}"
                break
        output = self._output.read_text(errors="replace")
        if child.poll() is not None and _PORT_IN_USE in output:
            return False
        raise DriverHostDown(f"driver host in {self.directory}: {reason}; it wrote:\n{output[-2000:]}")

    def _request_shutdown(self, wait_s: float) -> None:
        with suppress(DriverHostDown, Refused, Fault, psutil.Error):  # an unresponsive one is killed afterwards
            call = self.host.rpc.call
            server = psutil.Process(call("getPID"))
            call("stopAllProcesses", False)  # all at once, as a shutdown stops them one by one
            call("shutdown")  # so that none is restarted
            server.wait(wait_s)

    def _host(self, timeout_s: float) -> SupervisorHost:
        access = self.access
        url = f"http://{access.host}:{access.port}"
        return SupervisorHost(url, self.directory / "programs", access.user, access.password, timeout_s)

    def _answers(self, timeout_s: float) -> bool:
        """Return whether it runs and accepts the password that only this directory's supervisord knows."""
        try:
            return bool(self._host(timeout_s).rpc.call("getState")["statename"] == "RUNNING")
        except (DriverHostDown, Refused, Fault):
            return False

    def _lock(self) -> FileLock:
        return FileLock(self.directory / ".lock", timeout=60, mode=0o600)


CONFIGURATION = """\
[supervisord]
nodaemon=true
silent=true
logfile=supervisord.log
logfile_maxbytes=20MB
logfile_backups=3
pidfile=supervisord.pid
childlogdir=.

[inet_http_server]
port=127.0.0.1:{port}
username={user}
password={password}

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

[rpcinterface:tailrace]
supervisor.rpcinterface_factory=tailrace.drivers.rpc_only:make_interface

[include]
files=programs/*.conf
"""


@dataclass(frozen=True)
class Access:
    """The address and credentials of a supervisord, for a connection; its repr hides the password."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
