"""The lease, and a log whose entries are only created, while drivers stand still and a store loses messages.

Each request may be preceded by what another driver does meanwhile, as if this one was stopped (SIGSTOP) before it.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kit.fakes.simulated_store import OUTCOMES
from kit.runs.leased_drivers import LeasedDriver, SharedLog
from kit.suite.examples import drawn

_DEEPEST = 3  # drivers that are stopped within one another


class World(SharedLog):
    """Two drivers, their log and their clock; what happens is drawn."""

    def __init__(self, draw, watches: bool) -> None:
        super().__init__(self._act_meanwhile, lambda: draw(st.sampled_from(OUTCOMES)), watches)
        self.draw, self.depth = draw, 0
        self.drivers = [LeasedDriver(self, name) for name in "ab"]
        self._stopped: list[LeasedDriver] = []  # within a request, standing still

    def run(self) -> None:
        for _ in range(self.draw(st.integers(1, 25))):
            self._step()
        self.check()

    def _act_meanwhile(self) -> None:
        if self.depth < _DEEPEST and self.draw(st.integers(0, 3)) == 0:
            for _ in range(self.draw(st.integers(1, 6))):
                self._step()

    def _step(self) -> None:
        self.depth += 1
        action = self.draw(st.sampled_from(["acquire", "append", "append", "renew", "release", "wait", "arrive"]))
        if action == "wait":
            self.now_s += self.draw(st.sampled_from([1.0, 5.0, 11.0]))
        elif action == "arrive":
            self.store.arrive()
        else:
            free = [driver for driver in self.drivers if driver not in self._stopped]
            if free:
                driver = self.draw(st.sampled_from(free))
                self._stopped.append(driver)
                try:
                    driver.act(action)
                finally:
                    self._stopped.remove(driver)
        self.depth -= 1
        assert sum(driver.lease.is_held for driver in self.drivers) <= 1, "two drivers hold the lease"


@drawn(100)
@given(st.data())
def test_one_driver_at_a_time_holds_the_lease_and_no_entry_is_replaced(data):
    World(data.draw, watches=True).run()


@drawn(100)
@given(st.data())
def test_no_entry_is_replaced_whatever_the_clocks_say(data):
    World(data.draw, watches=False).run()
