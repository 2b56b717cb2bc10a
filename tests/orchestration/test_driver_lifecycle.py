"""The operations on a query's driver (deploy, status, drain, stop), against a driver host in memory."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time

import pytest

from kit.fakes.fake_host import write_status
from kit.runs.deaths import Died
from tailrace.drivers import driver_lifecycle
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.homes import program_of
from tailrace.ground.errors import Busy


def deploy_before(host, layout):
    """Give the host a running driver of an earlier deployment."""
    host.is_now("running")
    layout.stream.mkdir(parents=True, exist_ok=True)
    if not driver_lifecycle.deployment(layout):
        (layout.stream / "deployment").write_text("before")


def let_driver_obey_drain(host, layout):
    """Give the host a running driver that ends when a drain is requested."""
    deploy_before(host, layout)
    host.on_inspect = lambda: layout.drain.exists() and host.is_now("ended", 0, "with code 0")


def test_deploy_creates_a_driver_and_clears_restart_count_and_drain_request(host, layout):
    layout.request_drain()
    now_s = time.time()
    (layout.stream / "starts.json").write_text(f'{{"restarts": [1.0, {now_s}]}}')
    result = driver_lifecycle.deploy(host, layout, ["go"], {"A": "1"})
    environment = {"A": "1", "TAILRACE_DEPLOYMENT": result.deployment}
    assert (result.made, host.deployed) == (True, [(["go"], environment)])
    assert not layout.drain.exists()
    assert not (layout.stream / "starts.json").exists()
    earlier = json.loads((layout.stream / "earlier_restarts.json").read_text())
    assert earlier == {"restarts": [now_s]}, "pages show a day of them"


def test_deploy_is_idempotent_and_leaves_the_restart_count(host, layout):
    first = driver_lifecycle.deploy(host, layout, ["go"], {})
    (layout.stream / "starts.json").write_text("{}")
    second = driver_lifecycle.deploy(host, layout, ["another"], {})
    assert (second.made, second.driver, second.deployment) == (False, first.driver, first.deployment)
    assert (layout.stream / "starts.json").exists(), "its restarts still count"


@pytest.fixture
def unmounted(host, layout):
    """A deployed driver, whose warehouse is an empty mount point now; calling it mounts the disk again."""
    driver_lifecycle.deploy(host, layout, ["go", "--home", str(layout.home)], {})
    warehouse, disk = layout.home.parent, layout.home.parent.with_name("disk")
    warehouse.rename(disk)
    warehouse.mkdir()

    def mount():
        shutil.rmtree(warehouse)
        disk.rename(warehouse)

    return mount


@pytest.mark.parametrize("state", ["running", "failed", "ended"])
def test_nothing_is_begun_in_a_warehouse_that_is_away(host, layout, unmounted, state):
    """The program on the driver host is the record of the stream that an empty mount point lacks."""
    host.is_now(state, None if state == "running" else 3)
    for _ in range(2):
        with pytest.raises(Busy, match=r"the warehouse is away\n.*to mount its disk; or.* tailrace stop readings"):
            driver_lifecycle.deploy(host, layout, ["go"], {})
        driver_lifecycle.clear_away(host, layout, "")
    assert list(layout.home.parent.iterdir()) == [], "nothing is written there"
    assert (len(host.deployed), len(host.programs), host.stopped) == (1, 1, [])
    unmounted()
    assert driver_lifecycle.deploy(host, layout, ["go"], {}).made == (state != "running")


def test_a_stopped_query_may_begin_anew_in_another_warehouse(host, layout, unmounted):
    driver_lifecycle.stop(host, layout, 5)
    assert driver_lifecycle.deploy(host, layout, ["go"], {}).made


def test_each_new_driver_is_another_deployment(host, layout):
    first = driver_lifecycle.deploy(host, layout, ["go"], {})
    host.is_now("ended", 0)
    assert driver_lifecycle.deploy(host, layout, ["go"], {}).deployment != first.deployment


@pytest.mark.parametrize("created", [False, True])
def test_a_deployment_that_died_around_its_submit_is_finished_by_the_next_call(host, layout, monkeypatch, created):
    """K9: killed before the host has the driver, or after it and before anyone has noted that."""
    submit = host.deploy

    def die(*arguments):
        if created:
            submit(*arguments)
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(host, "deploy", die)
        with pytest.raises(Died):
            driver_lifecycle.deploy(host, layout, ["go"], {})
    noted = driver_lifecycle.deployment(layout)
    result = driver_lifecycle.deploy(host, layout, ["go"], {})
    assert (result.made, len(host.deployed)) == (not created, 1), "one driver, whoever submitted it"
    assert result.deployment
    assert (result.deployment == noted) == created, "the driver that is found has the name under which it was submitted"


def test_of_two_concurrent_deployments_exactly_one_creates_the_driver(host, layout):
    barrier, results = threading.Barrier(2), []
    host.on_inspect = lambda: time.sleep(0.01)

    def deploy():
        barrier.wait()
        results.append(driver_lifecycle.deploy(host, layout, ["go"], {}))

    threads = [threading.Thread(target=deploy) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(result.made for result in results) == [False, True]
    assert len({result.deployment for result in results}) == len(host.deployed) == 1


def test_deploy_waits_for_a_driver_that_drains(host, layout):
    deploy_before(host, layout)
    layout.request_drain()
    looks = iter(["running"] * 3)
    host.on_inspect = lambda: host.is_now(next(looks, "ended")) if not host.deployed else None
    assert driver_lifecycle.deploy(host, layout, ["go"], {}).made


def test_deploy_raises_busy_where_a_drain_takes_too_long(host, layout, monkeypatch):
    """Else the caller would get a driver that is about to end."""
    monkeypatch.setattr(driver_lifecycle, "GOING_S", 0.05)
    first = driver_lifecycle.deploy(host, layout, ["go"], {})
    layout.request_drain()
    with pytest.raises(Busy, match="its driver still drains"):
        driver_lifecycle.deploy(host, layout, ["another"], {})
    assert (host.driver.alive, layout.drain.exists(), len(host.deployed)) == (True, True, 1)
    assert driver_lifecycle.deployment(layout) == first.deployment
    host.is_now("ended", 0)
    assert driver_lifecycle.deploy(host, layout, ["another"], {}).made, "a later deployment succeeds"


def test_a_driver_that_drains_is_not_stopped(host, layout):
    let_driver_obey_drain(host, layout)
    messages = []
    assert driver_lifecycle.drain(host, layout, 30, 5, messages.append).exit_code == 0
    assert host.stopped == []
    assert messages == ["readings: to be drained, pid 100", "readings: ended, with code 0"]


@pytest.mark.parametrize("how", ["drained", "stopped after the deadline", "stopped", "ended before"])
def test_a_driver_that_was_ended_leaves_no_program_and_no_process(host, layout, how):
    driver_lifecycle.deploy(host, layout, ["go"], {})
    if how == "drained":
        let_driver_obey_drain(host, layout)
    elif how == "ended before":
        host.is_now("ended", 0)
    if how == "stopped":
        driver_lifecycle.stop(host, layout, 5)
    else:
        driver_lifecycle.drain(host, layout, 0.05 if "stopped" in how else 30, 5)
    assert not host.driver.alive
    assert host.programs == set()
    assert host.ran == [[sys.executable, "-m", "tailrace.drivers.fence", str(layout.home)]]


def test_a_drain_request_remains_until_the_next_deployment(host, layout):
    """So the launcher sees it also where the draining process died."""
    driver_lifecycle.deploy(host, layout, ["go"], {})
    let_driver_obey_drain(host, layout)
    driver_lifecycle.drain(host, layout, 30, 5)
    assert layout.drain.exists()
    host.on_inspect = lambda: None
    driver_lifecycle.deploy(host, layout, ["go"], {})
    assert not layout.drain.exists()


def test_drain_leaves_a_driver_deployed_after_the_end_of_the_old_one(host, layout, monkeypatch):
    driver_lifecycle.deploy(host, layout, ["go"], {})

    messages = []

    def deploy_another_first(*arguments):
        driver_lifecycle.deploy(host, layout, ["another"], {})
        clear_away(*arguments)

    let_driver_obey_drain(host, layout)
    clear_away = driver_lifecycle.clear_away
    monkeypatch.setattr(driver_lifecycle, "clear_away", deploy_another_first)
    driver_lifecycle.drain(host, layout, 30, 5, messages.append)
    assert messages[-1] == "readings: ended, with code 0"
    assert (host.driver.alive, host.programs, host.stopped, host.ran) == (True, {program_of(host, layout.home)}, [], [])


def test_a_drain_request_written_during_a_deployment_is_withdrawn(host, layout, monkeypatch):
    """A race: `drain` has seen the old driver, and writes its request when a new one is deployed already."""
    deploy_before(host, layout)
    driver_lifecycle.deploy(host, layout, ["go"], {})
    original = type(layout).request_drain

    def request_after_a_deployment(self):
        (layout.stream / "deployment").write_text("another")
        original(self)

    monkeypatch.setattr(type(layout), "request_drain", request_after_a_deployment)
    messages = []
    driver_lifecycle.drain(host, layout, 30, 5, messages.append)
    assert not layout.drain.exists()
    assert messages[-1] == "readings: another driver was deployed meanwhile, it stays"


@pytest.mark.parametrize(("code", "how"), [(1, "exit code 1"), (None, "has not ended in time")])
def test_a_stop_raises_where_a_process_of_the_driver_may_be_alive(host, layout, code, how):
    driver_lifecycle.deploy(host, layout, ["go"], {})
    host.exit_code = code
    with pytest.raises(RuntimeError, match=f"something of the driver of readings may live on.*{how}"):
        driver_lifecycle.stop(host, layout, 5)


def test_a_driver_that_ignores_a_drain_is_stopped_after_the_deadline(host, layout):
    host.is_now("running")
    messages = []
    assert driver_lifecycle.drain(host, layout, 0.05, 5, messages.append).state == "ended"
    assert host.stopped == [5]
    assert "not drained" in messages[1]


def test_a_drain_request_is_repeated_for_a_driver_that_is_starting(host, layout):
    """A driver that starts removes an older drain request."""
    host.is_now("starting")
    looks = iter(range(10))

    def start():
        look = next(looks)
        if look == 2:
            layout.drain.unlink()
        elif look > 2 and layout.drain.exists():
            host.is_now("ended", 0)

    host.on_inspect = start
    assert driver_lifecycle.drain(host, layout, 30, 5).exit_code == 0
    assert host.stopped == []


@pytest.mark.parametrize("state", ["absent", "ended", "failed"])
def test_drain_writes_no_request_where_no_driver_is_alive(host, layout, state):
    host.is_now(state)
    assert driver_lifecycle.drain(host, layout, 30, 5).state == state
    assert not layout.drain.exists(), "the next driver would take it for its own"


def test_only_the_given_deployment_is_drained(host, layout):
    result = driver_lifecycle.deploy(host, layout, ["go"], {})
    messages = []
    assert driver_lifecycle.drain(host, layout, 30, 5, messages.append, only="an earlier one").alive
    assert host.stopped == []
    assert "it stays" in messages[-1]
    let_driver_obey_drain(host, layout)
    assert not driver_lifecycle.drain(host, layout, 30, 5, only=result.deployment).alive


def test_status_combines_the_host_and_the_drivers_report(host, layout, monkeypatch):
    monkeypatch.setattr(driver_lifecycle, "wall_ms", lambda: 100_000)
    host.is_now("running")
    assert str(driver_lifecycle.status(host, layout)) == "readings: running, pid 100\nthe driver has said nothing yet"
    write_status(layout, 90_000)
    driver_status = driver_lifecycle.status(host, layout)
    assert (driver_status.silent_ms, driver_status.commit_age_ms, driver_status.lag_rows) == (10_000, 10_000, 7)
    assert driver_status.facts()[:3] == ["streaming, 10 s ago", "3 batches, the last one 10 s ago", "7 rows to read"]
    assert driver_status.facts(with_ages=False)[:3] == ["streaming", "3 batches", "7 rows to read"]


def test_a_status_without_a_report_has_no_ages(host):
    status = DriverStatus(host.driver, None, 5)
    assert (status.silent_ms, status.commit_age_ms, status.lag_rows) == (None, None, None)
