"""Counts the newest records, accepted and rejected, as totals over a stream's life hide recent faults."""

from __future__ import annotations

from collections import deque

_SPAN_S = 60.0


class RecentRecords:
    """Counts the records of the newest batch with records, and of batches in the minute before it."""

    def __init__(self) -> None:
        self._batches: deque[tuple[float, int, int]] = deque()

    def add(self, accepted: int, rejected: int, now_s: float) -> None:
        """Add a batch; `now_s` is of a steady clock."""
        if accepted or rejected:
            self._batches.append((now_s, accepted, rejected))
            while self._batches[0][0] <= now_s - _SPAN_S:
                self._batches.popleft()

    @property
    def counts(self) -> dict[str, int]:
        """The counts, by the names in a status."""
        return {
            "recent_rows": sum(accepted for _, accepted, _ in self._batches),
            "recent_quarantined": sum(rejected for _, _, rejected in self._batches),
        }
