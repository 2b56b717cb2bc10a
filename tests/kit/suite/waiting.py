"""One way to wait for what must come: long enough that a busy machine makes no test red."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

PATIENCE_S = float(os.environ.get("TAILRACE_PATIENCE_S", "300"))
"""How long a test waits for what must come; several times as long where many servers start, or a stream catches up."""


class WaitedInVain(AssertionError):
    """What must come has not come."""


def until(
    condition: Callable[[], Value],
    what: str = "it",
    every_s: float = 0.02,
    seen: Callable[[], object] | None = None,
    patience_s: float = PATIENCE_S,
) -> Value:
    """Poll a condition until it holds, and return its value.

    Raises
    ------
    WaitedInVain
        When it does not hold for so long; names what was waited for, and what `seen` gives instead.
    """
    end_s = time.monotonic() + patience_s
    while not (value := condition()):
        if time.monotonic() >= end_s:
            instead = "" if seen is None else f"; instead: {seen()}"
            raise WaitedInVain(f"waited {patience_s:.0f} s in vain: {what}{instead}")
        time.sleep(every_s)
    return value
