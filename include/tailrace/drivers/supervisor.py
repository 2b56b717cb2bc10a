"""A driver host on supervisord, local or remote, with one program for each warehouse and query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from xmlrpc.client import Fault

from filelock import FileLock, Timeout

from tailrace.drivers import programs as configurations
from tailrace.drivers.driver_host import Driver, State
from tailrace.drivers.programs import checked
from tailrace.drivers.rpc import ALREADY_ADDED, BAD_NAME, CANT_REREAD, STILL_RUNNING, Rpc, TransientFault
from tailrace.ground.errors import Refused, refuse
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.polling import polls

_LOOK_AGAIN_S = 0.1


class SupervisorHost:
    """A driver host that is a supervisord.

    Parameters
    ----------
    url : str
        URL of its inet_http_server; may contain user and password, percent-encoded.
    programs : Path
        The directory whose *.conf files supervisord includes, by its path on this machine. Logs are written there, too.
    user, password : str, optional
        Take precedence over the URL's.
    timeout_s : float
        Seconds to wait for supervisord's answer to a request.
    lock_s : float
        Seconds to wait for other callers that deploy or stop a driver.
    soon_s : float
        Seconds within which supervisord's own actions end; they usually take one or two.

    Raises
    ------
    Refused
        When the URL can't be read.
    """

    def __init__(
        self,
        url: str,
        programs: Path,
        user: str | None = None,
        password: str | None = None,
        timeout_s: float = 10.0,
        lock_s: float = 60.0,
        soon_s: float = 5.0,
    ) -> None:
        self.rpc = Rpc(url, user, password, timeout_s)
        self.programs = programs
        self._lock_s, self._soon_s = lock_s, soon_s

    def __repr__(self) -> str:
        return f"SupervisorHost({self.rpc.url!r}, {str(self.programs)!r})"

    def deploy(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> Driver:
        """Get or create the driver (idempotent): a living driver is left alone, any other is started again.

        A living driver is left alone even if the command differs. If a caller dies in between, the next call continues
        from there.

        Raises
        ------
        Refused
            When the name, the command or the environment can't be written for supervisord, or it can't read its
            configuration.
        DriverHostDown
            When it does not answer.
        """
        text = configurations.driver(name, command, environment)
        with self._lock():
            driver = self.inspect(name)
            if driver.alive:
                return driver
            self._add(name, text, known=driver.state != "absent")
            return self.inspect(name)

    def inspect(self, name: str) -> Driver:
        """Return the driver's current state; ``absent`` if supervisord does not know it."""
        info = self.rpc.ask("getProcessInfo", checked(name))
        return _driver(name, info) if info else Driver(name, "absent", None, None, "its host does not know it")

    def names(self) -> list[str]:
        """Return the names of the drivers that supervisord knows; temporary programs have a hyphen in their names."""
        names = [str(info["name"]) for info in self.rpc.call("getAllProcessInfo")]
        return sorted(name for name in names if "-" not in name and self._file(name).exists())

    def homes(self, query: str) -> dict[str, str]:
        """Return the homes of a query's drivers, by the names of their programs."""
        homes = {}
        for file in self.programs.glob(f"{query}.*"):
            if file.suffix == ".conf" and file.stem.partition(".")[0] == query and "-" not in file.name:
                with suppress(FileNotFoundError, UnicodeDecodeError):  # removed meanwhile, or not ours
                    home = configurations.home_of(file.read_text(encoding="utf-8"))
                    if home is not None:
                        homes[file.stem] = home
        return homes

    def stop(self, name: str, wait_s: float) -> Driver:
        """Stop the driver: TERM to its process group, KILL after wait_s seconds. Then it is dead and is not restarted.

        Raises
        ------
        TimeoutError
            When it survives.
        DriverHostDown
            When supervisord does not answer.
        """
        with self._lock():
            self._request_stop(name)
            self._file(name).unlink(missing_ok=True)  # otherwise supervisord's next start would start it again
        driver = self._wait(name, wait_s, lambda driver: driver.state == "stopping")
        if driver.state == "stopping" and driver.pid is not None:
            self._kill(name, driver.pid)
            driver = self._wait(name, 2 * self._soon_s, lambda driver: driver.state == "stopping")
        if driver.state == "stopping":
            raise TimeoutError(f"{name}, pid {driver.pid}, lives on after SIGKILL: it hangs in its machine's kernel")
        return driver

    def run(self, program: str, command: Sequence[str], wait_s: float) -> int | None:
        """Run another command as a temporary program, whose name has a hyphen, unlike a driver's.

        Return its exit code, -1 if a signal ended it; None if it can't be started, or has not ended in time.
        """
        text = configurations.once(program, command)
        try:
            with self._lock():
                self._add(program, text, known=self.rpc.ask("getProcessInfo", program) is not None)
            self.rpc.call("startProcess", program, False)
            for _ in polls(wait_s, _LOOK_AGAIN_S):
                info = self.rpc.ask("getProcessInfo", program)
                if info and info["statename"] == "EXITED":
                    return int(info["exitstatus"])
            return None
        except Fault:  # it can't be started, or another caller has started it
            return None
        finally:
            self._file(program).unlink(missing_ok=True)
            with suppress(Fault):  # it was not added, or it still runs
                self.rpc.call("removeProcessGroup", program)

    def last_lines(self, name: str, lines: int) -> list[str]:
        """Return the last lines of the driver's log, oldest first, also after its end; none without a log."""
        checked(name)
        size = max(lines * 300, 1 << 14)
        while size > 1 and lines > 0:
            for cut in range(4):  # supervisord fails if a cut splits a character, or at invalid UTF-8
                with suppress(TransientFault):
                    tail = self.rpc.ask("tailProcessStdoutLog", name, 0, size - cut)
                    return tail[0].splitlines()[-lines:] if tail else []
            size //= 2
        return []

    def _add(self, name: str, text: str, known: bool) -> None:
        """Write a program's configuration and add the program to supervisord; the caller holds the lock."""
        write_atomically(self._file(name), text, 0o600)  # the configuration may contain secrets
        try:
            self.rpc.call("reloadConfig")
            if known:  # a group keeps the configuration with which it was added
                self.rpc.call("removeProcessGroup", name)
            self.rpc.call("addProcessGroup", name)
        except Fault as fault:
            if fault.faultCode in (ALREADY_ADDED, STILL_RUNNING):  # somebody else started it, by supervisorctl
                return
            if fault.faultCode == BAD_NAME:
                reason = f"it does not read {self.programs}/*.conf"
                remedy = "a section [include] with these files in its configuration, readable for its user"
            elif fault.faultCode == CANT_REREAD:
                section = re.search(r"in section .*\Z", fault.faultString)  # earlier text may quote an environment
                reason = f"it can't read its configuration {section[0] if section else ''}".rstrip()
                remedy = "what `supervisorctl reread` asks for on its machine"
            else:
                raise
            raise refuse(f"driver host at {self.rpc.url}", reason, remedy) from None

    def _request_stop(self, name: str) -> None:
        fault_text = ""
        for _ in polls(self._soon_s, _LOOK_AGAIN_S):
            driver = self.inspect(name)
            if not driver.alive or driver.state == "stopping":
                return
            try:
                self.rpc.call("stopProcess", name, False)
            except Fault as fault:  # it is between a crash and its restart
                fault_text = fault.faultString
        raise TimeoutError(f"{name} can't be stopped: {fault_text}")

    def _kill(self, name: str, group: int) -> None:
        """Send KILL to a process group by a temporary program, as supervisord's own signals only reach its leader."""
        with suppress(Refused):  # some configuration is broken; the leader can still be killed
            self.run(f"{name}-kill-{group}", ["/bin/sh", "-c", f"kill -KILL -{group}"], self._soon_s)
        self._wait(name, self._soon_s, lambda driver: driver.state == "stopping")
        with suppress(Fault):  # it is already dead
            self.rpc.call("signalProcess", name, "KILL")

    def _wait(self, name: str, wait_s: float, is_pending: Callable[[Driver], bool]) -> Driver:
        driver = self.inspect(name)
        for _ in polls(wait_s, _LOOK_AGAIN_S):
            driver = self.inspect(name)
            if not is_pending(driver):
                break
        return driver

    def _file(self, name: str) -> Path:
        return self.programs / f"{name}.conf"

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Hold the lock for changes of programs; it is in their directory, so that it is shared like them."""
        if not self.programs.is_dir():
            raise refuse(f"programs {self.programs}", "it is no directory", "the one whose *.conf supervisord includes")
        try:
            with FileLock(self.programs / ".lock", timeout=self._lock_s):
                yield
        except Timeout:
            raise TimeoutError(f"{self.programs}: others have deployed or stopped for {self._lock_s:g} s") from None


def _driver(name: str, info: dict[str, Any]) -> Driver:
    """Return the state of a driver from supervisord's process info."""
    code, pid, detail = int(info["exitstatus"]), int(info["pid"]) or None, str(info["spawnerr"] or info["description"])
    end = "ended by a signal" if code < 0 else f"ended with exit code {code}"
    state: State = "failed"
    match info["statename"]:
        case "RUNNING":
            state = "running"
        case "STARTING" | "BACKOFF":
            state = "starting"
        case "STOPPING":
            state, detail = "stopping", "asked to stop"
        case "STOPPED":
            state, detail = ("ended", f"stopped by request, {end}") if info["start"] else ("starting", "to be started")
        case "EXITED" if code not in configurations.FINAL:
            state, detail = "starting", f"{end}, to be restarted"
        case "EXITED":
            state, detail = "failed" if code else "ended", end
    alive = state not in ("ended", "failed")
    exit_code = None if alive or (state == "failed" and not code) else code
    started_ms, stopped_ms = (int(info[name]) * 1000 or None for name in ("start", "stop"))
    return Driver(name, state, pid, exit_code, detail, started_ms, stopped_ms, info.get("stdout_logfile") or None)
