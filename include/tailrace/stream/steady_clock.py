"""The driver's clock for arrival stamps and silence, which never jumps, even if the wall clock does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tailrace.ground.duration import format_duration
from tailrace.storage.lease import seconds_since_boot
from tailrace.storage.status import wall_ms

_APART_MS = 60_000  # smaller differences occur between synchronised clocks


class SteadyClock:
    """Epoch milliseconds: the start of the driver, plus the time elapsed since by a steady clock. It never goes back.

    It starts at the wall clock, or at the last stamp of the journal if the wall clock is behind that. So jumps of the
    wall clock, ahead or back, move neither stamps nor silence. A restart adopts a lasting difference ahead, which then
    counts as time without a driver, and not as silence.
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
        """Return the later of this clock and the wall clock, in epoch ms: no true arrival time can be later.

        After a wall clock that was behind is corrected, it is ahead of this one, and so are the arrival times of
        others.
        """
        return max(self(), self._wall())

    def problems(self) -> Iterator[str]:
        """Report a wall clock that differs from this one."""
        ahead_ms = self._wall() - self()
        if abs(ahead_ms) >= _APART_MS:
            side, advice = ("ahead of", "; a restart takes it up, if it is right") if ahead_ms > 0 else ("behind", "")
            apart = format_duration(abs(ahead_ms) // _APART_MS * _APART_MS)
            yield f"the wall clock is {apart} {side} the clock of the driver, which goes on steadily{advice}"
