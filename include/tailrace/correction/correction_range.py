"""The range of a correction: of event time, or of arrival."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.ground.duration import format_time
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL


@dataclass(frozen=True)
class CorrectionRange:
    """[start, end) in ms: of event time, or of arrival. None is unbounded."""

    start: int | None = None
    end: int | None = None
    arrival: bool = False

    def __str__(self) -> str:
        texts = ("…" if point is None else format_time(point) for point in (self.start, self.end))
        return f"{'arrival' if self.arrival else 'event time'} [{', '.join(texts)})"

    def covered(self, as_of: int) -> tuple[int | None, int | None]:
        """Return (a, b] of `arrived`, in ms: a run corrects every late row of these, whatever windows it missed.

        a is None where there is no bound, b where no such thing can be said: over a part of event time. b is no later
        than the cut-off: a stream that a bounded run has ended may go on, and more may come before the interval's end.
        """
        if self.arrival:
            return self.start, None if self.end is None else min(self.end, as_of)
        return None, as_of if self.start is None and self.end is None else None

    @property
    def bounds(self) -> tuple[int, int]:
        return BEFORE_ALL if self.start is None else self.start, AFTER_ALL if self.end is None else self.end
