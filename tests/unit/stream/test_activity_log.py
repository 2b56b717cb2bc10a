"""The activity of a live stream: which observations are written, what they hold, and what a lost table costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kit.runs.panel_stream import query_over
from kit.runs.warehouse import make_stream, write_files
from kit.suite.waiting import PATIENCE_S
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.storage.tables import Tables
from tailrace.stream import activity_log
from tailrace.stream.activity_log import KEPT_MS, ActivityLog, Usage
from tailrace.stream.local_stream import run
from tailrace.stream.run_options import RunOptions

NOW = 1_700_000_000_000
MINUTE_MS = 60_000
LIVE = Status("streaming", 7, NOW, NOW, batches=3, rows=40, late=2, answers=5, rows_left=9, committed=NOW - 500)


class Watched:
    """The log of a driver whose status changes, with usage that counts its measurements."""

    def __init__(self, directory: Path) -> None:
        self.tables, self.measured = Tables(Layout(directory / "query")), 0
        self.log = ActivityLog(self.tables, self._usage)

    def _usage(self) -> Usage:
        self.measured += 1
        return Usage(self.measured, 1 << 20)

    def observe(self, status: Status) -> None:
        """Observe a status, and wait until what is due is written."""
        self.log.observe(status)
        while self.log._writing is not None:
            assert self.log._writing.wait(60)
            self.log._end(self.log._writing)

    def rows(self) -> list[dict[str, Any]]:
        return self.tables.read("activity").sort_by("made_at").to_pylist()


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a driver waits for its table as long as a slow machine takes."""
    monkeypatch.setattr(activity_log, "END_S", PATIENCE_S)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def test_an_observation_has_the_status_and_what_the_processes_use(watched: Watched) -> None:
    watched.log.batch_took(70)
    watched.log.batch_took(None)
    watched.observe(replace(LIVE, busy_ms=40))
    (row,) = watched.rows()
    assert row == {
        "made_at": NOW,
        "started_at": NOW,
        "state": "streaming",
        "problem": None,
        "batches": 3,
        "rows": 40,
        "late": 2,
        "quarantined": 0,
        "answers": 5,
        "rows_left": 9,
        "committed": NOW - 500,
        "frontier": None,
        "batch_ms": 70,
        "cpu_ms": 1,
        "memory": 1 << 20,
    }


def test_a_living_stream_is_observed_once_a_minute(watched: Watched) -> None:
    for second in range(0, 181):
        state = "waiting" if second % 7 else "streaming"  # a change that says nothing
        watched.observe(replace(LIVE, state=state, at_ms=NOW + 1000 * second))
    assert [row["made_at"] - NOW for row in watched.rows()] == [0, MINUTE_MS, 2 * MINUTE_MS, 3 * MINUTE_MS]
    assert watched.measured == 4


def test_a_problem_is_observed_sooner_and_one_that_comes_and_goes_fills_no_table(watched: Watched) -> None:
    watched.observe(LIVE)
    for second in range(1, 60):
        watched.observe(replace(LIVE, at_ms=NOW + 1000 * second, problem="the disk is full" if second % 2 else None))
    at = [(row["made_at"] - NOW) // 1000 for row in watched.rows()]
    assert at == [0, 11, 22, 33, 44, 55]


def test_a_compaction_that_fails_doubles_no_observation(watched: Watched, monkeypatch: Any) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(activity_log, "COMPACT_EVERY", 1)
    monkeypatch.setattr(Tables, "compact", fail)
    for minute in range(3):
        watched.observe(replace(LIVE, at_ms=NOW + MINUTE_MS * minute))
    assert [row["made_at"] for row in watched.rows()] == [NOW + MINUTE_MS * minute for minute in range(3)]


def test_the_end_of_a_driver_is_observed_at_once(watched: Watched) -> None:
    watched.log.observe(LIVE)  # and is still being written
    watched.log.observe(replace(LIVE, state="drained", at_ms=NOW + 1))
    assert [row["state"] for row in watched.rows()] == ["streaming", "drained"]


def test_what_a_driver_does_not_know_yet_is_null(watched: Watched) -> None:
    watched.observe(Status("starting", 7, NOW, NOW, 0))
    (row,) = watched.rows()
    names = ("batches", "rows", "late", "quarantined", "answers", "rows_left", "batch_ms")
    assert {name: row[name] for name in names} == dict.fromkeys(names)


def test_what_is_unread_is_null_while_the_source_can_not_be_read(watched: Watched) -> None:
    watched.observe(LIVE)
    watched.observe(replace(LIVE, at_ms=NOW + 60_000, rows_left=0, problem="source: no column 'key'"))
    assert [row["rows_left"] for row in watched.rows()] == [9, None]


def test_a_clock_that_is_set_back_stops_no_observation(watched: Watched) -> None:
    watched.observe(LIVE)
    watched.observe(replace(LIVE, at_ms=NOW - 3_600_000))
    assert len(watched.rows()) == 2


def test_a_table_that_can_not_be_written_is_told_once_and_written_later(watched: Watched, capsys: Any) -> None:
    in_the_way = watched.tables.layout.table("activity")
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("no table")
    for minute in range(3):
        watched.observe(replace(LIVE, at_ms=NOW + MINUTE_MS * minute))
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("activity: it can't be written, and is tried again: ")
    in_the_way.unlink()
    watched.observe(replace(LIVE, at_ms=NOW + MINUTE_MS * 3))
    assert [row["made_at"] for row in watched.rows()] == [NOW + MINUTE_MS * minute for minute in range(4)]


def test_a_compaction_removes_what_is_older_than_a_month(watched: Watched, monkeypatch: Any) -> None:
    """Also where drivers change often: writes count over all of them."""
    monkeypatch.setattr(activity_log, "COMPACT_EVERY", 4)
    watched.observe(replace(LIVE, at_ms=NOW - KEPT_MS - 2 * MINUTE_MS))
    for minute in range(3):
        watched.log = ActivityLog(watched.tables, watched._usage)
        watched.observe(replace(LIVE, at_ms=NOW + MINUTE_MS * minute))
    assert [row["made_at"] for row in watched.rows()] == [NOW + MINUTE_MS * minute for minute in range(3)]
    assert len(watched.tables.open("activity").file_uris()) == 1


def test_the_processes_of_a_driver_are_measured() -> None:
    usage = Usage.read()
    assert usage.cpu_ms is not None
    assert usage.cpu_ms > 0
    assert usage.memory is not None
    assert usage.memory > 10 << 20


def run_live(directory: Path, options: RunOptions = RunOptions(100, pace_ms=1, live=True)) -> Tables:  # noqa: B008
    """Run a live stream over a new file until its first batch, after which it drains."""
    query = query_over(directory, {})
    files = len(list((directory / "in").glob("*")))
    write_files(make_stream(200, seed=3), directory / "in", [100 * files, 100 * files + 100], first=files)
    layout = Layout.for_query(directory / "wh", query.name)
    run(query, directory / "wh", options, lambda *_: layout.request_drain())
    return Tables(layout)


def test_a_live_stream_has_its_activity_from_begin_to_end(tmp_path: Path) -> None:
    tables = run_live(tmp_path)
    rows = tables.read("activity").sort_by("made_at").to_pylist()
    last = rows[-1]
    assert (rows[0]["state"], last["state"]) == ("starting", "drained")
    assert {row["started_at"] for row in rows} == {rows[0]["started_at"]}
    status = Status.read(tables.layout)
    assert status is not None
    assert (last["rows"], last["batches"], last["rows_left"]) == (status.rows, status.batches, status.rows_left)
    assert last["rows"] > 0
    again = run_live(tmp_path).read("activity")
    assert len(set(again["started_at"].to_pylist())) == 2


def test_a_damaged_table_of_activity_stops_no_stream(tmp_path: Path, capsys: Any) -> None:
    tables = run_live(tmp_path)
    for file in (tables.layout.table("activity") / "_delta_log").iterdir():
        file.write_text("{")
    run_live(tmp_path)
    status = Status.read(tables.layout)
    assert status is not None
    assert status.state == "drained"
    assert "activity: it can't be written, and is tried again: " in capsys.readouterr().err


def test_a_bounded_run_has_none(tmp_path: Path) -> None:
    assert not run_live(tmp_path, RunOptions(100)).has("activity")
