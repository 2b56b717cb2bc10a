"""The exception of a run that accepted no record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.ground.errors import printable

if TYPE_CHECKING:
    from tailrace.api.run import Run


class Failed(Exception):
    """Raised when a run has read records, but accepted none of them.

    Read the reason of each record: `failed.run.quarantine()`, or the command `tailrace quarantine`.

    Attributes
    ----------
    run : Run
        The run: `run.quarantine()` has the rejected records, each with the reason.

    >>> import tailrace
    >>> rows = tailrace.Stream({"at": [1], "id": [7]}, event_time="at", id="id")
    >>> try:
    ...     tailrace.query("aggregate", streams={"rows": rows}, window="5 s", aggregate={"function": "count"}).run()
    ... except tailrace.Failed as failed:
    ...     len(failed.run.quarantine())
    1
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        super().__init__("\n".join(["none of the records that were read was accepted", *run.lines()]))

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows in place of a traceback."""
        return ["failed", *map(printable, str(self).splitlines())]
