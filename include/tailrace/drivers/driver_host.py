"""Where drivers live: the one small interface behind which supervisord stands, and YARN or Kubernetes may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

State = Literal["absent", "starting", "running", "stopping", "ended", "failed"]


@dataclass(frozen=True)
class Driver:
    """A driver as its host knows it.

    Attributes
    ----------
    state : str
        ``ended``: it went with exit code 0, or was stopped by request; ``failed``: it went otherwise and its host
        won't start it again; ``starting``: also between a crash and the restart that is due.
    pid : int or None
        On the host; None where there is no process.
    exit_code : int or None
        Of one that is over, -1 where a signal ended it; None while it is alive or absent.
    detail : str
        What the host says of it, for people.
    """

    name: str
    state: State
    pid: int | None
    exit_code: int | None
    detail: str

    @property
    def alive(self) -> bool:
        """Whether it has a process, or its host is about to give it one."""
        return self.state in ("starting", "running", "stopping")


class DriverHost(Protocol):
    """What deploys drivers, one a name, and keeps them alive."""

    def deploy(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> Driver:
        """Get or create: one that is alive stays as it is, also when two call at once."""
        ...

    def look(self, name: str) -> Driver:
        """How it stands; state ``absent`` for one that the host doesn't know."""
        ...

    def stop(self, name: str, wait_s: float) -> Driver:
        """TERM to its process group, KILL after wait_s seconds; returns when it is dead, and it won't come back."""
        ...

    def run(self, program: str, command: Sequence[str], wait_s: float) -> int | None:
        """Run another command there: its exit code; None where it can't be started, or has not ended in time."""
        ...

    def last_lines(self, name: str, lines: int) -> list[str]:
        """The last lines of what it wrote, oldest first; none for one that the host doesn't know."""
        ...


class DriverHostDown(ConnectionError):
    """The driver host does not answer, or not as one does; names its address, never its password."""
