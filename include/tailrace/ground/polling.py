"""Polling of a condition until it holds or a deadline passes."""

from __future__ import annotations

import time
from collections.abc import Iterator


def polls(within_s: float, every_s: float) -> Iterator[float]:
    """Yield the elapsed seconds at each poll: the first at once, then every `every_s`, the last after `within_s`."""
    start_s = time.monotonic()
    while True:
        elapsed_s = time.monotonic() - start_s
        yield elapsed_s
        if elapsed_s >= within_s:
            return
        time.sleep(every_s)
