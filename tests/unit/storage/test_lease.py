"""The lease, step by step: who has it, until when, and what a lost reply changes."""

from __future__ import annotations

import pytest

from kit.fakes.simulated_store import SimulatedStore
from tailrace.storage.lease import Lease, LeaseLostError

TERM_S = 10.0


class Clock:
    """A clock of one machine, in seconds."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def store() -> SimulatedStore:
    return SimulatedStore()


@pytest.fixture
def clocks() -> tuple[Clock, Clock]:
    return Clock(0.0), Clock(5000.0)  # of two machines, which agree on nothing


@pytest.fixture
def leases(store, clocks) -> tuple[Lease, Lease]:
    first, second = (Lease(store, machine, TERM_S, clock) for machine, clock in zip("ab", clocks, strict=True))
    return first, second


def advance(clocks, seconds: float) -> None:
    for clock in clocks:
        clock.now_s += seconds


def test_the_second_driver_waits_for_the_whole_term_from_when_it_first_saw_the_lease(leases, clocks):
    first, second = leases
    assert not first.is_held
    assert first.acquire()
    assert (first.epoch, first.is_held) == (1, True)
    advance(clocks, 9)
    assert not first.is_held  # it stops before another one can have it
    assert not second.acquire()
    advance(clocks, 9)
    assert not second.acquire()
    advance(clocks, 1)
    assert second.acquire()
    assert (second.epoch, second.is_held) == (2, True)
    with pytest.raises(LeaseLostError):
        first.renew()
    assert not first.is_held


def test_a_renewed_lease_is_not_taken(leases, clocks):
    first, second = leases
    first.acquire()
    for _ in range(10):
        advance(clocks, 4)
        first.renew()
        assert first.is_held
        assert not second.acquire()


def test_a_lease_is_trusted_from_when_its_renewal_began(leases, clocks, store):
    first, _ = leases
    first.acquire()
    store.before = lambda: advance(clocks, 5)  # of each of the two requests
    first.renew()
    assert not first.is_held


def test_a_released_lease_is_free_at_once_and_its_epoch_is_over(leases):
    first, second = leases
    first.acquire()
    first.release()
    assert not first.is_held
    assert second.acquire()
    assert second.epoch == 2
    first.release()  # of what it no longer has
    assert second.is_held
    second.renew()


@pytest.mark.parametrize("outcome", ["request lost", "reply lost", "delayed"])
def test_a_lost_renewal_is_made_up_for_by_the_next_one(leases, clocks, store, outcome):
    first, second = leases
    first.acquire()
    advance(clocks, 4)
    store.outcome = lambda: outcome
    with pytest.raises(OSError, match="the store is away"):
        first.renew()
    assert first.is_held
    store.outcome = lambda: "done"
    store.arrive()
    first.renew()
    advance(clocks, 7)
    assert (first.epoch, first.is_held, second.acquire()) == (1, True, False)


def test_an_acquisition_whose_reply_is_lost_runs_out(leases, clocks, store):
    first, second = leases
    store.outcome = lambda: "reply lost"
    with pytest.raises(OSError, match="the store is away"):
        first.acquire()
    assert not first.is_held
    store.outcome = lambda: "done"
    assert not second.acquire()
    advance(clocks, TERM_S)
    assert second.acquire()
    assert second.epoch == 2


def test_a_client_that_tried_twice_is_not_refused_by_its_own_write(leases, store, monkeypatch):
    first, _ = leases
    create = store.create
    monkeypatch.setattr(store, "create", lambda *object_: create(*object_) and create(*object_))
    assert first.acquire()
    assert first.is_held


def test_among_drivers_of_one_machine_the_lease_is_not_waited_for(leases, clocks, store):
    first, _ = leases
    first.acquire()
    next_ = Lease(store, "a", TERM_S, clocks[0])
    assert next_.acquire()
    assert next_.epoch == 2
    with pytest.raises(LeaseLostError):
        first.renew()
