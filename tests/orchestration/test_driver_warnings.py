"""Warnings in the log of a watch: a driver's death, rejected records, and edits that are not in force."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pyarrow as pa
import pytest

from kit.fakes.fake_host import QUERY, declare
from kit.runs.late_tables import SCHEMA as QUALITY_SCHEMA
from kit.suite.waiting import PATIENCE_S
from tailrace.correction.promise_state import PromiseState
from tailrace.drivers import driver_lifecycle
from tailrace.drivers.driver_host import Driver
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.driver_warnings import PROMISE_EVERY_S, DriverWarnings
from tailrace.ground.arrow.times import with_times
from tailrace.orchestration.settings import Declared
from tailrace.orchestration.submit import Options, deployed_query
from tailrace.orchestration.triggers import DriverTrigger
from tailrace.storage.rejects import newest_rejects
from tailrace.storage.status import Status
from tailrace.storage.tables import Tables

TIMES = count(1)
SCHEMA = pa.schema(
    [(name, pa.timestamp("us", "UTC") if name == "arrival_time" else pa.string()) for name in
     ("stream", "position", "arrival_time", "reason", "record")]
)  # fmt: skip


def status(state="running", pid=1, detail="", reports="streaming", **reported):
    """A driver's status, which is another one each time, as of a driver that reports."""
    driver, at_ms = Driver("readings.0123456789ab", state, pid, None, detail), next(TIMES)
    return DriverStatus(driver, Status(reports, 1, 0, at_ms, 1, **reported), at_ms)


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
    tables.create({"quarantine": SCHEMA})
    tables.append("quarantine", pa.table(rows, SCHEMA), "app", batch)


class Watch(DriverWarnings):
    """Warnings about a driver, which returns their texts; those of lines below WARNING begin with `info: `."""

    def observe(self, status, now_s):
        lines = self.host_away("no answer") if status is None else super().observe(status, now_s)
        return [f"{'' if line.is_warning else 'info: '}{line.text}" for line in lines]


@pytest.fixture
def watch(place, layout):
    return Watch(layout, place / "queries" / "readings.yaml")


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
    away = "readings: the driver host does not answer; a driver that lives goes on: no answer"
    outcome = "    if that lasts for 30 min, supervise fails, and leaves the stream as it is"
    found = [watch.observe(each, 0) for each in (status(), None, None, status(), status())]
    assert found == [[], [f"{away}\n{outcome}"], [], [f"info: over: {away}"], []]


def test_newly_rejected_records_are_warned_of_with_reason_and_example_but_no_value(watch, layout):
    reject(layout, ["event_time out of bounds", "value is no number: 'a secret'", "event_time out of bounds"])
    assert watch.observe(status(quarantined=0), 0) == []
    [warning] = watch.observe(status(quarantined=3, rows=5), 0)
    assert warning == (
        "readings: 3 records rejected, the newest: event_time out of bounds (2); value is no number: … (1); "
        "such as file0.csv, record 1"
    )


def test_rejected_records_are_warned_of_once_a_minute_and_not_again_after_a_restart(watch, layout):
    reject(layout, ["id is null"])
    counts = [(1, 0.0), (1, 5.0), (2, 10.0), (4, 59.0), (4, 60.0), (0, 70.0), (4, 130.0), (5, 140.0)]
    found = [
        watch.observe(status(quarantined=total, rows=row, reports="streaming" if total else "starting"), now_s)
        for row, (total, now_s) in enumerate(counts)
    ]
    assert [warning.split(" rejected")[0] for warnings in found for warning in warnings] == [
        "readings: 1 record",
        "readings: 3 records",
        "readings: 1 record",
    ]


def test_where_no_record_is_accepted_the_warning_says_so_and_what_becomes_of_the_stream(watch, layout):
    reject(layout, ["value is no number"])
    [some] = watch.observe(status(quarantined=1, rows=5), 0)
    [none] = watch.observe(status(quarantined=3, rows=5), 60)
    [others] = watch.observe(status(quarantined=4, rows=9), 120)
    assert none.startswith("readings: 2 records rejected, and none accepted meanwhile, the newest: value is no number")
    assert none.splitlines()[1].strip().startswith("other records may fit, so the driver goes on")
    assert "none accepted" not in some + others


WRONG = "source: /in/b.csv: it has no column 'v', which the query names as value\n    right would be: w"


def test_a_wrong_column_is_warned_of_at_once_with_the_end_of_driver_and_task(watch):
    found = [watch.observe(status(problem=WRONG, gives_up_ms=60_000), now_s) for now_s in (0, 5)]
    end = (
        "put right before 1970-01-01T00:01:00.000Z, the stream goes on; else its driver ends then, and supervise fails"
    )
    assert found == [[f"readings: {WRONG}\n    {end}"], []]
    assert watch.observe(status(), 10) == [f"info: over: readings: {WRONG.splitlines()[0]}"]


@pytest.mark.parametrize(("is_awaiting", "how"), [(True, "waits for it"), (False, "tries again")])
def test_a_stream_that_waits_for_its_source_says_why_and_that_the_task_goes_on(watch, is_awaiting, how):
    [warning] = watch.observe(status(reports="waiting", problem="source: /in is away", is_awaiting=is_awaiting), 0)
    outcome = f"    the driver {how}, and supervise watches on, for as long as that takes"
    assert warning.splitlines() == ["readings: source: /in is away", outcome]


def test_of_several_problems_each_is_warned_of_and_ends_by_itself(watch):
    first, both = "source: away", "source: away\ndisk or network: No space left on device"
    [[one], [two], [over]] = [watch.observe(status(problem=problem), 0) for problem in (first, both, first)]
    assert (one.splitlines()[0], two.splitlines()[0]) == (
        "readings: source: away",
        "readings: disk or network: No space left on device",
    )
    assert over == "info: over: readings: disk or network: No space left on device"


def test_a_driver_that_dies_or_starts_again_ends_no_problem(watch):
    looks = [
        status(problem="source: away"),
        status("starting", None, problem="source: away"),
        status(reports="starting"),
    ]
    found = [watch.observe(each, 0) for each in looks]
    assert not [line for lines in found for line in lines if "over" in line]
    assert watch.observe(status(), 0) == ["info: over: readings: source: away"]


def test_warnings_come_before_other_lines(watch):
    watch.observe(status(problem="source: away"), 0)
    lines = watch.observe(status(problem="disk or network: full"), 0)
    assert [line.startswith("info: ") for line in lines] == [False, True]


def judge(layout, bucket, off, risk=0.1):
    """Write what a correction has measured."""
    tables = Tables(layout)
    tables.create({"quality": QUALITY_SCHEMA["quality"]})
    row = dict.fromkeys(QUALITY_SCHEMA["quality"].names) | {
        "bucket_start": bucket,
        "answers": 9,
        "missing": 0,
        "off": off,
    }
    rows = pa.Table.from_pylist([row | {"error": 0.05, "risk": risk}])
    tables.add("quality", with_times(rows, QUALITY_SCHEMA["quality"]))


def test_a_broken_promise_is_warned_of_once_and_reported_when_it_is_kept_again(watch, layout):
    assert watch.observe(status(), 0) == []
    judge(layout, 0, off=9)
    assert watch.observe(status(), PROMISE_EVERY_S - 1) == []
    [warning] = watch.observe(status(), PROMISE_EVERY_S)
    broken = "100.00% of the newest 9 answers are off by 0.05 or more, at most 10.00% promised"
    assert warning == f"readings: its promise is broken: {broken}"
    assert watch.promise == [f"promise broken: {broken}"]
    judge(layout, 3_600_000, off=8)
    assert watch.observe(status(), 100) == []
    for hour in range(2, 12):
        judge(layout, hour * 3_600_000, off=0)
    assert watch.observe(status(), 200) == [f"info: over: readings: its promise is broken: {broken}"]
    assert watch.promise[0].startswith("promise kept: 0.00% of the newest 90 answers")


def test_measured_errors_are_read_again_only_in_a_new_version(watch, layout, monkeypatch):
    judge(layout, 0, off=9)
    read, reads = PromiseState.read, []
    monkeypatch.setattr(PromiseState, "read", staticmethod(lambda of: (reads.append(1), read(of))[1]))
    for now_s in range(0, 200, 20):
        watch.observe(status(), now_s)
    assert len(reads) == 1
    judge(layout, 3_600_000, off=9)
    watch.observe(status(), 300)
    assert len(reads) == 2


def test_a_damaged_table_of_measured_errors_is_warned_of_and_ends_no_watch(watch, layout):
    judge(layout, 0, off=9)
    (layout.table("quality") / "_delta_log" / f"{1:020}.json").write_text("{")
    [warning] = watch.observe(status(), 0)
    assert warning.startswith("readings: whether its promise is kept can't be read: ")


def test_an_event_time_far_ahead_of_arrival_is_warned_of_once_though_its_text_changes(watch):
    found = [watch.observe(status(ahead=f"{hours} h ahead"), 0) for hours in (3, 2)]
    assert found == [["readings: 3 h ahead"], []]


def test_the_newest_rejects_are_those_of_the_last_batch(layout):
    assert newest_rejects(layout) is None
    reject(layout, ["old"] * 3)
    reject(layout, ["new"], batch=1)
    assert str(newest_rejects(layout)) == "new (1); such as file1.csv, record 1"


def test_rejected_records_are_warned_of_though_their_table_is_away(watch, layout):
    [warning] = watch.observe(status(quarantined=2, rows=1), 0)
    assert warning == "readings: 2 records rejected"
    layout.table("quarantine").mkdir(parents=True)
    layout.table("quarantine").joinpath("_delta_log").mkdir()
    layout.table("quarantine").joinpath("_delta_log", f"{0:020}.json").write_text("{")
    [warning] = watch.observe(status(quarantined=4, rows=2), 100)
    assert warning.startswith("readings: 2 records rejected; the reasons can't be read: ")


def test_an_edit_is_warned_of_once(host, place, layout):
    file = place / "queries" / "readings.yaml"
    driver_lifecycle.deploy(host, layout, ["go"], {}, deployed_query(Declared.read(file), Options()))
    watch = Watch(layout, file)
    assert watch.observe(status(), 0) == []
    declare(place / "queries", "readings", QUERY.replace("tick: 1 min", "tick: 1 min, idle: 20 s"))
    [warning] = watch.observe(status(), 0)
    assert "disorder.idle: 1 min → 20 s" in warning
    assert watch.observe(status(), 0) == []
    declare(place / "queries", "readings")
    [over] = watch.observe(status(), 0)
    assert over == "info: over: readings: 1 setting not in force, its driver runs what was deployed:"


def test_an_unreadable_record_ends_no_watch(host, place, layout):
    watch = Watch(layout, place / "queries" / "readings.yaml")
    layout.stream.mkdir(parents=True)
    layout.deployed.write_text("{")
    assert [len(watch.observe(status(), 0)) for _ in range(2)] == [1, 0]


@pytest.mark.parametrize("end", ["ended", "failed"])
def test_a_watch_logs_warnings_as_such(host, place, layout, monkeypatch, end):
    lines = []
    log = SimpleNamespace(info=lambda *_: None, warning=lines.append)
    monkeypatch.setattr(DriverTrigger, "log", log)
    looks = iter([("running", 1), ("starting", None), ("running", 2), (end, None)])

    def look():
        state, pid = next(looks)
        code = {"ended": 0, "failed": 2}.get(state)
        host.driver = replace(host.driver, state=state, pid=pid, exit_code=code, detail="ended by a signal")

    host.on_inspect = look
    file = str(place / "queries" / "readings.yaml")
    trigger = DriverTrigger("readings", str(place / "warehouse"), "", 0.01, hang_after_s=60, patience_s=1, file=file)

    async def watch():
        async for event in trigger.run():
            return event.payload

    assert asyncio.run(asyncio.wait_for(watch(), PATIENCE_S))["kind"] == end
    assert lines == [
        "readings: its driver died, pid 1: ended by a signal",
        "readings: its driver was started again, pid 2",
        *(["readings: failed, ended by a signal"] if end == "failed" else []),
    ]
