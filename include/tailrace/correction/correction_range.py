"""The range of a correction, in event time or arrival time."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.ground.duration import format_time
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL


@dataclass(frozen=True)
class CorrectionRange:
    """[start, end) in ms, in event time or arrival time. None is unbounded."""

    start: int | None = None
    end: int | None = None
    arrival: bool = False

    def __str__(self) -> str:
        texts = ("…" if point is None else format_time(point) for point in (self.start, self.end))
        return f"{'arrival' if self.arrival else 'event time'} [{', '.join(texts)})"

    @property
    def words(self) -> str:
        """The range in words: all event times, arrival times from … to …"""
        name = "arrival times" if self.arrival else "event times"
        parts = [
            f"{word} {format_time(point)}"
            for word, point in (("from", self.start), ("to", self.end))
            if point is not None
        ]
        return " ".join([name, *parts]) if parts else f"all {name}"

    def covered(self, as_of: int) -> tuple[int | None, int | None]:
        """Return the range (a, b] of `arrived`, in ms, whose late rows are all corrected, in all windows.

        a is None without a lower bound. b is None if there is no such range, as for a part of event time. b is at most
        the cut-off: a stream may go on after a bounded run, and more tuples may come before the interval's end.
        """
        if self.arrival:
            return self.start, None if self.end is None else min(self.end, as_of)
        return None, as_of if self.start is None and self.end is None else None

    @property
    def bounds(self) -> tuple[int, int]:
        return BEFORE_ALL if self.start is None else self.start, AFTER_ALL if self.end is None else self.end
