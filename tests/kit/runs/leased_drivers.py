"""Drivers without Spark that append to a log under a lease, and what must hold of the log whatever they do."""

from __future__ import annotations

import json
from collections.abc import Callable

from kit.fakes.simulated_store import SimulatedStore
from tailrace.storage.lease import Lease, LeaseLostError

TERM_S = 10.0


class SharedLog:
    """A log whose entries are only created, in a store that drivers share, and their clock.

    `watches`: the drivers append only while they trust their lease; else as soon as they ever had it.
    """

    def __init__(self, meanwhile: Callable[[], None], outcome: Callable[[], str], watches: bool = True) -> None:
        self.now_s, self.watches, self._meanwhile = 0.0, watches, meanwhile
        self.store = SimulatedStore(meanwhile, outcome)
        self.epochs: set[int] = set()
        self.acknowledged: dict[int, str] = {}

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


class LeasedDriver:
    """A driver, which appends while it believes that it holds the lease; its requests may fail in any way."""

    def __init__(self, world: SharedLog, name: str) -> None:
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
