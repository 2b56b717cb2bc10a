"""The lease, and a log whose entries are only created, while drivers stand still and a store loses messages.

Each request may be preceded by what another driver does meanwhile, as if this one was stopped (SIGSTOP) before it.
"""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from simulated_store import OUTCOMES, SimulatedStore
from tailrace.storage.lease import Lease, LeaseLostError

TERM_S = 10.0
_DEEPEST = 3  # drivers that are stopped within one another


class Driver:
    """A driver, which appends while it believes that it holds the lease."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.lease = Lease(world.store, name, TERM_S, lambda: world.now_s)
        self.next_number: int | None = None  # of the entry to append, once the log was read
        self.appended = 0

    def act(self, action: str) -> None:
        try:
            getattr(self, action)()
        except OSError:
            pass
        except LeaseLostError:
            self.next_number = None

    def acquire(self) -> None:
        if not self.lease.is_held and self.lease.acquire():
            assert self.lease.epoch not in self.world.epochs, "an epoch has two holders"
            self.world.epochs.add(self.lease.epoch)
            self.next_number = None

    def renew(self) -> None:
        if self.lease.epoch:
            self.lease.renew()

    def release(self) -> None:
        self.lease.release()
        self.next_number = None

    def append(self) -> None:
        if not (self.lease.is_held if self.world.watches else self.lease.epoch):
            return
        if self.next_number is None:
            self.next_number = self.world.entries()
        number, entry = self.next_number, f"{self.name}{self.appended}"
        self.appended += 1
        self.next_number = None  # an append that fails in any way ends the driver; the next one reads the log again
        content = json.dumps({"epoch": self.lease.epoch, "entry": entry}).encode()
        if self.world.store.create(f"{number:08d}.json", content):
            self.world.acknowledged[number] = entry
            self.next_number = number + 1


class World:
    """Two drivers, their store, and their clock; what happens is drawn.

    `watches`: the drivers append only while they trust their lease; else as soon as they ever had it.
    """

    def __init__(self, draw, watches: bool) -> None:
        self.draw, self.watches, self.now_s, self.depth = draw, watches, 0.0, 0
        self.store = SimulatedStore(self._meanwhile, lambda: draw(st.sampled_from(OUTCOMES)))
        self.drivers = [Driver(self, name) for name in "ab"]
        self._stopped: list[Driver] = []  # within a request, standing still
        self.epochs: set[int] = set()
        self.acknowledged: dict[int, str] = {}

    def run(self) -> None:
        for _ in range(self.draw(st.integers(1, 25))):
            self._step()
        self.check()

    def _meanwhile(self) -> None:
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

    def entries(self) -> int:
        """The number of entries, as a listing tells it; it may be outdated once it is used."""
        self._meanwhile()
        return self.count()

    def count(self) -> int:
        return sum(name[0].isdigit() for name in self.store.objects)

    def stored(self, number: int) -> dict:
        return json.loads(self.store.objects[f"{number:08d}.json"].content)

    def check(self) -> None:
        log = [self.stored(number) for number in range(self.count())]
        assert {number: log[number]["entry"] for number in self.acknowledged} == self.acknowledged
        entries = [entry["entry"] for entry in log]
        assert len(set(entries)) == len(entries)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_one_driver_at_a_time_holds_the_lease_and_no_entry_is_replaced(data):
    World(data.draw, watches=True).run()


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_no_entry_is_replaced_whatever_the_clocks_say(data):
    World(data.draw, watches=False).run()
