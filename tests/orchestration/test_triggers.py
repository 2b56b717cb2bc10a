"""The triggers, against a driver host in memory: what fires them, and what they do when Airflow takes them away."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest
from airflow._shared.module_loading import import_string
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

from fake_host import says
from tailrace.orchestration import drivers, triggers
from tailrace.orchestration.triggers import DriverTrigger, FrontierTrigger
from tailrace.storage.progress import Progress

TASK = SimpleNamespace(dag_id="stream_readings", task_id="supervise", run_id="r", map_index=-1)


@pytest.fixture
def trigger(place):
    return watch(place, "")


def watch(place, deployment):
    trigger = DriverTrigger("readings", str(place / "warehouse"), deployment, 0.01, hang_after_s=60, patience_s=0.05)
    trigger.task_instance = TASK
    return trigger


@pytest.fixture
def told(monkeypatch):
    """What is told in the task's log."""
    lines = []
    log = SimpleNamespace(info=lambda line, *args: lines.append(line % args if args else line))
    for cls in (DriverTrigger, FrontierTrigger):
        monkeypatch.setattr(cls, "log", log)
    return lines


async def first(trigger):
    async for event in trigger.run():
        return event.payload


def fire(trigger):
    return asyncio.run(asyncio.wait_for(first(trigger), 30))


@pytest.mark.parametrize("cls", [DriverTrigger, FrontierTrigger])
def test_a_trigger_is_made_again_from_what_it_serializes_to(cls):
    arguments = {"query": "q", "warehouse": "/w", "poll_s": 1.0} | (
        {"until_ms": 5} if cls is FrontierTrigger else {"deployment": "d", "hang_after_s": 2.0, "patience_s": 3.0}
    )
    path, kwargs = cls(**arguments).serialize()
    assert kwargs == arguments
    assert import_string(path)(**kwargs).serialize() == (path, kwargs)


def test_it_watches_until_the_driver_ends(trigger, host, layout, told):
    looks = iter(["running", "running", "starting", "ended"])
    host.on_look = lambda: host.is_now(state := next(looks), 0 if state == "ended" else None, "as told")
    says(layout, 1)
    assert fire(trigger) == {"kind": "ended", "detail": "as told", "pid": None}
    assert [line.split(";")[0] for line in told] == [
        "readings: running, pid 100",
        "readings: starting, pid 100",
        "readings: ended (as told)",
    ], "a line when something changes, and none when nothing does"
    assert "3 batches" in told[0]
    assert "7 rows to read" in told[0]


def test_it_tells_how_things_stand_each_minute(trigger, host, told, monkeypatch):
    monkeypatch.setattr(triggers, "TELL_S", 0.0)
    looks = iter(["running"] * 3 + ["failed"])
    host.on_look = lambda: host.is_now(next(looks))
    assert fire(trigger)["kind"] == "failed"
    assert len(told) == 4


def test_it_waits_for_a_host_that_is_down(trigger, host, told):
    host.down = True
    assert fire(trigger)["kind"] == "unreachable"
    assert "does not answer" in told[0]


def test_a_broken_status_file_ends_no_watch(trigger, host, layout, told):
    layout.stream.mkdir(parents=True)
    layout.status.write_text("{")
    host.is_now("running")
    looks = iter(range(3))
    host.on_look = lambda: (
        next(looks, None) is not None or (layout.status.unlink(missing_ok=True), host.is_now("failed"))
    )
    trigger.patience_s = 60
    assert fire(trigger)["kind"] == "failed"


@pytest.fixture
def states(monkeypatch):
    """What Airflow says of the task's state."""
    said = {}
    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", staticmethod(lambda **asked: said))
    return said


def listen(host, layout):
    """A driver that drains when it is asked to."""
    host.is_now("running")
    host.on_look = lambda: layout.drain.exists() and host.is_now("ended", 0)


@pytest.mark.parametrize("state", [*triggers.OVER, "deleted"])
def test_on_kill_drains_the_driver_of_a_task_that_is_over(trigger, host, layout, states, state):
    listen(host, layout)
    if state != "deleted":
        states["r"] = {"supervise": state}
    asyncio.run(trigger.on_kill())
    assert host.driver.state == "ended"
    assert not host.stopped


@pytest.mark.parametrize("state", [None, "scheduled", "queued", "running", "deferred", "up_for_retry", "restarting"])
def test_on_kill_leaves_the_driver_of_a_task_that_comes_back(trigger, host, layout, states, state):
    listen(host, layout)
    states["r"] = {"supervise": state}
    asyncio.run(trigger.on_kill())
    assert host.driver.state == "running"
    assert not layout.drain.exists()


def test_on_kill_goes_on_when_airflow_cancels_it(trigger, host, layout, monkeypatch):
    """Airflow cancels a cancelled trigger again each second, `on_kill` and all, while that still asks for the state."""
    listen(host, layout)
    asked, cancelled = threading.Event(), threading.Event()

    def states(**_):
        asked.set()
        assert cancelled.wait(30)
        return {"r": {"supervise": "failed"}}

    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", staticmethod(states))

    async def kill():
        task = asyncio.create_task(trigger.on_kill())
        await asyncio.to_thread(asked.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled.set()

    asyncio.run(kill())  # which waits for its threads
    assert host.driver.state == "ended"


def of_another_run(place, host, layout):
    """A watch whose task is over, loaded again after another run has deployed its own driver."""
    path, kwargs = watch(place, drivers.deploy(host, layout, ["first"], {}).deployment).serialize()
    host.is_now("ended", 0)
    drivers.deploy(host, layout, ["second"], {})
    trigger = import_string(path)(**kwargs)
    trigger.task_instance = TASK
    return trigger


def test_on_kill_leaves_a_driver_that_was_deployed_since(place, host, layout, states):
    trigger = of_another_run(place, host, layout)
    states["r"] = {"supervise": "failed"}
    asyncio.run(trigger.on_kill())
    assert host.driver.state == "running"
    assert not layout.drain.exists()


def test_a_watch_that_was_loaded_again_never_takes_up_another_runs_driver(place, host, layout, states, told):
    """Else it would be drained with the task that is over, and its own `supervise` would say that all was well."""
    trigger = of_another_run(place, host, layout)
    assert fire(trigger)["kind"] == "replaced"
    assert "another one was deployed: readings: running" in told[-1]
    states["r"] = {"supervise": "failed"}
    asyncio.run(trigger.on_kill())
    assert host.driver.state == "running"
    assert not layout.drain.exists()
    assert host.programs == {"readings"}


def test_a_watch_sees_at_once_that_its_driver_was_replaced(place, host, layout, told):
    """Whatever becomes of the new one, is not its own's end."""
    first = drivers.deploy(host, layout, ["first"], {}).deployment
    looks = iter(["running", "running", "ended", "ended", "ended"])

    def look():
        state = next(looks)
        host.is_now(state, 0 if state == "ended" else None)
        if state == "ended":
            layout.stream.joinpath("deployment").write_text("another")

    host.on_look = look
    assert fire(watch(place, first))["kind"] == "replaced"


def frontier(place, until_ms):
    return FrontierTrigger("readings", str(place / "warehouse"), until_ms, poll_s=0.01)


@pytest.fixture
def committed(monkeypatch):
    """What the tables say, look by look."""
    said = []
    monkeypatch.setattr(Progress, "read", staticmethod(lambda layout: said.pop(0) if len(said) > 1 else said[0]))
    return said


def test_the_frontier_is_waited_for_and_told(place, host, committed, told):
    committed += [None, Progress(0, 0, False), Progress(60_000, 0, False), Progress(120_000, 0, False)]
    assert fire(frontier(place, 120_000)) == {"until_ms": 120_000}
    assert "has committed nothing yet; this run waits for 1970-01-01T00:02:00.000Z; no driver runs" in told[0]
    assert told[1:] == ["the stream has committed up to 1970-01-01T00:02:00.000Z"]


def test_the_frontier_is_told_each_minute_with_how_the_driver_stands(place, host, committed, told, monkeypatch):
    monkeypatch.setattr(triggers, "TELL_S", 0.0)
    host.is_now("running")
    committed += [Progress(60_000, 0, False)] * 2 + [Progress(180_000, 0, False)]
    fire(frontier(place, 120_000))
    so_far = "the stream has committed up to 1970-01-01T00:01:00.000Z; this run waits for 1970-01-01T00:02:00.000Z"
    assert told[0].startswith(f"{so_far}; readings: running")
    assert len(told) == 3


def test_a_stream_that_has_ended_is_past_every_frontier(place, host, committed):
    committed += [Progress(60_000, 60_000, True)]
    assert fire(frontier(place, 10**15)) == {"until_ms": 10**15}


def test_the_frontier_is_waited_for_while_the_host_is_down(place, host, committed, told):
    host.down = True
    committed += [Progress(60_000, 0, False), Progress(120_000, 0, False)]
    fire(frontier(place, 120_000))
    assert "the driver host does not answer" in told[0]


def test_the_frontier_is_waited_for_while_it_can_not_be_read(place, host, told, monkeypatch):
    said = [OSError(5, "the disk is away"), ValueError("half a log"), Progress(120_000, 0, False)]

    def read(layout):
        found = said.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(triggers, "TELL_S", 0.0)
    monkeypatch.setattr(Progress, "read", staticmethod(read))
    assert fire(frontier(place, 120_000)) == {"until_ms": 120_000}
    assert "how far the stream of readings has come can't be read: [Errno 5] the disk is away; no driver" in told[0]
    assert "can't be read: half a log" in told[1]
    assert told[2:] == ["the stream has committed up to 1970-01-01T00:02:00.000Z"]
