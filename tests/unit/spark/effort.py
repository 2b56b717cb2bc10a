"""The effort that a piece of code takes, as numbers that no busy machine changes: calls, and memory at its peak."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_EVERY = 1024  # calls, between two looks at the memory


@dataclass
class Effort:
    """Calls of functions, of C too; and bytes by which the process grew, at most, Arrow's and Delta's among them."""

    calls: int = 0
    peak: int = 0


@contextmanager
def measured(most: Effort | None = None, what: str = "") -> Iterator[Effort]:
    """The effort of what runs in it, which fails as soon as it takes more than `most`."""
    effort, before = Effort(), _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again

    def count(frame: object, event: str, arg: object) -> None:
        if "call" in event:
            effort.calls += 1
            if effort.calls % _EVERY == 0:
                look()

    def look() -> None:
        effort.peak = max(_memory("VmHWM") - before, 0)
        if most is not None and (effort.calls > most.calls or effort.peak > most.peak):
            raise AssertionError(f"{what} takes {effort}, more than {most}")

    sys.setprofile(count)
    try:
        yield effort
        sys.setprofile(None)
        look()
    finally:
        sys.setprofile(None)


def _memory(name: str) -> int:
    """A figure of this process, in bytes. It is the kernel's: tracing Python's own dies in threads that are not its."""
    found = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found, name
    return int(found[1]) * 1024
