"""The watch over late tuples, against a query's tables: what it fires, how often, and what it outlives."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest
from airflow._shared.module_loading import import_string
from airflow.models.trigger import Trigger
from airflow.triggers.base import BaseEventTrigger

from fake_host import QUERY, declare
from late_tables import LateTables
from tailrace.correction import requests
from tailrace.correction.uncorrected import Uncorrected
from tailrace.ground.duration import ms
from tailrace.orchestration import gap_trigger
from tailrace.orchestration.gap_trigger import GapTrigger
from tailrace.query.loading import load

WANTED = {"arrived_from": "1970-01-01T00:01:40.000Z", "arrived_to": "1970-01-01T00:02:10.000Z"}


@pytest.fixture
def there(layout):
    """Late tuples that span more than Γ."""
    there = LateTables(layout)
    there.late((110_000, 0), (130_000, 50_000))
    there.commit(135_000)
    return there


@pytest.fixture
def watch():
    """A watch as Airflow makes it: from what it was serialized to."""

    def make():
        path, arguments = GapTrigger("readings", 50_000, 10_000, 5000, poll_s=0.001).serialize()
        return import_string(path)(**arguments)

    return make


@pytest.fixture
def told(monkeypatch):
    lines = []
    log = SimpleNamespace(info=lines.append)
    monkeypatch.setattr(GapTrigger, "log", log)
    return lines


@pytest.fixture
def looks(monkeypatch):
    """Waits for so many looks to be over."""
    done = []
    look = GapTrigger._look

    def counted(self):
        found = look(self)
        done.append(found)
        return found

    monkeypatch.setattr(GapTrigger, "_look", counted)

    async def wait(more):
        wanted = len(done) + more
        while len(done) < wanted:
            await asyncio.sleep(0.001)

    return wait


async def watched(watch, *steps):
    """Run a watch in the background, do these steps, and give what it fired."""
    fired = []

    async def listen():
        async for event in watch.run():
            fired.append(event.payload)

    task = asyncio.create_task(listen())
    for step in steps:
        await asyncio.wait_for(step, 60)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return fired


def run(watch, *steps):
    return asyncio.run(watched(watch, *steps))


def test_it_is_named_by_plain_numbers_so_that_airflow_finds_it_again(tmp_path):
    """Airflow puts a new one in its place, at each reading of the DAG, where their hashes differ."""
    text = QUERY + "correction: {{gap: 90 s}}\n"
    query = load(declare(tmp_path, "readings", text.replace("slide: 1 h", "slide: 45 min")))
    trigger = GapTrigger.of(query, ms(query.correction.gap))
    path, arguments = trigger.serialize()
    assert arguments == {"query": "readings", "gap_ms": 90_000, "tick_ms": 60_000, "pane_ms": 900_000, "poll_s": 2.0}
    kept = Trigger(classpath=path, kwargs=arguments).kwargs
    assert BaseEventTrigger.hash(path, kept) == BaseEventTrigger.hash(path, arguments)
    assert import_string(path)(**kept).serialize() == (path, arguments)
    assert GapTrigger.of(query, 1).serialize()[1] != arguments


def test_it_fires_once_with_the_range(there, watch, looks):
    assert run(watch(), looks(20)) == [WANTED]


def test_a_watch_that_is_started_again_does_not_fire_again(there, watch, looks):
    assert run(watch(), looks(3)) == [WANTED]
    assert run(watch(), looks(3)) == []


def test_what_a_watch_notes_while_it_is_ended_is_fired_by_the_next(there, watch, looks, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()
    read = Uncorrected.read

    def slowly(layout):
        begun.set()
        assert go_on.wait(60)
        return read(layout)

    monkeypatch.setattr(Uncorrected, "read", slowly)

    async def ended():
        task = asyncio.create_task(anext(watch().run()))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        await asyncio.sleep(0.05)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(ended())
    assert run(watch(), looks(3)) == [WANTED]


def test_two_watches_fire_once(there, watch, looks):
    async def both():
        return await asyncio.gather(*(watched(watch(), looks(10)) for _ in range(2)))

    assert sorted(asyncio.run(both()), key=len) == [[], [WANTED]]


def test_it_fires_again_for_the_next_advance_and_for_what_was_lost(there, watch, looks, monkeypatch):
    monkeypatch.setattr(requests, "PAUSE_MS", 0)

    async def advance():
        there.late((140_000, 0), (150_000, 50_000))
        there.commit(150_000)

    async def lose():
        there.run(100_000, 130_000)
        monkeypatch.setattr(requests, "PATIENCE_MS", 0)

    second = {"arrived_from": WANTED["arrived_to"], "arrived_to": "1970-01-01T00:02:30.000Z"}
    fired = run(watch(), looks(3), advance(), looks(3), lose(), looks(3))
    assert fired[:3] == [WANTED, second, second]


def test_before_the_query_has_run_it_waits(layout, watch, looks, told):
    async def begin():
        there = LateTables(layout)
        there.late((110_000, 0), (130_000, 50_000))
        there.commit(135_000)

    assert run(watch(), looks(3), begin(), looks(3)) == [WANTED]
    assert told[0] == "readings has committed nothing yet"


def test_it_outlives_whatever_goes_wrong(there, watch, looks, told, monkeypatch):
    read, wrong = Uncorrected.read, [OSError(5, "the disk is away"), ValueError("half a log")]

    def fail(layout):
        if wrong:
            raise wrong.pop(0)
        return read(layout)

    monkeypatch.setattr(gap_trigger, "TELL_S", 0.0)
    monkeypatch.setattr(Uncorrected, "read", staticmethod(fail))
    assert run(watch(), looks(5)) == [WANTED]
    assert told[0] == "what of readings is uncorrected can't be told: [Errno 5] the disk is away"
    assert told[1].endswith("can't be told: half a log")
    assert "a correction is asked for, of what arrived in [1970-01-01T00:01:40.000Z" in told[2]


def test_without_a_warehouse_it_says_what_is_missing(there, watch, looks, told, monkeypatch):
    monkeypatch.delenv("TAILRACE_WAREHOUSE")
    assert run(watch(), looks(2)) == []
    assert "environment variable TAILRACE_WAREHOUSE: it is not set" in told[0]


def test_it_tells_once_a_minute_and_when_it_fires(layout, watch, looks, told, monkeypatch):
    there = LateTables(layout)
    there.commit(100_000)

    async def exceed():
        there.late((110_000, 0), (130_000, 50_000))
        there.commit(135_000)

    assert run(watch(), looks(20), exceed(), looks(20)) == [WANTED]
    assert [line.split(":")[0][:20] for line in told] == ["all late tuples of r", "the uncorrected late"]
    monkeypatch.setattr(gap_trigger, "TELL_S", 0.0)
    run(watch(), looks(6))  # the sixth look begins only when the fifth is told
    assert len(told) >= 7


def test_it_holds_up_no_other_trigger(there, watch, looks, monkeypatch):
    """All I/O is in threads: while a look takes its time, the event loop runs on."""
    entered, go, released = threading.Event(), threading.Event(), []

    def slow(layout):
        entered.set()
        released.append(go.wait(30))

    monkeypatch.setattr(Uncorrected, "read", staticmethod(slow))

    async def meanwhile():
        await asyncio.to_thread(entered.wait, 30)
        go.set()

    assert run(watch(), meanwhile(), looks(1)) == []
    assert all(released)
