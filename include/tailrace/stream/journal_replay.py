"""A planner that plans nothing: it only repeats the first entries of a journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tailrace.engine.progress import Progress
from tailrace.storage.journal import BatchRecord, Journal
from tailrace.storage.replay import Replay, merged
from tailrace.stream.run_options import RunOptions


@dataclass
class JournalReplay:
    """Runs the entries of a journal again, in the batches of a replay."""

    journal: Journal
    replay: Replay
    options: RunOptions = RunOptions(live=False, flush=False)  # noqa: RUF009 (frozen)
    problem: str | None = None
    wait_s: float = 0.0
    state: Literal["streaming", "waiting", "quiet"] = "streaming"

    def __post_init__(self) -> None:
        self._rows = self.rows_left = self.journal[self.batches - 1].position.rows if self.batches else 0

    @property
    def batches(self) -> int:
        """The number of entries to run."""
        return self.replay.entries

    def record(self, entries: int) -> BatchRecord:
        """Return the batch that follows the first `entries` entries."""
        return merged([self.journal[number] for number in range(entries, self.replay.end(entries))])

    def observe(self, metrics: Sequence[Mapping[str, Any]]) -> None:
        """Observe how far the replay has come."""
        self.rows_left = self._rows - self.journal[metrics[0]["batch"]].position.rows

    def plan_batch(self, progress: Progress | None = None, takes_rows: bool = True) -> None:
        """Plan nothing."""
