"""Protocol of planners: they name the next batch of a stream's run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from tailrace.engine.progress import Progress
from tailrace.storage.journal import BatchRecord, Journal
from tailrace.stream.run_options import RunOptions


class Planner(Protocol):
    """Protocol of a planner of batches."""

    @property
    def journal(self) -> Journal:
        """The journal of the batches."""

    @property
    def options(self) -> RunOptions:
        """The options of the run."""

    @property
    def batches(self) -> int:
        """How many batches are planned."""

    @property
    def rows_left(self) -> int:
        """How many rows are known to be still to be read."""

    @property
    def state(self) -> Literal["streaming", "waiting", "quiet"]:
        """What a stream does that is at no batch."""

    @property
    def wait_s(self) -> float:
        """How long to wait before the next call of `plan_batch`, after one that has planned nothing."""

    @property
    def problem(self) -> str | None:
        """The reasons for which nothing more comes for now; None where there are none."""

    def record(self, entries: int) -> BatchRecord:
        """Return the batch that follows so many of the journal's entries: an entry, or several merged into one."""

    def observe(self, metrics: Sequence[Mapping[str, Any]]) -> None:
        """Take note of the newest batch by its rows in `metrics`, times in ms."""

    def plan_batch(self, progress: Progress | None = None) -> BatchRecord | None:
        """Write the next entry; None when there is nothing to be done now."""
