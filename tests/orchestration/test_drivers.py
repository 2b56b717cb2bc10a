"""The verbs on a query's driver, against a host in memory."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from fake_host import says
from tailrace.drivers.driver_status import DriverStatus
from tailrace.ground.errors import Busy
from tailrace.orchestration import drivers


def listen(host, layout):
    """A driver that drains when it is asked to."""
    host.is_now("running")
    host.on_look = lambda: layout.drain.exists() and host.is_now("ended", 0, "with code 0")


def test_deploy_makes_a_driver_with_a_new_count_and_no_old_wish_to_drain(host, layout):
    layout.request_drain()
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
    layout.request_drain()
    looks = iter(["running"] * 3)
    host.on_look = lambda: host.is_now(next(looks, "ended")) if not host.deployed else None
    assert drivers.deploy(host, layout, ["go"], {}).made


def test_deploy_is_busy_while_a_driver_drains_on_and_on(host, layout, monkeypatch):
    """It would be told that its driver is there, and that one then goes."""
    monkeypatch.setattr(drivers, "_GOING_S", 0.05)
    first = drivers.deploy(host, layout, ["go"], {})
    layout.request_drain()
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


@pytest.mark.parametrize("how", ["drained", "stopped after the deadline", "stopped", "ended before"])
def test_a_driver_that_was_ended_does_not_come_back_with_its_host_and_leaves_no_process(host, layout, how):
    drivers.deploy(host, layout, ["go"], {})
    if how == "drained":
        listen(host, layout)
    elif how == "ended before":
        host.is_now("ended", 0)
    if how == "stopped":
        drivers.stop(host, layout, 5)
    else:
        drivers.drain(host, layout, 0.05 if "stopped" in how else 30, 5)
    assert not host.driver.alive
    assert host.programs == set()
    assert host.ran == [[sys.executable, "-m", "tailrace.drivers.fence", str(layout.home)]]


def test_the_wish_to_drain_stands_until_the_next_deployment(host, layout):
    """Should the one who drains die on the way, the launcher still sees it."""
    drivers.deploy(host, layout, ["go"], {})
    listen(host, layout)
    drivers.drain(host, layout, 30, 5)
    assert layout.drain.exists()
    host.on_look = lambda: None
    drivers.deploy(host, layout, ["go"], {})
    assert not layout.drain.exists()


def test_one_who_drains_leaves_the_driver_that_was_deployed_when_the_old_one_was_gone(host, layout, monkeypatch):
    drivers.deploy(host, layout, ["go"], {})

    told = []

    def follow(*arguments):
        drivers.deploy(host, layout, ["another"], {})
        clear_away(*arguments)

    listen(host, layout)
    clear_away = drivers.clear_away
    monkeypatch.setattr(drivers, "clear_away", follow)
    drivers.drain(host, layout, 30, 5, told.append)
    assert told[-1] == "readings: ended, with code 0"
    assert (host.driver.alive, host.programs, host.stopped, host.ran) == (True, {"readings"}, [], [])


def test_a_wish_to_drain_that_comes_while_another_is_deployed_is_none_to_that_one(host, layout, monkeypatch):
    """The one who drains has looked at the old driver, and asks when the new one has its name."""
    host.is_now("running")
    drivers.deploy(host, layout, ["go"], {})
    ask = type(layout).request_drain

    def deployed_meanwhile(self):
        (layout.stream / "deployment").write_text("another")
        ask(self)

    monkeypatch.setattr(type(layout), "request_drain", deployed_meanwhile)
    told = []
    drivers.drain(host, layout, 30, 5, told.append)
    assert not layout.drain.exists()
    assert told[-1] == "readings: another driver was deployed meanwhile, it stays"


@pytest.mark.parametrize(("code", "how"), [(1, "exit code 1"), (None, "has not ended in time")])
def test_what_may_live_on_of_a_driver_is_told(host, layout, code, how):
    drivers.deploy(host, layout, ["go"], {})
    host.exit_code = code
    with pytest.raises(RuntimeError, match=f"something of the driver of readings may live on.*{how}"):
        drivers.stop(host, layout, 5)


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
    standing = DriverStatus(host.driver, None, 5)
    assert (standing.silent_ms, standing.commit_age_ms, standing.lag_rows) == (None, None, None)
