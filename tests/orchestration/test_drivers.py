"""The verbs on a query's driver, against a host in memory."""

from __future__ import annotations

import threading
import time

import pytest

from fake_host import says
from tailrace.errors import Busy
from tailrace.orchestration import drivers
from tailrace.orchestration.standing import Standing


def listen(host, layout):
    """A driver that drains when it is asked to."""
    host.is_now("running")
    host.on_look = lambda: layout.drain.exists() and host.is_now("ended", 0, "with code 0")


def test_deploy_makes_a_driver_with_a_new_count_and_no_old_wish_to_drain(host, layout):
    layout.ask_drain()
    (layout.stream / "starts.json").write_text("{}")
    done = drivers.deploy(host, layout, ["go"], {"A": "1"})
    assert (done.made, host.deployed) == (True, [(["go"], {"A": "1"})])
    assert not layout.drain.exists()
    assert not (layout.stream / "starts.json").exists()


def test_deploy_finds_the_driver_that_is_there(host, layout):
    first = drivers.deploy(host, layout, ["go"], {})
    (layout.stream / "starts.json").write_text("{}")
    second = drivers.deploy(host, layout, ["another"], {})
    assert (second.made, second.driver, second.deployment) == (False, first.driver, first.deployment)
    assert (layout.stream / "starts.json").exists(), "its restarts still count"


def test_each_driver_that_is_made_is_another_deployment(host, layout):
    first = drivers.deploy(host, layout, ["go"], {})
    host.is_now("ended", 0)
    assert drivers.deploy(host, layout, ["go"], {}).deployment != first.deployment


def test_of_two_who_deploy_at_once_one_makes_the_driver(host, layout):
    both, done = threading.Barrier(2), []
    host.on_look = lambda: time.sleep(0.01)

    def deploy():
        both.wait()
        done.append(drivers.deploy(host, layout, ["go"], {}))

    threads = [threading.Thread(target=deploy) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.made for one in done) == [False, True]
    assert len({one.deployment for one in done}) == len(host.deployed) == 1


def test_deploy_waits_for_a_driver_that_drains(host, layout):
    host.is_now("running")
    layout.ask_drain()
    looks = iter(["running"] * 3)
    host.on_look = lambda: host.is_now(next(looks, "ended")) if not host.deployed else None
    assert drivers.deploy(host, layout, ["go"], {}).made


def test_deploy_is_busy_while_a_driver_drains_on_and_on(host, layout, monkeypatch):
    """It would be told that its driver is there, and that one then goes."""
    monkeypatch.setattr(drivers, "_GOING_S", 0.05)
    first = drivers.deploy(host, layout, ["go"], {})
    layout.ask_drain()
    with pytest.raises(Busy, match="its driver still drains"):
        drivers.deploy(host, layout, ["another"], {})
    assert (host.driver.alive, layout.drain.exists(), len(host.deployed)) == (True, True, 1)
    assert drivers.deployment(layout) == first.deployment
    host.is_now("ended", 0)
    assert drivers.deploy(host, layout, ["another"], {}).made, "the same is right a little later"


def test_a_driver_that_drains_is_not_stopped(host, layout):
    listen(host, layout)
    told = []
    assert drivers.drain(host, layout, 30, 5, told.append).exit_code == 0
    assert host.stopped == []
    assert told == ["readings: to be drained, pid 100", "readings: ended, with code 0"]


def test_a_driver_that_does_not_listen_is_stopped_after_the_deadline(host, layout):
    host.is_now("running")
    told = []
    assert drivers.drain(host, layout, 0.05, 5, told.append).state == "ended"
    assert host.stopped == [5]
    assert "not drained" in told[1]


def test_a_driver_that_only_starts_is_asked_again(host, layout):
    """A driver takes away a wish that it finds when it starts."""
    host.is_now("starting")
    looks = iter(range(10))

    def start():
        look = next(looks)
        if look == 2:
            layout.drain.unlink()
        elif look > 2 and layout.drain.exists():
            host.is_now("ended", 0)

    host.on_look = start
    assert drivers.drain(host, layout, 30, 5).exit_code == 0
    assert host.stopped == []


@pytest.mark.parametrize("state", ["absent", "ended", "failed"])
def test_where_no_driver_lives_nothing_is_drained(host, layout, state):
    host.is_now(state)
    assert drivers.drain(host, layout, 30, 5).state == state
    assert not layout.drain.exists(), "the next driver would take it for its own"


def test_only_the_deployment_that_is_meant_is_drained(host, layout):
    done = drivers.deploy(host, layout, ["go"], {})
    told = []
    assert drivers.drain(host, layout, 30, 5, told.append, only="an earlier one").alive
    assert host.stopped == []
    assert "it stays" in told[-1]
    listen(host, layout)
    assert not drivers.drain(host, layout, 30, 5, only=done.deployment).alive


def test_how_it_stands(host, layout, monkeypatch):
    monkeypatch.setattr(drivers, "wall_ms", lambda: 100_000)
    host.is_now("running")
    assert str(drivers.status(host, layout)) == "readings: running, pid 100; it has said nothing yet"
    says(layout, 90_000)
    standing = drivers.status(host, layout)
    assert (standing.silent_ms, standing.commit_age_ms, standing.lag_rows) == (10_000, 10_000, 7)
    assert "streaming, 10 s ago; 3 batches, the last one 10 s ago; 7 rows to read" in str(standing)


def test_a_driver_that_never_spoke_has_no_age(host):
    standing = Standing(host.driver, None, 5)
    assert (standing.silent_ms, standing.commit_age_ms, standing.lag_rows) == (None, None, None)
