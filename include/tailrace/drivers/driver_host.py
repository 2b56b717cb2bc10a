"""Interface to the host of driver processes; with a cluster platform, the host runs their submissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

State = Literal["absent", "starting", "running", "stopping", "ended", "failed"]


@dataclass(frozen=True)
class Driver:
    """The state of one driver as its host reports it.

    Attributes
    ----------
    name : str
        Name of its program on the host, which begins with the query's.
    state : str
        ``ended``: it exited with code 0, or was stopped by request; ``failed``: it exited otherwise and its host
        won't start it again; ``starting``: also between a crash and the pending restart.
    pid : int or None
        Process id on the host; None without a process.
    exit_code : int or None
        Exit code of a finished driver, -1 if a signal ended it; None while it is alive or absent, and if it failed
        without one.
    detail : str
        The host's description of it, for people.
    started_ms, stopped_ms : int or None
        Wall-clock times, in whole seconds, of the last start and the last end of a process of the driver; None if there
        was none since its deployment, or since the start of its host.
    log : str or None
        The path of its log on the host; None if there is none.
    """

    name: str
    state: State
    pid: int | None
    exit_code: int | None
    detail: str
    started_ms: int | None = None
    stopped_ms: int | None = None
    log: str | None = None

    @property
    def query(self) -> str:
        """The name of its query."""
        return self.name.partition(".")[0]

    @property
    def alive(self) -> bool:
        """Whether it has a process, or its host is about to start one."""
        return self.state in ("starting", "running", "stopping")


class DriverHost(Protocol):
    """Deploys drivers, one per program name, and keeps them alive; `homes.program_of` gives the name."""

    def deploy(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> Driver:
        """Get or create the driver (idempotent). A living driver is left alone, even if two callers deploy at once."""
        ...

    def inspect(self, name: str) -> Driver:
        """Return the driver's current state; ``absent`` for a name that the host doesn't know."""
        ...

    def names(self) -> list[str]:
        """Return the names of the drivers that the host knows."""
        ...

    def homes(self, query: str) -> dict[str, str]:
        """Return the homes of a query's drivers, as written in their commands, by the names of their programs."""
        ...

    def stop(self, name: str, wait_s: float) -> Driver:
        """Stop the driver: TERM to its process group, KILL after `wait_s` seconds.

        Then the driver is dead and is not restarted.
        """
        ...

    def run(self, program: str, command: Sequence[str], wait_s: float) -> int | None:
        """Run another command on the host; return its exit code.

        It is None if the command can't be started or does not end in time.
        """
        ...

    def last_lines(self, name: str, lines: int) -> list[str]:
        """Return the last lines of the driver's output, oldest first; none for a name that the host doesn't know."""
        ...


class DriverHostDown(ConnectionError):
    """Raised when a driver host gives no valid answer; the message has its address, not its password."""
