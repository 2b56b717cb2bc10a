"""Operators and trigger against a real supervisord and its launcher; only Spark is played by a stand-in."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
from types import SimpleNamespace

import psutil
import pytest
from airflow.sdk.exceptions import AirflowFailException, TaskDeferred

from tailrace.drivers import fence
from tailrace.drivers.embedded import EmbeddedHost
from tailrace.drivers.fence import dead
from tailrace.drivers.liveness import LivenessJudge
from tailrace.orchestration import settings, stream_operators
from tailrace.orchestration.stream_operators import CheckOperator, DeployOperator, DrainOperator, SuperviseOperator
from tailrace.storage.status import Status

# In the place of spark-submit: a driver that says how it stands and drains, or what the warehouse tells it to be.
STAND_IN = f"""#!{sys.executable}
import os, signal, sys, time
from pathlib import Path
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status, wall_ms
layout = Layout.of(Path(sys.argv[sys.argv.index("--warehouse") + 1]), "readings")
mode = (layout.home.parent / "mode").read_text()
print("a stand-in that is to be", mode, flush=True)
if mode == "broken":
    sys.exit("it cannot work like this")
layout.stream.mkdir(parents=True, exist_ok=True)
if mode == "daemon":  # as PySpark's: in a process group of its own, and stopped by a signal
    daemon = os.fork()
    if not daemon:
        os.setpgid(0, 0)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # which comes with the end of its parent
        (layout.home.parent / "daemon").write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(600)
while True:
    drained = layout.drain.exists() and mode != "deaf"
    Status("drained" if drained else "streaming", os.getpid(), 0, wall_ms(), 1).write(layout)
    if drained:
        sys.exit(0)
    time.sleep(0.02)
"""
PARAMS = {"batch_rows": 5, "restarts": 1, "within_s": 600, "hang_after_s": 0.5, "driver_memory": "1g"}


@pytest.fixture
def mode(place):
    def say(mode):
        (place / "warehouse" / "mode").write_text(mode)

    say("right")
    return say


@pytest.fixture
def embedded(place, mode, monkeypatch):
    """A driver host that the connection leads to, with the stand-in on its PATH."""
    program = place / "bin" / "spark2-submit"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    spark = {"conn_type": "spark", "host": "local[*]", "extra": {"spark-binary": "spark2-submit"}}
    monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_SPARK", json.dumps(spark))
    monkeypatch.setattr(stream_operators, "POLL_S", 0.05)
    monkeypatch.setattr(stream_operators, "DRAIN_S", 1.0)
    with EmbeddedHost(place / "host") as embedded:
        access = embedded.access
        connection = {
            "conn_type": "http",
            "host": access.host,
            "port": access.port,
            "login": access.user,
            "password": access.password,
            "extra": {"programs": str(place / "host" / "programs")},
        }
        monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_DRIVER_HOST", json.dumps(connection))
        yield embedded


class Notes(dict):
    dag_id, run_id = "stream_readings", "r"

    def xcom_push(self, key, value):
        self[key] = value

    def xcom_pull(self, task_ids, key):
        return self.get(key)

    def get_task_states(self, **asked):
        return {"r": {"supervise": "failed"}}


@pytest.fixture
def context():
    form = SimpleNamespace(params=PARAMS)
    return {"params": PARAMS, "ti": Notes(), "dag": form, "dag_run": SimpleNamespace(conf={})}


@pytest.fixture
def make(place, embedded):
    return lambda cls: cls(task_id=cls.__name__, query="readings", file=str(place / "queries" / "readings.yaml"))


def defer(run, *arguments):
    """The trigger that a task defers to, and what it keeps for its return."""
    with pytest.raises(TaskDeferred) as deferred:
        run(*arguments)
    return deferred.value.trigger, deferred.value.kwargs


async def first(trigger):
    async for event in trigger.run():
        return event.payload


def fire(trigger):
    return asyncio.run(asyncio.wait_for(first(trigger), 60))


def until(true):
    end = time.monotonic() + 60
    while not (found := true()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def speaker(layout):
    """The pid of the driver that last said something."""
    said = Status.read(layout)
    return said and said.pid


def look():
    return settings.driver_host().look("readings")


def test_two_runs_have_one_driver_and_both_see_it_drain(make, context, layout):
    make(CheckOperator).execute(context)
    both = [threading.Thread(target=make(DeployOperator).execute, args=[context]) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    pid = look().pid
    watches = [make(SuperviseOperator) for _ in both]
    deferred = [defer(watch.execute, context) for watch in watches]
    until(layout.status.exists)
    assert speaker(layout) == pid, "the launcher has become the driver, and there is one"
    make(DrainOperator).execute(context)
    for watch, (trigger, kept) in zip(watches, deferred, strict=True):
        event = fire(trigger)
        assert event["kind"] == "ended"
        assert "drained" in watch.resume(context, event, **kept)


def test_a_killed_driver_comes_back_and_is_still_watched(make, context, layout):
    make(DeployOperator).execute(context)
    trigger, _ = defer(make(SuperviseOperator).execute, context)
    old, seen = look().pid, []

    async def watch():
        watching = asyncio.create_task(first(trigger))
        os.kill(old, signal.SIGKILL)
        await asyncio.to_thread(until, lambda: look().state == "running" and look().pid != old)
        seen.append(look().pid)
        await asyncio.to_thread(until, lambda: speaker(layout) == seen[0])
        assert not watching.done()
        layout.request_drain()
        return await asyncio.wait_for(watching, 60)

    assert asyncio.run(watch())["kind"] == "ended"


def test_a_crash_loop_fails_the_task_with_the_last_lines(make, context, mode):
    mode("broken")
    make(DeployOperator).execute(context)
    trigger, kept = defer(make(SuperviseOperator).execute, context)
    event = fire(trigger)
    assert event["kind"] == "failed"
    with pytest.raises(AirflowFailException, match=r"(?s)given up.*it cannot work like this.*crash loop: readings"):
        make(SuperviseOperator).resume(context, event, **kept)


@pytest.fixture
def heard(monkeypatch):
    """What a watch has heard: the times of the driver's words."""
    times, see = set(), LivenessJudge.observe

    def listening(self, driver, said, now_s):
        times.add(said and said.at_ms)
        return see(self, driver, said, now_s)

    monkeypatch.setattr(LivenessJudge, "observe", listening)
    return times


def test_a_driver_that_hangs_is_killed_and_replaced(make, context, layout, heard):
    make(DeployOperator).execute(context)
    trigger, kept = defer(make(SuperviseOperator).execute, context)
    until(layout.status.exists)
    old = psutil.Process(look().pid)

    async def stop_it_once_it_was_heard():
        watching = asyncio.create_task(first(trigger))
        await asyncio.to_thread(until, lambda: len(heard) > 2)
        old.suspend()
        return await asyncio.wait_for(watching, 60)

    event = asyncio.run(stop_it_once_it_was_heard())
    assert (event["kind"], event["pid"]) == ("hung", old.pid)
    trigger, kept = defer(lambda: make(SuperviseOperator).resume(context, event, **kept))
    assert dead(old)
    assert len(kept["hangs"]) == 1
    until(lambda: look().state == "running" and look().pid != old.pid)


def test_a_driver_that_is_deaf_is_stopped_after_the_deadline(make, context, layout, mode):
    mode("deaf")
    make(DeployOperator).execute(context)
    until(layout.status.exists)
    process = psutil.Process(look().pid)
    drain(make, context)
    assert dead(process)
    assert look().state == "ended"


def drain(make, context):
    """As after someone has marked `supervise`."""
    defer(make(SuperviseOperator).execute, context)
    make(DrainOperator).execute(context)


@pytest.mark.parametrize("how", ["drained", "after the deadline"])
def test_nothing_remains_of_a_driver_whose_daemon_was_stopped_by_a_signal(make, context, layout, mode, place, how):
    """It is in no group that supervisord kills, and such a one does not end with the JVM that started it."""
    mode("daemon")
    make(DeployOperator).execute(context)
    daemon = until(lambda: (file := place / "warehouse" / "daemon").exists() and psutil.Process(int(file.read_text())))
    until(lambda: daemon.status() == psutil.STATUS_STOPPED)
    until(lambda: speaker(layout) == look().pid)
    if how == "after the deadline":
        psutil.Process(look().pid).suspend()
    drain(make, context)
    assert dead(daemon)
    assert fence.marked(layout.home) == []


def restart(embedded):
    """Kill supervisord, and start it again: as when its machine fell."""
    os.kill(embedded.host.rpc.call("getPID"), signal.SIGKILL)
    embedded._child.wait()
    EmbeddedHost(embedded.directory).start()


def test_a_restart_of_the_driver_host_brings_back_a_driver_that_is_wanted(make, context, layout, embedded):
    make(DeployOperator).execute(context)
    until(lambda: speaker(layout) == look().pid)
    old = look().pid
    restart(embedded)
    until(lambda: look().state == "running" and look().pid != old and speaker(layout) == look().pid)


@pytest.mark.parametrize("how", ["drained", "drained by one who died", "gave up", "ended before its drain"])
def test_a_restart_of_the_driver_host_brings_back_none_that_has_ended(
    make, context, layout, embedded, mode, how, monkeypatch
):
    mode("broken" if how == "gave up" else "right")
    make(DeployOperator).execute(context)
    trigger, kept = defer(make(SuperviseOperator).execute, context)
    if how == "gave up":
        with pytest.raises(AirflowFailException):
            make(SuperviseOperator).resume(context, fire(trigger), **kept)
    else:
        until(lambda: speaker(layout) == look().pid)
    if how in ("drained by one who died", "ended before its drain"):
        layout.request_drain()
        until(lambda: not look().alive)
    if how in ("drained", "ended before its drain"):
        make(DrainOperator).execute(context)
    if how != "drained by one who died":
        assert list((embedded.directory / "programs").glob("*.conf")) == []
    restart(embedded)
    until(lambda: not look().alive)
    assert not fence.marked(layout.home)
    mode("right")
    make(DeployOperator).execute(context)
    until(lambda: look().state == "running" and speaker(layout) == look().pid)


def test_a_driver_that_someone_stopped_fails_the_task(make, context, layout, monkeypatch):
    monkeypatch.setattr("tailrace.drivers.liveness.GONE_S", 0.2)
    make(DeployOperator).execute(context)
    trigger, kept = defer(make(SuperviseOperator).execute, context)
    settings.driver_host().stop("readings", 5)
    event = fire(trigger)
    with pytest.raises(AirflowFailException, match="stopped or removed"):
        make(SuperviseOperator).resume(context, event, **kept)


def test_a_marked_task_has_its_driver_drained_by_the_trigger(make, context, layout, monkeypatch, heard):
    make(DeployOperator).execute(context)
    trigger, _ = defer(make(SuperviseOperator).execute, context)
    until(layout.status.exists)
    monkeypatch.setattr(trigger, "_task_state", lambda: "failed")

    async def watch_and_kill():
        watching = asyncio.create_task(first(trigger))
        await asyncio.to_thread(until, lambda: heard)
        watching.cancel()
        await trigger.on_kill()

    asyncio.run(watch_and_kill())
    assert (look().state, look().exit_code) == ("ended", 0)


def test_a_host_that_is_down_is_waited_for(make, context, embedded, layout):
    make(DeployOperator).execute(context)
    trigger, kept = defer(make(SuperviseOperator).execute, context)

    async def watch():
        watching = asyncio.create_task(first(trigger))
        await asyncio.to_thread(embedded.stop)
        until_down = time.monotonic() + 1
        while time.monotonic() < until_down:
            await asyncio.sleep(0.05)
            assert not watching.done()
        await asyncio.to_thread(embedded.start)
        await asyncio.to_thread(make(DeployOperator).execute, context)
        return await asyncio.wait_for(watching, 60)

    event = asyncio.run(watch())
    assert event["kind"] == "replaced"  # this host's end takes its programs along
    trigger, _ = defer(lambda: make(SuperviseOperator).resume(context, event, **kept))
    until(layout.status.exists)
    layout.request_drain()
    assert fire(trigger)["kind"] == "ended"
