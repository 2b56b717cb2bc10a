"""The effort that a piece of code takes, as numbers that no busy machine changes: calls, and memory at its peak."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_EVERY = 1024  # calls, between two looks at the memory


@dataclass
class Effort:
    """Calls of functions, of C too; and bytes that Python and numpy held at the same time, at most."""

    calls: int = 0
    peak: int = 0


@contextmanager
def measured(most: Effort | None = None, what: str = "") -> Iterator[Effort]:
    """The effort of what runs in it, which fails as soon as it takes more than `most`."""
    effort = Effort()

    def count(frame: object, event: str, arg: object) -> None:
        if "call" in event:
            effort.calls += 1
            if effort.calls % _EVERY == 0:
                look()

    def look() -> None:
        effort.peak = tracemalloc.get_traced_memory()[1]
        if most is not None and (effort.calls > most.calls or effort.peak > most.peak):
            raise AssertionError(f"{what} takes {effort}, more than {most}")

    tracemalloc.start()
    sys.setprofile(count)
    try:
        yield effort
        sys.setprofile(None)
        look()
    finally:
        sys.setprofile(None)
        tracemalloc.stop()
