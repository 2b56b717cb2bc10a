"""Interface to a platform that runs drivers on its own machines, in Spark's deploy mode `cluster`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Application:
    """A submitted driver, as reported by its platform. It may still run on a machine that the platform has lost.

    Attributes
    ----------
    id : str
        Its id on the platform.
    start : str
        Token of the start of the driver that submitted it.
    over : bool
        Whether it has ended.
    exit_code : int or None
        Exit code of its Python process, 0 for success; None while it runs, or if the platform does not know it.
    detail : str
        The platform's description of it, for people.
    blocks : bool
        Whether it must be ended or removed before the next start.
    """

    id: str
    start: str
    over: bool
    exit_code: int | None
    detail: str
    blocks: bool


class ClusterPlatform(Protocol):
    """The applications of one query's driver on a platform. A failed call may still take effect."""

    def applications(self) -> list[Application]:
        """Return every application of the query that the platform knows, including earlier starts."""

    def end(self, application: Application) -> None:
        """Request the end of an application, whatever its state (idempotent), without waiting for it."""

    def last_lines(self, application: Application) -> str:
        """Return the end of an application's output; empty where the platform has none."""

    def submission_settings(self, start: str) -> dict[str, str]:
        """Return Spark's settings that identify a submission of this start; none is secret."""

    def description(self) -> Mapping[str, Any]:
        """Return its address and the query's tag there, as JSON values without secrets."""


class PlatformDown(ConnectionError):
    """Raised when a platform does not answer, or its answer is unusable."""
