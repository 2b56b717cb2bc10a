"""Drivers under supervisord, one program a query: alike on this machine and on another one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from xmlrpc.client import Fault

from filelock import FileLock, Timeout

from tailrace.drivers import programs as texts
from tailrace.drivers.driver_host import Driver, State
from tailrace.drivers.programs import checked
from tailrace.drivers.rpc import ALREADY_ADDED, BAD_NAME, CANT_REREAD, STILL_RUNNING, Rpc, TransientFault
from tailrace.ground.errors import Refused, refuse
from tailrace.ground.files import write_atomically
from tailrace.ground.polling import polls

_LOOK_AGAIN_S = 0.1
_SOON_S = 5.0  # what supervisord does by itself takes it a second or two


class SupervisorHost:
    """A driver host that is a supervisord.

    Parameters
    ----------
    url : str
        Of its inet_http_server; may hold user and password, percent-quoted.
    programs : Path
        The directory whose *.conf supervisord includes, as it is reached from here. The logs are written there too.
    user, password : str, optional
        Go before those of the URL.
    timeout_s : float
        How long supervisord may be silent over a request.
    lock_s : float
        How long to wait for others that deploy or stop a driver.

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
    ) -> None:
        self.rpc = Rpc(url, user, password, timeout_s)
        self.programs = programs
        self._lock_s = lock_s

    def __repr__(self) -> str:
        return f"SupervisorHost({self.rpc.url!r}, {str(self.programs)!r})"

    def deploy(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> Driver:
        """Get or create: one that is alive stays as it is, whatever the command; any other one is started anew.

        A caller that dies on the way leaves a state from which the next call goes on.

        Raises
        ------
        Refused
            When supervisord can't be given the name, the command or the environment, or can't read its configuration.
        DriverHostDown
            When it does not answer.
        """
        text = texts.driver(name, command, environment)
        with self._alone():
            driver = self.look(name)
            if driver.alive:
                return driver
            self._add(name, text, known=driver.state != "absent")
            return self.look(name)

    def look(self, name: str) -> Driver:
        """How it stands; absent where supervisord does not know it."""
        info = self.rpc.ask("getProcessInfo", checked(name))
        return _driver(name, info) if info else Driver(name, "absent", None, None, "its host does not know it")

    def stop(self, name: str, wait_s: float) -> Driver:
        """TERM to its process group, KILL after wait_s seconds; returns when it is dead, and it won't come back.

        Raises
        ------
        TimeoutError
            When it lives on.
        DriverHostDown
            When supervisord does not answer.
        """
        with self._alone():
            self._ask_to_stop(name)
            self._file(name).unlink(missing_ok=True)  # or it would be back with supervisord's next start
        driver = self._wait(name, wait_s, lambda driver: driver.state == "stopping")
        if driver.state == "stopping" and driver.pid is not None:
            self._kill(name, driver.pid)
            driver = self._wait(name, 2 * _SOON_S, lambda driver: driver.state == "stopping")
        if driver.state == "stopping":
            raise TimeoutError(f"{name}, pid {driver.pid}, lives on after SIGKILL: it hangs in its machine's kernel")
        return driver

    def run(self, program: str, command: Sequence[str], wait_s: float) -> int | None:
        """Run another command, as a program of a moment; its name has a hyphen, which no driver's has.

        Gives its exit code, -1 where a signal ended it; None where it can't be started, or has not ended in time.
        """
        text = texts.once(program, command)
        try:
            with self._alone():
                self._add(program, text, known=self.rpc.ask("getProcessInfo", program) is not None)
            self.rpc.call("startProcess", program, False)
            for _ in polls(wait_s, _LOOK_AGAIN_S):
                info = self.rpc.ask("getProcessInfo", program)
                if info and info["statename"] == "EXITED":
                    return int(info["exitstatus"])
            return None
        except Fault:  # it can't be started, or another one has started it
            return None
        finally:
            self._file(program).unlink(missing_ok=True)
            with suppress(Fault):  # it was not added, or it runs on
                self.rpc.call("removeProcessGroup", program)

    def last_lines(self, name: str, lines: int) -> list[str]:
        """The last lines of its log, oldest first, also after its end; none where there is no log."""
        checked(name)
        size = max(lines * 300, 1 << 14)
        while size > 1 and lines > 0:
            for cut in range(4):  # supervisord fails over a cut within a character, and over what is no UTF-8
                with suppress(TransientFault):
                    tail = self.rpc.ask("tailProcessStdoutLog", name, 0, size - cut)
                    return tail[0].splitlines()[-lines:] if tail else []
            size //= 2
        return []

    def _add(self, name: str, text: str, known: bool) -> None:
        """Have supervisord take up a program; the lock is held."""
        write_atomically(self._file(name), text, 0o600)  # it may hold secrets
        try:
            self.rpc.call("reloadConfig")
            if known:  # a group keeps the configuration that it was made with
                self.rpc.call("removeProcessGroup", name)
            self.rpc.call("addProcessGroup", name)
        except Fault as fault:
            if fault.faultCode in (ALREADY_ADDED, STILL_RUNNING):  # someone else started it, by supervisorctl
                return
            if fault.faultCode == BAD_NAME:
                wrong = f"it does not read {self.programs}/*.conf"
                right = "a section [include] with these files in its configuration, readable for its user"
            elif fault.faultCode == CANT_REREAD:
                place = re.search(r"in section .*\Z", fault.faultString)  # what is before may quote an environment
                wrong = f"it can't read its configuration {place[0] if place else ''}".rstrip()
                right = "what `supervisorctl reread` asks for on its machine"
            else:
                raise
            raise refuse(f"driver host at {self.rpc.url}", wrong, right) from None

    def _ask_to_stop(self, name: str) -> None:
        said = ""
        for _ in polls(_SOON_S, _LOOK_AGAIN_S):
            driver = self.look(name)
            if not driver.alive or driver.state == "stopping":
                return
            try:
                self.rpc.call("stopProcess", name, False)
            except Fault as fault:  # it is between a crash and its restart
                said = fault.faultString
        raise TimeoutError(f"{name} can't be stopped: {said}")

    def _kill(self, name: str, group: int) -> None:
        """KILL a process group by a program of a moment: supervisord's own signals reach a group's leader alone."""
        with suppress(Refused):  # some configuration is broken; its leader can be killed all the same
            self.run(f"{name}-kill-{group}", ["/bin/sh", "-c", f"kill -KILL -{group}"], _SOON_S)
        self._wait(name, _SOON_S, lambda driver: driver.state == "stopping")
        with suppress(Fault):  # it is dead
            self.rpc.call("signalProcess", name, "KILL")

    def _wait(self, name: str, wait_s: float, more: Callable[[Driver], bool]) -> Driver:
        driver = self.look(name)
        for _ in polls(wait_s, _LOOK_AGAIN_S):
            driver = self.look(name)
            if not more(driver):
                break
        return driver

    def _file(self, name: str) -> Path:
        return self.programs / f"{name}.conf"

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Be the only one who changes programs; the lock lies among them, so that it is shared as they are."""
        if not self.programs.is_dir():
            raise refuse(f"programs {self.programs}", "it is no directory", "the one whose *.conf supervisord includes")
        try:
            with FileLock(self.programs / ".lock", timeout=self._lock_s):
                yield
        except Timeout:
            raise TimeoutError(f"{self.programs}: others have deployed or stopped for {self._lock_s:g} s") from None


def _driver(name: str, info: dict[str, Any]) -> Driver:
    """What supervisord says, in the words of the interface."""
    code, pid, said = int(info["exitstatus"]), int(info["pid"]) or None, str(info["spawnerr"] or info["description"])
    gone = "ended by a signal" if code < 0 else f"ended with exit code {code}"
    state: State = "failed"
    match info["statename"]:
        case "RUNNING":
            state = "running"
        case "STARTING" | "BACKOFF":
            state = "starting"
        case "STOPPING":
            state, said = "stopping", "asked to stop"
        case "STOPPED":
            state, said = ("ended", f"stopped by request, {gone}") if info["start"] else ("starting", "to be started")
        case "EXITED" if code not in texts.FINAL:
            state, said = "starting", f"{gone}, to be restarted"
        case "EXITED":
            state, said = "failed" if code else "ended", gone
    alive = state not in ("ended", "failed")
    return Driver(name, state, pid, None if alive or (state == "failed" and not code) else code, said)
