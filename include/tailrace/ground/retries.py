"""Exponential backoff between retries of transient failures: a disk, a network, a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable

LONGEST_S = 60.0


def pause_s(failures: int) -> float:
    """Return the pause after a number of consecutive failures: 0 after none, then 1, 2, 4 … 60 seconds."""
    return min(2.0 ** min(failures - 1, 10), LONGEST_S) if failures else 0.0


class Retries:
    """Retry state of one operation: the failures so far, and the time of the next try.

    Attributes
    ----------
    failures : int
        Failed tries since the last success.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with a try due at once; `clock` returns monotonic seconds."""
        self.failures = 0
        self._clock, self._due_s = clock, clock()
        self._failing_since_s: float | None = None

    @property
    def due(self) -> bool:
        """True once the pause is over."""
        return self._clock() >= self._due_s

    @property
    def failing_s(self) -> float:
        """Seconds since the first failure after the last success; 0 without one."""
        return 0.0 if self._failing_since_s is None else self._clock() - self._failing_since_s

    def fail(self) -> None:
        """Record a failed try, which lengthens the pause."""
        self.failures += 1
        self._failing_since_s = self._clock() if self._failing_since_s is None else self._failing_since_s
        self._due_s = self._clock() + pause_s(self.failures)

    def succeed(self) -> None:
        """Record a successful try, which ends the pause."""
        self.failures, self._due_s, self._failing_since_s = 0, self._clock(), None
