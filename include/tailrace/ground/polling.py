"""Polling: look again and again, until something has come about or the time is over."""

from __future__ import annotations

import time
from collections.abc import Iterator


def polls(within_s: float, every_s: float) -> Iterator[float]:
    """The seconds since the first look, at each look; there is one at least, and a last one when the time is over."""
    begun_s = time.monotonic()
    while True:
        since_s = time.monotonic() - begun_s
        yield since_s
        if since_s >= within_s:
            return
        time.sleep(every_s)
