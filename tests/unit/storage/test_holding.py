"""A holder asks before each write whether it still has its lease, and renews one that it does not trust any more."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kit.fakes.simulated_store import SimulatedStore
from tailrace.ground.errors import Busy
from tailrace.storage.holding import hold, retry_while_away
from tailrace.storage.lease import Lease

TERM_S = 600.0  # the thread that renews it does not come to it here


class Time:
    """A clock that stands still, and goes on when it is told to: as after SIGCONT, or a suspended machine."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def store() -> SimulatedStore:
    return SimulatedStore()


def holder(store, time, losses):
    return hold(Lease(store, "a", TERM_S, time), "here", "another driver runs it", 0, losses.append)


def test_a_lease_that_is_trusted_asks_the_store_for_nothing(store, time):
    losses, requests = [], []
    with holder(store, time, losses) as require_held:
        store.before = lambda: requests.append(1)
        require_held()
        assert not requests
        store.before = lambda: None


def test_a_holder_that_stood_still_renews_its_lease_before_it_writes(store, time):
    losses = []
    with holder(store, time, losses) as require_held:
        before = store.objects["stream"].version
        time.now_s += TERM_S
        require_held()
        assert store.objects["stream"].version != before
        time.now_s += TERM_S / 2
        require_held()
    assert not losses


def test_a_holder_whose_lease_another_one_has_taken_writes_nothing(store, time):
    losses, other = [], Lease(store, "b", TERM_S, time)
    with holder(store, time, losses) as require_held:
        assert not other.acquire()
        time.now_s += TERM_S
        assert other.acquire()
        for _ in range(2):
            with pytest.raises(Busy, match="here: another driver runs it"):
                require_held()
    assert len(losses) == 2
    assert other.is_held


def test_a_holder_whose_store_is_away_can_not_tell_and_does_not_write(store, time):
    losses = []
    with holder(store, time, losses) as require_held:
        time.now_s += TERM_S
        store.outcome = lambda: "request lost"
        with pytest.raises(OSError, match="the store is away"):
            require_held()
        store.outcome = lambda: "reply lost"
        with pytest.raises(OSError, match="the store is away"):
            require_held()
        store.outcome = lambda: "done"
        require_held()  # its own write is no other one's
    assert not losses


def test_a_store_that_is_away_is_asked_again_and_one_that_refuses_is_not(monkeypatch, capsys):
    monkeypatch.setattr("tailrace.storage.holding.POLL_S", 0.001)
    answers = iter([OSError("away"), OSError("away"), 5, PermissionError("refused")])

    def ask() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert retry_while_away(ask, lambda: True) == 5
    assert capsys.readouterr().err == "waiting for the warehouse: away\n"
    with pytest.raises(PermissionError):
        retry_while_away(ask, lambda: True)


def test_the_time_to_wait_for_another_holder_begins_with_the_first_answer_of_the_store(monkeypatch):
    now = Time()
    dead = Lease(store := SimulatedStore(), "b", 3.0, now)
    assert dead.acquire()

    def go_on(seconds: float) -> None:
        now.now_s += max(seconds, 0.1)
        if now.now_s > 60.0:
            store.outcome, store.before = (lambda: "done"), (lambda: None)

    def be_away() -> None:
        raise OSError("the store is away")

    monkeypatch.setattr("tailrace.storage.holding.time", SimpleNamespace(monotonic=now, sleep=go_on))
    store.before = be_away
    with hold(Lease(store, "a", 3.0, now), "here", "another driver runs it", None, [].append, lambda: True):
        assert now.now_s > 60.0
