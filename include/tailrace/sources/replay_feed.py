"""Feed that replays a complete log at a rate."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from tailrace.sources.feed import Feed
from tailrace.sources.reading_progress import remaining
from tailrace.sources.segments import Segment, Types


class ReplayFeed:
    """Replays a complete log, at a rate in rows per second.

    The first call of `fresh` only polls the log, and returns nothing; the clock starts with the second, when there is a
    reader.
    """

    version, identity, problem = 0, "", None

    def __init__(self, log: Feed, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Create the feed; `rate` is in rows per second, `clock` in seconds."""
        self._log, self._rate, self._clock = log, rate, clock
        self._start_s: float | None = None
        self._has_polled, self._row_count = False, 0
        self._queue: deque[Segment] = deque()

    @property
    def types(self) -> Types:
        return self._log.types

    @property
    def holds_back(self) -> bool:
        return bool(self._queue) or self._log.holds_back

    def fresh(self) -> list[Segment]:
        self._queue += self._log.fresh()
        if not self._has_polled:
            self._has_polled = True
            return []
        self._start_s = self._clock() if self._start_s is None else self._start_s
        quota = int((self._clock() - self._start_s) * self._rate) - self._row_count
        segments: list[Segment] = []
        while quota > 0 and self._queue:
            segment = self._queue.popleft()
            head = replace(segment, rows=min(segment.rows, quota))
            self._queue.extendleft(remaining([segment], head.first_row + head.rows))
            segments.append(head)
            quota -= head.rows
            self._row_count += head.rows
        return segments
