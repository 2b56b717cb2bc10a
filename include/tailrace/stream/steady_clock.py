"""The driver's clock, by which arrivals are stamped and silence is measured: steady, whatever the wall clock does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tailrace.ground.duration import format_duration
from tailrace.storage.lease import seconds_since_boot
from tailrace.storage.status import wall_ms

_APART_MS = 60_000  # a smaller difference is that of clocks which are kept in step


class SteadyClock:
    """Epoch milliseconds: the start of the driver, and what has elapsed since by a steady clock. It never goes back.

    It starts at the wall clock, or at the last stamp of the journal where the wall clock is behind that. So a wall
    clock that jumps, ahead or back, moves neither stamps nor silence. A difference that stays is taken up by a restart,
    if it is ahead: then it is a time without a driver, and counts as no silence.
    """

    def __init__(
        self,
        last_stamp_ms: int = 0,
        wall: Callable[[], int] = wall_ms,
        steady_s: Callable[[], float] = seconds_since_boot,
    ) -> None:
        self._wall, self._steady_s = wall, steady_s
        self._start_ms, self._started_s = max(wall(), last_stamp_ms), steady_s()

    def __call__(self) -> int:
        """Return the present in epoch ms."""
        return self._start_ms + round((self._steady_s() - self._started_s) * 1000)

    def latest(self) -> int:
        """Return the later of this and the wall clock, in epoch ms: no arrival time can honestly be later.

        A wall clock that was behind and is set right is ahead of this one, and the arrival times of others are with it.
        """
        return max(self(), self._wall())

    def problems(self) -> Iterator[str]:
        """Report a wall clock that is apart from this one."""
        ahead_ms = self._wall() - self()
        if abs(ahead_ms) >= _APART_MS:
            side, advice = ("ahead of", "; a restart takes it up, if it is right") if ahead_ms > 0 else ("behind", "")
            apart = format_duration(abs(ahead_ms) // _APART_MS * _APART_MS)
            yield f"the wall clock is {apart} {side} the clock of the driver, which goes on steadily{advice}"
