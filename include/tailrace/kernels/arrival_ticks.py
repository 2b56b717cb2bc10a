"""The loop that gives each tuple its tick and the tick's end."""

from __future__ import annotations

from tailrace.kernels.signature import Ints


def number_ticks(n: int, tick_ms: int, arrival: Ints, tick: Ints, end: Ints) -> int:
    """Write the tick and its end in ms of each of n arrival times; what goes backwards counts as the latest so far.

    Returns
    -------
    int
        0
    """
    this_end = arrival[0]  # the end of the tick so far: a time before it changes nothing
    this = this_end // tick_ms
    for row in range(n):
        if arrival[row] >= this_end:
            this = arrival[row] // tick_ms
            this_end = (this + 1) * tick_ms
        tick[row] = this
        end[row] = this_end
    return 0
