"""Growing pauses between tries of what comes and goes: a disk, a network, a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable

LONGEST_S = 60.0


def pause_s(failures: int) -> float:
    """The pause after so many failures in a row: 0 after none, then 1, 2, 4 … 60 seconds."""
    return min(2.0 ** min(failures - 1, 10), LONGEST_S) if failures else 0.0


class Retries:
    """The tries of one thing: when the next one is due.

    Attributes
    ----------
    failures : int
        How many tries have failed since one succeeded.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` in seconds, steady."""
        self.failures = 0
        self._clock, self._due_s = clock, clock()

    @property
    def due(self) -> bool:
        """Whether the pause is over."""
        return self._clock() >= self._due_s

    def fail(self) -> None:
        """A try has failed: the pause grows."""
        self.failures += 1
        self._due_s = self._clock() + pause_s(self.failures)

    def succeed(self) -> None:
        """A try has succeeded: the next one needs no pause."""
        self.failures, self._due_s = 0, self._clock()
