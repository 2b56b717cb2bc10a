"""The gap trigger, against a query's tables: it fires once per advance by Γ, and survives errors."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest
from airflow._shared.module_loading import import_string
from airflow.models.trigger import Trigger
from airflow.triggers.base import BaseEventTrigger

from kit.fakes.fake_host import QUERY, declare
from kit.runs.late_tables import LateTables
from kit.suite.waiting import PATIENCE_S
from tailrace.correction import requests
from tailrace.correction.uncorrected import Uncorrected
from tailrace.ground.duration import ms
from tailrace.orchestration import gap_trigger
from tailrace.orchestration.gap_trigger import GapTrigger
from tailrace.query.loading import load

EXPECTED_RANGE = {"arrived_from": "1970-01-01T00:01:40.000Z", "arrived_to": "1970-01-01T00:02:10.000Z"}


@pytest.fixture
def late_tables(layout):
    """Tables with late tuples that span more than Γ."""
    late_tables = LateTables(layout)
    late_tables.late((110_000, 0), (130_000, 50_000))
    late_tables.commit(135_000)
    return late_tables


@pytest.fixture
def make_trigger():
    """Builds a trigger as Airflow does: from its serialization."""

    def make():
        path, arguments = GapTrigger("readings", 50_000, 10_000, 5000, poll_s=0.001).serialize()
        return import_string(path)(**arguments)

    return make


@pytest.fixture
def log_lines(monkeypatch):
    lines = []
    log = SimpleNamespace(info=lines.append)
    monkeypatch.setattr(GapTrigger, "log", log)
    return lines


@pytest.fixture
def wait_for_looks(monkeypatch):
    """A coroutine function that waits until a number of further looks have ended."""
    results = []
    look = GapTrigger._poll

    def look_and_count(self):
        result = look(self)
        results.append(result)
        return result

    monkeypatch.setattr(GapTrigger, "_poll", look_and_count)

    async def wait(more):
        target = len(results) + more
        while len(results) < target:
            await asyncio.sleep(0.001)

    return wait


async def events_during(trigger, *steps):
    """Run a trigger in the background, await the steps in order, and return the payloads of its events."""
    events = []

    async def listen():
        async for event in trigger.run():
            events.append(event.payload)

    task = asyncio.create_task(listen())
    for step in steps:
        await asyncio.wait_for(step, PATIENCE_S)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return events


def run(trigger, *steps):
    return asyncio.run(events_during(trigger, *steps))


def test_a_trigger_keeps_its_identity_through_serialization(tmp_path):
    """At each parse of the DAG Airflow compares hashes of class and arguments, and replaces a trigger that differs."""
    text = QUERY + "correction: {{gap: 90 s}}\n"
    query = load(declare(tmp_path, "readings", text.replace("slide: 1 h", "slide: 45 min")))
    trigger = GapTrigger.from_query(query, ms(query.correction.gap))
    path, arguments = trigger.serialize()
    assert arguments == {"query": "readings", "gap_ms": 90_000, "tick_ms": 60_000, "pane_ms": 900_000, "poll_s": 2.0}
    stored_arguments = Trigger(classpath=path, kwargs=arguments).kwargs
    assert BaseEventTrigger.hash(path, stored_arguments) == BaseEventTrigger.hash(path, arguments)
    assert import_string(path)(**stored_arguments).serialize() == (path, arguments)
    assert GapTrigger.from_query(query, 1).serialize()[1] != arguments


def test_panes_of_a_calendar_count_as_the_longest_day(tmp_path):
    """So no late tuples are further apart than the span that Γ is held against."""
    days = QUERY.replace("{{size: 2 h, slide: 1 h}}", "{{size: 1 d, timezone: Europe/Berlin}}")
    query = load(declare(tmp_path, "readings", days))
    assert GapTrigger.from_query(query, 1).pane_ms == 25 * 3_600_000


def test_a_trigger_fires_once_with_the_range_of_the_late_tuples(late_tables, make_trigger, wait_for_looks):
    assert run(make_trigger(), wait_for_looks(20)) == [EXPECTED_RANGE]


def test_a_restarted_trigger_does_not_fire_again(late_tables, make_trigger, wait_for_looks):
    assert run(make_trigger(), wait_for_looks(3)) == [EXPECTED_RANGE]
    assert run(make_trigger(), wait_for_looks(3)) == []


def test_a_request_written_during_a_cancellation_is_fired_by_the_next_trigger(
    late_tables, make_trigger, wait_for_looks, monkeypatch
):
    has_begun, may_continue = threading.Event(), threading.Event()
    read = Uncorrected.read

    def read_slowly(layout):
        has_begun.set()
        assert may_continue.wait(PATIENCE_S)
        return read(layout)

    monkeypatch.setattr(Uncorrected, "read", read_slowly)

    async def cancel_during_a_look():
        task = asyncio.create_task(anext(make_trigger().run()))
        await asyncio.to_thread(has_begun.wait, PATIENCE_S)
        task.cancel()
        await asyncio.sleep(0.05)
        may_continue.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_during_a_look())
    assert run(make_trigger(), wait_for_looks(3)) == [EXPECTED_RANGE]


def test_two_concurrent_triggers_fire_once(late_tables, make_trigger, wait_for_looks):
    async def both():
        return await asyncio.gather(*(events_during(make_trigger(), wait_for_looks(10)) for _ in range(2)))

    assert sorted(asyncio.run(both()), key=len) == [[], [EXPECTED_RANGE]]


def test_a_trigger_fires_again_for_the_next_advance_and_for_a_lost_correction(
    late_tables, make_trigger, wait_for_looks, monkeypatch
):
    monkeypatch.setattr(requests, "PAUSE_MS", 0)

    async def advance():
        late_tables.late((140_000, 0), (150_000, 50_000))
        late_tables.commit(150_000)

    async def correct_the_first():
        late_tables.run(100_000, 130_000)

    async def lose_the_second():
        monkeypatch.setattr(requests, "PATIENCE_MS", 0)

    next_range = {"arrived_from": EXPECTED_RANGE["arrived_to"], "arrived_to": "1970-01-01T00:02:30.000Z"}
    corrected = correct_the_first(), wait_for_looks(2)  # a look that began before knows of no correction
    steps = wait_for_looks(3), advance(), wait_for_looks(3), *corrected, lose_the_second(), wait_for_looks(3)
    events = run(make_trigger(), *steps)
    assert events[:3] == [EXPECTED_RANGE, next_range, next_range]


def test_a_trigger_waits_for_the_querys_first_run(layout, make_trigger, wait_for_looks, log_lines):
    async def begin():
        tables = LateTables(layout)
        tables.late((110_000, 0), (130_000, 50_000))
        tables.commit(135_000)

    assert run(make_trigger(), wait_for_looks(3), begin(), wait_for_looks(3)) == [EXPECTED_RANGE]
    assert log_lines[0] == "readings has committed nothing yet"


def test_a_trigger_survives_errors(late_tables, make_trigger, wait_for_looks, log_lines, monkeypatch):
    read, errors = Uncorrected.read, [OSError(5, "the disk is away"), ValueError("half a log")]

    def fail(layout):
        if errors:
            raise errors.pop(0)
        return read(layout)

    monkeypatch.setattr(gap_trigger, "TELL_S", 0.0)
    monkeypatch.setattr(Uncorrected, "read", staticmethod(fail))
    assert run(make_trigger(), wait_for_looks(5)) == [EXPECTED_RANGE]
    assert log_lines[0] == "the uncorrected late tuples of readings are unknown: [Errno 5] the disk is away"
    assert log_lines[1].endswith("are unknown: half a log")
    assert "a correction is asked for, of what arrived in [1970-01-01T00:01:40.000Z" in log_lines[2]


def test_a_trigger_without_a_warehouse_logs_what_is_missing(
    late_tables, make_trigger, wait_for_looks, log_lines, monkeypatch
):
    monkeypatch.delenv("TAILRACE_WAREHOUSE")
    assert run(make_trigger(), wait_for_looks(2)) == []
    assert "environment variable TAILRACE_WAREHOUSE: it is not set" in log_lines[0]


def test_a_trigger_logs_once_a_minute_and_when_it_fires(layout, make_trigger, wait_for_looks, log_lines, monkeypatch):
    tables = LateTables(layout)
    tables.commit(100_000)

    async def exceed():
        tables.late((110_000, 0), (130_000, 50_000))
        tables.commit(135_000)

    assert run(make_trigger(), wait_for_looks(20), exceed(), wait_for_looks(20)) == [EXPECTED_RANGE]
    assert [line.split(":")[0][:20] for line in log_lines] == ["all late tuples of r", "the uncorrected late"]
    monkeypatch.setattr(gap_trigger, "TELL_S", 0.0)
    run(make_trigger(), wait_for_looks(6))  # the sixth look begins only after the fifth is logged
    assert len(log_lines) >= 7


def test_a_trigger_does_not_block_the_event_loop(late_tables, make_trigger, wait_for_looks, monkeypatch):
    """All I/O is in threads, so the event loop runs on during a slow look."""
    has_begun, may_continue, waits = threading.Event(), threading.Event(), []

    def read_slowly(layout):
        has_begun.set()
        waits.append(may_continue.wait(PATIENCE_S))

    monkeypatch.setattr(Uncorrected, "read", staticmethod(read_slowly))

    async def continue_the_look():
        await asyncio.to_thread(has_begun.wait, PATIENCE_S)
        may_continue.set()

    assert run(make_trigger(), continue_the_look(), wait_for_looks(1)) == []
    assert all(waits)
