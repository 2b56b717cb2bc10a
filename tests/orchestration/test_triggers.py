"""The triggers, against a driver host in memory: when they fire, what they log, and their `on_kill`."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest
from airflow._shared.module_loading import import_string
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

from kit.fakes.fake_host import write_status
from kit.suite.waiting import PATIENCE_S
from tailrace.drivers import driver_lifecycle, health_log
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.homes import program_of
from tailrace.engine.progress import Progress
from tailrace.orchestration import triggers
from tailrace.orchestration.triggers import DriverTrigger, FrontierTrigger
from tailrace.storage import progress
from tailrace.storage.status import Status, wall_ms

TASK = SimpleNamespace(dag_id="stream_readings", task_id="supervise", run_id="r", map_index=-1)


@pytest.fixture
def trigger(place):
    return driver_trigger(place, "")


def driver_trigger(place, deployment):
    times_s = {"poll_s": 0.01, "hang_after_s": 60, "patience_s": 0.05}
    file = str(place / "queries" / "readings.yaml")
    trigger = DriverTrigger("readings", str(place / "warehouse"), deployment, **times_s, file=file)
    trigger.task_instance = TASK
    return trigger


@pytest.fixture
def log_lines(monkeypatch):
    """The lines that a trigger writes to its task's log."""
    lines = []

    def write(line, *args):
        lines.append(line % args if args else line)

    log = SimpleNamespace(info=write, warning=write)
    for cls in (DriverTrigger, FrontierTrigger):
        monkeypatch.setattr(cls, "log", log)
    return lines


async def first_event(trigger):
    async for event in trigger.run():
        return event.payload


def fire(trigger):
    return asyncio.run(asyncio.wait_for(first_event(trigger), PATIENCE_S))


@pytest.mark.parametrize("cls", [DriverTrigger, FrontierTrigger])
def test_a_trigger_survives_serialization(cls):
    arguments = {"query": "q", "warehouse": "/w", "poll_s": 1.0} | (
        {"until_ms": 5}
        if cls is FrontierTrigger
        else {"deployment": "d", "hang_after_s": 2.0, "patience_s": 3.0, "file": "/f"}
    )
    path, kwargs = cls(**arguments).serialize()
    assert kwargs == arguments
    assert import_string(path)(**kwargs).serialize() == (path, kwargs)


def test_a_watch_goes_on_until_the_driver_ends(trigger, host, layout, log_lines):
    looks = iter(["running", "running", "starting", "ended"])
    host.on_inspect = lambda: host.is_now(state := next(looks), 0 if state == "ended" else None, "as told")
    write_status(layout, 1)
    assert fire(trigger) == {"kind": "ended", "detail": "as told", "pid": None}
    facts = DriverStatus(host.driver, Status.read(layout), wall_ms()).facts(with_ages=False)
    assert {"streaming", "3 batches", "rows to read: unknown"} <= set(facts)
    stalled = [line for line in log_lines if "has reported nothing" in line]
    assert [line for line in log_lines if line not in stalled] == [
        "readings: running, pid 100",
        *facts,
        "readings: starting, pid 100",
        "readings: ended (as told)",
        "readings: ended, as told",
    ], "a line for what changes, and none for what does not"


def test_a_watch_logs_the_drivers_status_each_minute(trigger, host, log_lines, monkeypatch):
    monkeypatch.setattr(health_log, "FACTS_EVERY_S", 0.0)
    looks = iter(["running"] * 3 + ["failed"])
    host.on_inspect = lambda: host.is_now(next(looks))
    assert fire(trigger)["kind"] == "failed"
    nothing = "the driver has said nothing yet"
    running = "readings: running, pid 100"
    assert log_lines[:4] == [running, nothing, running, running]


def test_a_watch_waits_for_a_host_that_is_down_and_then_fires_unreachable(trigger, host, log_lines):
    host.down = True
    assert fire(trigger)["kind"] == "unreachable"
    assert "does not answer" in log_lines[0]


@pytest.mark.parametrize("ends_meanwhile", [False, True])
def test_a_watch_is_resumed_by_another_triggerer(trigger, host, layout, ends_meanwhile):
    """K11: a triggerer dies between deferral and resume; what was serialized goes on, and fires once."""
    host.is_now("running")
    seen = threading.Event()
    host.on_inspect = seen.set

    async def die_amid_the_watch():
        watch = asyncio.create_task(first_event(trigger))
        await asyncio.to_thread(seen.wait, PATIENCE_S)
        watch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watch

    asyncio.run(die_amid_the_watch())
    assert (host.driver.state, layout.drain.exists(), host.stopped) == ("running", False, []), "the driver lives on"
    path, kwargs = trigger.serialize()
    resumed = import_string(path)(**kwargs)
    resumed.task_instance = TASK
    looks = iter([] if ends_meanwhile else ["running"] * 2)
    host.on_inspect = lambda: host.is_now(state := next(looks, "ended"), 0 if state == "ended" else None, "as told")
    assert fire(resumed) == {"kind": "ended", "detail": "as told", "pid": None}
    assert not host.deployed


def test_a_watch_survives_a_broken_status_file(trigger, host, layout, log_lines):
    layout.stream.mkdir(parents=True)
    layout.status.write_text("{")
    host.is_now("running")
    looks = iter(range(3))
    host.on_inspect = lambda: (
        next(looks, None) is not None or (layout.status.unlink(missing_ok=True), host.is_now("failed"))
    )
    trigger.patience_s = 60
    assert fire(trigger)["kind"] == "failed"


@pytest.fixture
def task_states(monkeypatch):
    """The task states by run that Airflow returns; empty where the task was deleted."""
    states = {}
    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", staticmethod(lambda **arguments: states))
    return states


def let_driver_obey_drain(host, layout):
    """Give the host a running driver that ends when a drain is requested."""
    host.is_now("running")
    host.on_inspect = lambda: layout.drain.exists() and host.is_now("ended", 0)


@pytest.mark.parametrize("state", [*triggers.OVER, "deleted"])
def test_on_kill_drains_the_driver_of_a_task_that_is_over(trigger, host, layout, task_states, state):
    let_driver_obey_drain(host, layout)
    if state != "deleted":
        task_states["r"] = {"supervise": state}
    asyncio.run(trigger.on_kill())
    assert host.driver.state == "ended"
    assert not host.stopped


@pytest.mark.parametrize("state", [None, "scheduled", "queued", "running", "deferred", "up_for_retry", "restarting"])
def test_on_kill_leaves_the_driver_of_a_task_that_runs_again(trigger, host, layout, task_states, state):
    let_driver_obey_drain(host, layout)
    task_states["r"] = {"supervise": state}
    asyncio.run(trigger.on_kill())
    assert host.driver.state == "running"
    assert not layout.drain.exists()


def test_on_kill_goes_on_when_airflow_cancels_it(trigger, host, layout, monkeypatch):
    """Airflow repeats the cancel each second, also during `on_kill`, which may still wait for the task state."""
    let_driver_obey_drain(host, layout)
    requested, cancelled = threading.Event(), threading.Event()

    def answer_after_the_cancel(**_):
        requested.set()
        assert cancelled.wait(PATIENCE_S)
        return {"r": {"supervise": "failed"}}

    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", staticmethod(answer_after_the_cancel))

    async def cancel_on_kill():
        task = asyncio.create_task(trigger.on_kill())
        await asyncio.to_thread(requested.wait, PATIENCE_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled.set()

    asyncio.run(cancel_on_kill())  # returns only after its threads have ended
    assert host.driver.state == "ended"


def test_on_kill_answers_though_the_driver_takes_long_to_drain(trigger, host, layout, task_states, monkeypatch):
    """Airflow waits for the answer; the drain goes on in its thread."""
    let_driver_obey_drain(host, layout)
    answered = threading.Event()
    task_states["r"] = {"supervise": "failed"}
    drain = driver_lifecycle.drain

    def drain_slowly(*arguments):
        assert answered.wait(PATIENCE_S)
        return drain(*arguments)

    monkeypatch.setattr(driver_lifecycle, "drain", drain_slowly)
    monkeypatch.setattr(triggers, "ON_KILL_S", 0.01)

    async def kill():
        await trigger.on_kill()
        answered.set()

    asyncio.run(kill())  # returns only after its threads have ended
    assert host.driver.state == "ended"


def test_on_kill_answers_within_five_seconds():
    assert triggers.ON_KILL_S < 5


def trigger_of_an_earlier_run(place, host, layout):
    """The reloaded trigger of a task that is over, after another run has deployed its own driver."""
    path, kwargs = driver_trigger(place, driver_lifecycle.deploy(host, layout, ["first"], {}).deployment).serialize()
    host.is_now("ended", 0)
    driver_lifecycle.deploy(host, layout, ["second"], {})
    trigger = import_string(path)(**kwargs)
    trigger.task_instance = TASK
    return trigger


def test_on_kill_leaves_the_driver_of_a_later_deployment(place, host, layout, task_states):
    trigger = trigger_of_an_earlier_run(place, host, layout)
    task_states["r"] = {"supervise": "failed"}
    asyncio.run(trigger.on_kill())
    assert host.driver.state == "running"
    assert not layout.drain.exists()


def test_a_reloaded_watch_never_takes_over_the_driver_of_another_run(place, host, layout, task_states, log_lines):
    """Else the end of the old task would drain it, and the new run's `supervise` would succeed."""
    trigger = trigger_of_an_earlier_run(place, host, layout)
    assert fire(trigger)["kind"] == "replaced"
    assert log_lines[-1] == "readings: replaced, another driver was deployed"
    task_states["r"] = {"supervise": "failed"}
    asyncio.run(trigger.on_kill())
    assert host.driver.state == "running"
    assert not layout.drain.exists()
    assert host.programs == {program_of(host, layout.home)}


def test_a_watch_fires_replaced_as_soon_as_there_is_a_later_deployment(place, host, layout, log_lines):
    """The end of the later driver must not be reported as the end of its own."""
    first = driver_lifecycle.deploy(host, layout, ["first"], {}).deployment
    looks = iter(["running", "running", "ended", "ended", "ended"])

    def look():
        state = next(looks)
        host.is_now(state, 0 if state == "ended" else None)
        if state == "ended":
            layout.stream.joinpath("deployment").write_text("another")

    host.on_inspect = look
    assert fire(driver_trigger(place, first))["kind"] == "replaced"


def frontier_trigger(place, until_ms):
    return FrontierTrigger("readings", str(place / "warehouse"), until_ms, poll_s=0.01)


@pytest.fixture
def progress_reports(monkeypatch):
    """The progress that the tables report, one for each look; the last one repeats."""
    reports = []
    monkeypatch.setattr(progress, "read_progress", lambda layout: reports.pop(0) if len(reports) > 1 else reports[0])
    return reports


def test_a_frontier_trigger_fires_when_the_stream_has_committed_up_to_its_point(
    place, host, progress_reports, log_lines
):
    progress_reports += [None, Progress(0, 0, False), Progress(60_000, 0, False), Progress(120_000, 0, False)]
    assert fire(frontier_trigger(place, 120_000)) == {"until_ms": 120_000}
    assert "has committed nothing yet; this run waits for 1970-01-01T00:02:00.000Z; no driver runs" in log_lines[0]
    assert log_lines[1:] == ["the stream has committed up to 1970-01-01T00:02:00.000Z"]


def test_a_frontier_trigger_logs_progress_and_driver_status_each_minute(
    place, host, progress_reports, log_lines, monkeypatch
):
    monkeypatch.setattr(triggers, "TELL_S", 0.0)
    host.is_now("running")
    progress_reports += [Progress(60_000, 0, False)] * 2 + [Progress(180_000, 0, False)]
    fire(frontier_trigger(place, 120_000))
    so_far = "the stream has committed up to 1970-01-01T00:01:00.000Z; this run waits for 1970-01-01T00:02:00.000Z"
    assert log_lines[0].startswith(f"{so_far}; readings: running")
    assert len(log_lines) == 3


def test_an_ended_stream_has_committed_every_point_of_arrival(place, host, progress_reports):
    progress_reports += [Progress(60_000, 60_000, True)]
    assert fire(frontier_trigger(place, 10**15)) == {"until_ms": 10**15}


def test_a_frontier_trigger_fires_also_while_the_host_is_down(place, host, progress_reports, log_lines):
    host.down = True
    progress_reports += [Progress(60_000, 0, False), Progress(120_000, 0, False)]
    fire(frontier_trigger(place, 120_000))
    assert "the driver host does not answer" in log_lines[0]


def test_a_frontier_trigger_survives_unreadable_progress(place, host, log_lines, monkeypatch):
    reports = [OSError(5, "the disk is away"), ValueError("half a log"), Progress(120_000, 0, False)]

    def read(layout):
        report = reports.pop(0)
        if isinstance(report, Exception):
            raise report
        return report

    monkeypatch.setattr(triggers, "TELL_S", 0.0)
    monkeypatch.setattr(progress, "read_progress", read)
    assert fire(frontier_trigger(place, 120_000)) == {"until_ms": 120_000}
    assert (
        "how far the stream of readings has come can't be read: [Errno 5] the disk is away; no driver" in log_lines[0]
    )
    assert "can't be read: half a log" in log_lines[1]
    assert log_lines[2:] == ["the stream has committed up to 1970-01-01T00:02:00.000Z"]
