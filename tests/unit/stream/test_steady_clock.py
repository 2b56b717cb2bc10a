"""The driver's clock: it goes on from the last stamp by a steady clock, whatever is done to the wall clock."""

from __future__ import annotations

import pytest

from tailrace.stream.steady_clock import SteadyClock

DAY = 86_400_000


class Clocks:
    """A wall clock (ms) and a steady one (s); `passes` moves both."""

    wall_ms, steady_s = 1_600_000_000_000, 50_000.25

    def passes(self, ms: int) -> None:
        self.wall_ms, self.steady_s = self.wall_ms + ms, self.steady_s + ms / 1000

    def start(self, last_stamp_ms: int = 0) -> SteadyClock:
        return SteadyClock(last_stamp_ms, lambda: self.wall_ms, lambda: self.steady_s)


def test_it_starts_at_the_wall_clock_and_goes_on_by_what_elapses() -> None:
    clocks = Clocks()
    clock, began_ms = clocks.start(), clocks.wall_ms
    for _ in range(1_000):
        clocks.passes(7)
    assert (clock(), clock.latest()) == (began_ms + 7_000, began_ms + 7_000)


@pytest.mark.parametrize("jump", [-DAY, -1, 1, DAY])
def test_a_wall_clock_that_jumps_does_not_move_it(jump: int) -> None:
    clocks = Clocks()
    clock, began_ms = clocks.start(), clocks.wall_ms
    clocks.wall_ms += jump
    clocks.passes(12_000)
    assert clock() == began_ms + 12_000
    assert clock.latest() == began_ms + 12_000 + max(jump, 0)


@pytest.mark.parametrize(("last", "start"), [(0, 0), (-5, 0), (DAY, DAY)])
def test_after_a_restart_it_is_never_before_the_last_stamp(last: int, start: int) -> None:
    clocks = Clocks()
    clock = clocks.start(clocks.wall_ms + last if last else 0)
    assert clock() == clocks.wall_ms + start
    clocks.passes(10)
    assert clock() == clocks.wall_ms + start


@pytest.mark.parametrize(
    ("jump", "said"), [(59_999, None), (60_000, "1 min ahead of"), (-60_000, "1 min behind"), (DAY, "1 d ahead of")]
)
def test_clocks_that_are_apart_are_reported(jump: int, said: str | None) -> None:
    clocks = Clocks()
    clock = clocks.start()
    assert list(clock.problems()) == []
    clocks.wall_ms += jump
    problems = list(clock.problems())
    assert len(problems) == (0 if said is None else 1)
    assert all(problem.startswith(f"the wall clock is {said}") for problem in problems)
