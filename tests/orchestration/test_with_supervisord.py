"""Operators and trigger against a real supervisord and the real launcher; a stand-in replaces Spark.

The tests share a supervisord, but for those that kill or stop it.
"""

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
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

from kit.suite.waiting import PATIENCE_S, until
from tailrace.drivers import driver_lifecycle, fence
from tailrace.drivers.fence import dead
from tailrace.drivers.homes import program_of
from tailrace.drivers.liveness import LivenessJudge
from tailrace.embedded.embedded_processes import EmbeddedHost
from tailrace.orchestration import drain_operator, settings, stream_operators
from tailrace.orchestration.drain_operator import DrainOperator
from tailrace.orchestration.stream_operators import CheckOperator, DeployOperator, SuperviseOperator
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status

pytestmark = pytest.mark.needs("process")

# Stand-in for spark-submit: a driver that reports its status and drains, or fails as the warehouse's `mode` says.
STAND_IN = f"""#!{sys.executable}
import os, signal, sys, time
from pathlib import Path
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status, wall_ms
layout = Layout.for_query(Path(sys.argv[sys.argv.index("--warehouse") + 1]), "readings")
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
        written = layout.home.parent / "daemon.new"
        written.write_text(str(os.getpid()))
        written.rename(layout.home.parent / "daemon")  # who sees the file reads all of it
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(600)
while True:
    drained = layout.drain.exists() and mode != "deaf"
    Status("drained" if drained else "streaming", os.getpid(), 0, wall_ms(), 1).write(layout)
    if drained:
        sys.exit(0)
    time.sleep(0.02)
"""
PATIENT_S = 60.0
"""From here on a driver hangs for a trigger that sees one end: a busy machine may take long to end it."""

PARAMS = {"batch_rows": 5, "restarts": 1, "within_s": 600, "hang_after_s": 0.5, "driver_memory": "1g"}


@pytest.fixture
def mode(place):
    def set_mode(mode):
        (place / "warehouse" / "mode").write_text(mode)

    set_mode("right")
    return set_mode


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A directory that has the stand-in, which is on the PATH while a driver host starts."""
    program = tmp_path_factory.mktemp("programs") / "spark2-submit"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        yield program.parent


@pytest.fixture(scope="module")
def shared_host(programs, tmp_path_factory):
    with EmbeddedHost(tmp_path_factory.mktemp("shared") / "host") as shared:
        yield shared


@pytest.fixture
def own_host(programs, place):
    """A driver host that a test may kill or stop."""
    with EmbeddedHost(place / "host") as own:
        yield own


@pytest.fixture
def embedded(request, mode, layout, monkeypatch):
    """The test's driver host, to which Airflow's connection points; no driver of the test outlives it."""
    host = request.getfixturevalue("own_host" if "own_host" in request.fixturenames else "shared_host")
    spark = {"conn_type": "spark", "host": "local[*]", "extra": {"spark-binary": "spark2-submit"}}
    monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_SPARK", json.dumps(spark))
    monkeypatch.setattr(stream_operators, "POLL_S", 0.05)
    monkeypatch.setattr(drain_operator, "DRAIN_S", 1.0)
    access = host.access
    connection = {
        "conn_type": "tailrace_driver_host",
        "host": access.host,
        "port": access.port,
        "login": access.user,
        "password": access.password,
        "extra": {"programs": str(host.directory / "programs")},
    }
    monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_DRIVER_HOST", json.dumps(connection))
    yield host
    for name in host.host.names():
        host.host.stop(name, 0)
    fence.fence(layout.home, None)


class FakeTaskInstance(dict):
    dag_id, run_id = "stream_readings", "r"

    def xcom_push(self, key, value):
        self[key] = value

    def xcom_pull(self, task_ids, key):
        return self.get(key)

    def get_task_states(self, **arguments):
        return {"r": {"supervise": "failed"}}


@pytest.fixture
def context():
    form = SimpleNamespace(params=PARAMS)
    return {"params": PARAMS, "ti": FakeTaskInstance(), "dag": form, "dag_run": SimpleNamespace(conf={})}


@pytest.fixture
def make_operator(place, embedded):
    return lambda cls: cls(task_id=cls.__name__, query="readings", file=str(place / "queries" / "readings.yaml"))


def deferral_of(run, *arguments):
    """Run a task until it defers; return its trigger and the arguments of its `resume`."""
    with pytest.raises(TaskDeferred) as deferral:
        run(*arguments)
    return deferral.value.trigger, deferral.value.kwargs


async def first_event(trigger):
    async for event in trigger.run():
        return event.payload


def fire(trigger):
    return asyncio.run(asyncio.wait_for(first_event(trigger), PATIENCE_S))


def reporting_pid(layout):
    """The pid in the last status report; None where there is none."""
    status = Status.read(layout)
    return status and status.pid


def look():
    return driver_lifecycle.inspect(settings.driver_host(), Layout.for_query(settings.warehouse(), "readings"))


def test_two_runs_share_one_driver_and_both_see_it_drain(make_operator, context, layout):
    make_operator(CheckOperator).execute(context)
    threads = [threading.Thread(target=make_operator(DeployOperator).execute, args=[context]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pid = look().pid
    watches = [make_operator(SuperviseOperator) for _ in threads]
    deferrals = [deferral_of(watch.execute, context) for watch in watches]
    until(layout.status.exists)
    assert reporting_pid(layout) == pid, "the launcher has become the driver, and there is one"
    make_operator(DrainOperator).execute(context)
    for watch, (trigger, arguments) in zip(watches, deferrals, strict=True):
        trigger.hang_after_s = PATIENT_S
        event = fire(trigger)
        assert event["kind"] == "ended"
        assert "drained" in watch.resume(context, event, **arguments)


def test_a_killed_driver_is_restarted_and_still_watched(make_operator, context, layout):
    make_operator(DeployOperator).execute(context)
    trigger, _ = deferral_of(make_operator(SuperviseOperator).execute, context)
    trigger.hang_after_s = PATIENT_S
    old_pid, new_pids = look().pid, []

    async def kill_and_drain():
        watch_task = asyncio.create_task(first_event(trigger))
        os.kill(old_pid, signal.SIGKILL)
        await asyncio.to_thread(until, lambda: look().state == "running" and look().pid != old_pid)
        new_pids.append(look().pid)
        await asyncio.to_thread(until, lambda: reporting_pid(layout) == new_pids[0])
        assert not watch_task.done()
        layout.request_drain()
        return await asyncio.wait_for(watch_task, PATIENCE_S)

    assert asyncio.run(kill_and_drain())["kind"] == "ended"


def test_a_crash_loop_fails_the_task_with_the_last_lines(make_operator, context, mode):
    mode("broken")
    make_operator(DeployOperator).execute(context)
    trigger, arguments = deferral_of(make_operator(SuperviseOperator).execute, context)
    event = fire(trigger)
    assert event["kind"] == "failed"
    with pytest.raises(AirflowFailException, match=r"(?s)given up.*it cannot work like this.*crash loop: readings"):
        make_operator(SuperviseOperator).resume(context, event, **arguments)


@pytest.fixture
def report_times(monkeypatch):
    """The times of the reports that a watch has observed; None for an observation without one."""
    times, original = set(), LivenessJudge.observe

    def observe_and_record(self, driver, status, now_s):
        times.add(status and status.at_ms)
        return original(self, driver, status, now_s)

    monkeypatch.setattr(LivenessJudge, "observe", observe_and_record)
    return times


def test_a_driver_that_hangs_is_killed_and_replaced(make_operator, context, layout, report_times):
    make_operator(DeployOperator).execute(context)
    trigger, arguments = deferral_of(make_operator(SuperviseOperator).execute, context)
    until(layout.status.exists)
    process = psutil.Process(look().pid)

    async def suspend_it_after_a_report():
        watch_task = asyncio.create_task(first_event(trigger))
        await asyncio.to_thread(until, lambda: len(report_times) > 2)
        process.suspend()
        return await asyncio.wait_for(watch_task, PATIENCE_S)

    event = asyncio.run(suspend_it_after_a_report())
    assert (event["kind"], event["pid"]) == ("hung", process.pid)
    trigger, arguments = deferral_of(lambda: make_operator(SuperviseOperator).resume(context, event, **arguments))
    assert dead(process)
    assert len(arguments["hangs"]) == 1
    until(lambda: look().state == "running" and look().pid != process.pid)


def test_a_driver_that_ignores_a_drain_is_stopped_after_the_deadline(make_operator, context, layout, mode):
    mode("deaf")
    make_operator(DeployOperator).execute(context)
    until(layout.status.exists)
    process = psutil.Process(look().pid)
    drain(make_operator, context)
    assert dead(process)
    assert look().state == "ended"


def drain(make_operator, context):
    """Run the task `drain` as after someone has marked `supervise`."""
    deferral_of(make_operator(SuperviseOperator).execute, context)
    make_operator(DrainOperator).execute(context)


@pytest.mark.parametrize("how", ["drained", "after the deadline"])
def test_no_process_remains_of_a_driver_whose_daemon_was_suspended(make_operator, context, layout, mode, place, how):
    """supervisord does not kill the daemon's process group, and a suspended daemon does not end with its JVM."""
    mode("daemon")
    make_operator(DeployOperator).execute(context)
    daemon = until(lambda: (file := place / "warehouse" / "daemon").exists() and psutil.Process(int(file.read_text())))
    until(lambda: daemon.status() == psutil.STATUS_STOPPED)
    until(lambda: reporting_pid(layout) == look().pid)
    if how == "after the deadline":
        psutil.Process(look().pid).suspend()
    drain(make_operator, context)
    assert dead(daemon)
    assert fence.marked(layout.home) == []


def kill_and_restart(embedded):
    """Kill supervisord and start it again, as after a crash of its machine."""
    os.kill(embedded.host.rpc.call("getPID"), signal.SIGKILL)
    embedded._child.wait()
    EmbeddedHost(embedded.directory).start()


@pytest.mark.usefixtures("own_host")
def test_a_restart_of_the_driver_host_restarts_a_live_driver(make_operator, context, layout, embedded):
    make_operator(DeployOperator).execute(context)
    until(lambda: reporting_pid(layout) == look().pid)
    old_pid = look().pid
    kill_and_restart(embedded)
    until(lambda: look().state == "running" and look().pid != old_pid and reporting_pid(layout) == look().pid)


@pytest.mark.usefixtures("own_host")
@pytest.mark.parametrize("how", ["drained", "drained by one who died", "gave up", "ended before its drain"])
def test_a_restart_of_the_driver_host_does_not_restart_a_driver_that_ended(
    make_operator, context, layout, embedded, mode, how, monkeypatch
):
    mode("broken" if how == "gave up" else "right")
    make_operator(DeployOperator).execute(context)
    trigger, arguments = deferral_of(make_operator(SuperviseOperator).execute, context)
    if how == "gave up":
        with pytest.raises(AirflowFailException):
            make_operator(SuperviseOperator).resume(context, fire(trigger), **arguments)
    else:
        until(lambda: reporting_pid(layout) == look().pid)
    if how in ("drained by one who died", "ended before its drain"):
        layout.request_drain()
        until(lambda: not look().alive)
    if how in ("drained", "ended before its drain"):
        make_operator(DrainOperator).execute(context)
    if how != "drained by one who died":
        assert list((embedded.directory / "programs").glob("*.conf")) == []
    kill_and_restart(embedded)
    until(lambda: not look().alive)
    assert not fence.marked(layout.home)
    mode("right")
    make_operator(DeployOperator).execute(context)
    until(lambda: look().state == "running" and reporting_pid(layout) == look().pid)


def test_a_driver_that_someone_stopped_fails_the_task(make_operator, context, layout, monkeypatch):
    monkeypatch.setattr("tailrace.drivers.liveness.GONE_S", 0.2)
    make_operator(DeployOperator).execute(context)
    trigger, arguments = deferral_of(make_operator(SuperviseOperator).execute, context)
    settings.driver_host().stop(program_of(settings.driver_host(), layout.home), 5)
    event = fire(trigger)
    with pytest.raises(AirflowFailException, match="stopped or removed"):
        make_operator(SuperviseOperator).resume(context, event, **arguments)


def test_the_trigger_drains_the_driver_of_a_marked_task(make_operator, context, layout, monkeypatch, report_times):
    make_operator(DeployOperator).execute(context)
    trigger, _ = deferral_of(make_operator(SuperviseOperator).execute, context)
    until(layout.status.exists)
    trigger.task_instance = SimpleNamespace(dag_id="stream_readings", task_id="supervise", run_id="r", map_index=-1)
    states = {"r": {"supervise": "failed"}}
    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", staticmethod(lambda **arguments: states))

    async def watch_and_kill():
        watch_task = asyncio.create_task(first_event(trigger))
        await asyncio.to_thread(until, lambda: report_times)
        watch_task.cancel()
        await trigger.on_kill()

    asyncio.run(watch_and_kill())
    assert (look().state, look().exit_code) == ("ended", 0)


@pytest.mark.usefixtures("own_host")
def test_a_watch_outlives_a_restart_of_the_driver_host(make_operator, context, embedded, layout):
    make_operator(DeployOperator).execute(context)
    trigger, arguments = deferral_of(make_operator(SuperviseOperator).execute, context)

    async def restart_the_host():
        watch_task = asyncio.create_task(first_event(trigger))
        await asyncio.to_thread(embedded.stop)
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            await asyncio.sleep(0.05)
            assert not watch_task.done()
        await asyncio.to_thread(embedded.start)
        await asyncio.to_thread(make_operator(DeployOperator).execute, context)
        return await asyncio.wait_for(watch_task, PATIENCE_S)

    event = asyncio.run(restart_the_host())
    assert event["kind"] == "replaced"  # a stop of this host removes its programs
    trigger, _ = deferral_of(lambda: make_operator(SuperviseOperator).resume(context, event, **arguments))
    trigger.hang_after_s = PATIENT_S
    until(layout.status.exists)
    layout.request_drain()
    assert fire(trigger)["kind"] == "ended"
