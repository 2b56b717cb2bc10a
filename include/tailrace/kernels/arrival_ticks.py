"""The loop that computes the tick of each tuple, and the end of that tick."""

from __future__ import annotations

from tailrace.kernels.signature import Ints


def number_ticks(n: int, tick_ms: int, arrival: Ints, tick: Ints, end: Ints) -> int:
    """Write the tick of each of n arrival times, and its end in ms.

    A time earlier than a previous one counts as the latest so far.

    Returns
    -------
    int
        0
    """
    this_end = arrival[0]  # the end of the current tick, which earlier times do not change
    this = this_end // tick_ms
    for row in range(n):
        if arrival[row] >= this_end:
            this = arrival[row] // tick_ms
            this_end = (this + 1) * tick_ms
        tick[row] = this
        end[row] = this_end
    return 0
