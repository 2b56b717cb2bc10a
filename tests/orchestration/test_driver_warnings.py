"""Warnings in the log of a watch: a driver's death, rejected records, and edits that are not in force."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest

from fake_host import QUERY, declare
from tailrace.drivers.driver_host import Driver
from tailrace.drivers.driver_status import DriverStatus
from tailrace.orchestration import driver_lifecycle
from tailrace.orchestration.driver_warnings import DriverWarnings
from tailrace.orchestration.settings import Declared
from tailrace.orchestration.submit import Options, deployed_query
from tailrace.orchestration.triggers import DriverTrigger
from tailrace.storage.rejects import newest_rejects
from tailrace.storage.status import Status
from tailrace.storage.tables import Tables

SCHEMA = pa.schema(
    [(name, pa.timestamp("us", "UTC") if name == "arrival_time" else pa.string()) for name in
     ("stream", "position", "arrival_time", "reason", "record")]
)  # fmt: skip


def status(state="running", pid=1, quarantined=0, detail="", reported=True):
    driver = Driver("readings.0123456789ab", state, pid, None, detail)
    return DriverStatus(driver, Status("streaming", 1, 0, 0, 1, quarantined=quarantined) if reported else None, 0)


def reject(layout, reasons, batch=0):
    """Write a batch of rejected records, whose values nobody may see in a log."""
    rows = {
        "stream": ["readings"] * len(reasons),
        "position": [f"in/file{batch}.csv#{row}" for row in range(len(reasons))],
        "arrival_time": [0] * len(reasons),
        "reason": reasons,
        "record": ["a secret"] * len(reasons),
    }
    tables = Tables(layout)
    tables.create({"quarantine": SCHEMA}, ["quarantine"])
    tables.append("quarantine", pa.table(rows, SCHEMA), "app", batch)


@pytest.fixture
def watch(layout):
    return DriverWarnings(layout, None)


def test_a_death_is_warned_of_once_and_so_is_the_restart(watch):
    dead = status("starting", None, detail="ended by a signal, to be restarted")
    found = [watch.observe(each, 0) for each in (status(), dead, dead, status(pid=2), status(pid=2))]
    assert found == [
        [],
        ["readings: its driver died, pid 1: ended by a signal, to be restarted"],
        [],
        ["readings: its driver was started again, pid 2"],
        [],
    ]


def test_a_death_between_two_looks_is_seen_by_the_pid(watch):
    assert watch.observe(status(), 0) == []
    assert watch.observe(status(pid=2), 0) == ["readings: its driver died, pid 1, and was started again, pid 2"]


@pytest.mark.parametrize("states", [["starting", "running"], ["running", "stopping", "ended"], ["absent", "running"]])
def test_a_start_and_an_end_are_no_deaths(watch, states):
    for state in states:
        assert watch.observe(status(state, 1 if state in ("running", "stopping") else None), 0) == []


def test_a_host_that_is_away_is_no_death(watch):
    assert [watch.observe(each, 0) for each in (status(), None, status())] == [[], [], []]


def test_newly_rejected_records_are_warned_of_with_reason_and_example_but_no_value(watch, layout):
    reject(layout, ["event_time out of bounds", "value is no number: 'a secret'", "event_time out of bounds"])
    assert watch.observe(status(quarantined=0), 0) == []
    [warning] = watch.observe(status(quarantined=3), 0)
    assert warning == (
        "readings: 3 records rejected, the newest: event_time out of bounds (2); value is no number: … (1); "
        "such as in/file0.csv#0"
    )


def test_rejected_records_are_warned_of_once_a_minute_and_not_again_after_a_restart(watch, layout):
    reject(layout, ["id is null"])
    counts = [(1, 0.0), (1, 5.0), (2, 10.0), (4, 59.0), (4, 60.0), (0, 70.0), (4, 130.0), (5, 140.0)]
    found = [watch.observe(status(quarantined=count), now_s) for count, now_s in counts]
    assert [warning.split(" rejected")[0] for warnings in found for warning in warnings] == [
        "readings: 1 record",
        "readings: 3 records",
        "readings: 1 record",
    ]


def test_the_newest_rejects_are_those_of_the_last_batch(layout):
    assert newest_rejects(layout) is None
    reject(layout, ["old"] * 3)
    reject(layout, ["new"], batch=1)
    assert str(newest_rejects(layout)) == "new (1); such as in/file1.csv#0"


def test_rejected_records_are_warned_of_though_their_table_is_away(watch, layout):
    [warning] = watch.observe(status(quarantined=2), 0)
    assert warning == "readings: 2 records rejected"
    layout.table("quarantine").mkdir(parents=True)
    layout.table("quarantine").joinpath("_delta_log").mkdir()
    layout.table("quarantine").joinpath("_delta_log", f"{0:020}.json").write_text("{")
    [warning] = watch.observe(status(quarantined=4), 100)
    assert warning.startswith("readings: 2 records rejected; the reasons can't be read: ")


def test_an_edit_is_warned_of_once(host, place, layout):
    file = place / "queries" / "readings.yaml"
    driver_lifecycle.deploy(host, layout, ["go"], {}, deployed_query(Declared.read(file), Options()))
    watch = DriverWarnings(layout, file)
    assert watch.observe(status(), 0) == []
    declare(place / "queries", "readings", QUERY.replace("tick: 1 min", "tick: 1 min, idle: 20 s"))
    [warning] = watch.observe(status(), 0)
    assert "disorder.idle: 1 min → 20 s" in warning
    assert watch.observe(status(), 0) == []
    declare(place / "queries", "readings")
    assert watch.observe(status(), 0) == []


def test_an_unreadable_record_ends_no_watch(host, place, layout):
    watch = DriverWarnings(layout, place / "queries" / "readings.yaml")
    layout.stream.mkdir(parents=True)
    layout.deployed.write_text("{")
    assert [len(watch.observe(status(), 0)) for _ in range(2)] == [1, 0]


def test_a_watch_logs_warnings_as_such(host, place, layout, monkeypatch):
    lines = []
    log = SimpleNamespace(info=lambda *_: None, warning=lines.append)
    monkeypatch.setattr(DriverTrigger, "log", log)
    looks = iter([("running", 1), ("starting", None), ("running", 2), ("ended", None)])

    def look():
        state, pid = next(looks)
        code = 0 if state == "ended" else None
        host.driver = replace(host.driver, state=state, pid=pid, exit_code=code, detail="ended by a signal")

    host.on_inspect = look
    trigger = DriverTrigger("readings", str(place / "warehouse"), "", 0.01, hang_after_s=60, patience_s=1)

    async def watch():
        async for event in trigger.run():
            return event.payload

    assert asyncio.run(asyncio.wait_for(watch(), 30))["kind"] == "ended"
    assert lines == [
        "readings: its driver died, pid 1: ended by a signal",
        "readings: its driver was started again, pid 2",
    ]
