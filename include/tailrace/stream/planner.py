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
        """The number of planned batches."""

    @property
    def rows_left(self) -> int:
        """The number of known rows that are still unread."""

    @property
    def state(self) -> Literal["streaming", "waiting", "quiet"]:
        """The activity of a stream between batches."""

    @property
    def wait_s(self) -> float:
        """The time to wait before the next call of `plan_batch`, after one that has planned nothing."""

    @property
    def problem(self) -> str | None:
        """The reasons why nothing more comes for now; None without any."""

    def record(self, entries: int) -> BatchRecord:
        """Return the batch that follows the journal's first `entries`: an entry, or several merged into one."""

    def observe(self, metrics: Sequence[Mapping[str, Any]]) -> None:
        """Observe the newest batch by its rows in `metrics`, times in ms."""

    def plan_batch(self, progress: Progress | None = None, takes_rows: bool = True) -> BatchRecord | None:
        """Write the next entry, with rows if these may be taken; return None when there is nothing to do now."""
