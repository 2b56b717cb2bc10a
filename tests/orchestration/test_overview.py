"""`tailrace status` without a name, and the commands on a query whose file is gone."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import tailrace as package
from kit.fakes.fake_host import declare, write_status
from tailrace.cli import driver_commands as commands
from tailrace.cli.warehouse_status import print_status
from tailrace.drivers import driver_lifecycle
from tailrace.drivers.driver_host import Driver
from tailrace.drivers.driver_status import DriverStatus
from tailrace.ground.errors import Refused
from tailrace.orchestration.overview import overview
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status, wall_ms
from tailrace.terminal import screen, tables


@pytest.fixture
def gone(place, host, layout):
    """A running driver of `readings` whose query file is gone, beside a declared query and a begun one."""
    declare(place / "queries", "declared")
    (place / "queries" / "readings.yaml").unlink()
    write_status(layout, 1_000)
    write_status(Layout.for_query(place / "warehouse", "begun"), 1_000)
    (place / "warehouse" / "no query").mkdir()
    host.is_now("running")
    inspect = type(host).inspect
    absent = host.driver.__class__("", "absent", None, None, "unknown")
    host.known_homes = {"readings": str(layout.home)}
    host.inspect = lambda name: (
        inspect(host, name) if name.partition(".")[0] == "readings" else replace(absent, name=name)
    )
    return host


def test_all_queries_and_drivers_are_listed(gone):
    columns, rows, problems = overview()
    at = columns.index
    assert [row[0] for row in rows] == ["begun", "declared", "readings"]
    assert [row[at("driver")] for row in rows] == ["absent", "not started", "running"]
    assert [row[at("file")] for row in rows] == ["none", "declared.yaml", "none"]
    assert [row[at("batches")] for row in rows] == ["3", "–", "3"]
    assert problems == [
        "readings: a driver without a query file; tailrace drain readings or tailrace stop readings ends it"
    ]


def test_a_driver_of_another_warehouse_is_no_driver_of_this_one(gone, place):
    gone.known_homes = {"readings": "/other/warehouse/readings"}
    inspected = gone.inspect
    gone.inspect = lambda name: inspected(name) if name in gone.known_homes else replace(gone.driver, state="absent")
    _, rows, problems = overview()
    assert [row[1] for row in rows if row[0] == "readings"] == ["absent"]
    assert problems == ["readings: the host has a driver of another warehouse, too: /other/warehouse"]


def test_a_wrong_query_file_is_reported_beside_the_others(place, gone):
    declare(place / "queries", "wrong", "name: wrong\n")
    _, rows, problems = overview()
    assert len(rows) == 3
    assert any("wrong.yaml" in problem for problem in problems)


def test_what_is_wrong_with_a_stream_is_said_first_and_below_the_table(place, host, layout, capsys):
    layout.stream.mkdir(parents=True)
    status = Status(
        "waiting", 1, 0, 1_000, 3, rows=1, quarantined=9, rejected="9 × v is NaN, as a#1", problem="source: gone"
    )
    status.write(layout)
    host.is_now("running")
    columns, (row,), problems = overview()
    assert row[columns.index("stream")] == "problem"
    assert problems == [
        "readings: source: gone",
        "readings: most of 10 records were rejected: 9 × v is NaN, as a#1",
    ]
    text = str(DriverStatus(host.driver, status, 1_000))
    assert text.startswith("readings: source: gone\n")
    assert "\nreadings: running, pid 100\nwaiting: " in text
    assert "\n1 accepted, 0 late\n9 rejected: 9 × v is NaN, as a#1" in text
    commands.status("readings")
    assert capsys.readouterr().out.startswith("WARNING: readings: source: gone\n")


def test_the_last_report_of_the_driver_before_is_no_state_of_a_living_one():
    def first_fact(started_ms: int | None, state: str = "running") -> str:
        driver = Driver("readings", state, 7, None, "", started_ms)
        return DriverStatus(driver, Status("drained", 1, 0, 71_000, 3), 100_000).facts()[0]

    assert first_fact(80_000) == "the driver before this one drained, 29 s ago; this one has said nothing yet"
    assert first_fact(70_000) == "drained, 29 s ago", "it ends"
    assert first_fact(80_000, "ended") == first_fact(None) == "drained, 29 s ago"


def test_what_a_drained_stream_has_not_read_is_unknown(place, host, layout):
    layout.stream.mkdir(parents=True)
    Status("drained", 1, 0, wall_ms(), 3, rows_left=0).write(layout)
    columns, (row,), _ = overview()
    assert row[columns.index("to read")] == "–"
    assert "rows to read: unknown" in driver_lifecycle.status(host, layout).facts()
    Status("waiting", 1, 0, wall_ms(), 3, rows_left=1_000).write(layout)
    columns, (row,), _ = overview()
    assert row[columns.index("to read")] == "1,000"


def test_of_query_files_that_share_a_name_none_is_taken(place, host):
    copy = place / "queries" / "a.yaml"
    copy.write_text((place / "queries" / "readings.yaml").read_text())
    _, rows, problems = overview()
    assert not rows
    assert [problem.partition(": ")[0] for problem in problems] == [
        str(place / "queries" / f"{name}.yaml") for name in ("a", "readings")
    ]
    with pytest.raises(Refused, match=r"readings is declared in readings\.yaml, too: none of them is taken"):
        commands.deploy("readings")


def test_a_healthy_stream_whose_query_file_was_copied_is_not_to_be_ended(place, host, layout, capsys):
    copy = place / "queries" / "copy.yaml"
    copy.write_text((place / "queries" / "readings.yaml").read_text())
    write_status(layout, wall_ms())
    host.is_now("running")
    clash = "2 query files are called readings: copy.yaml and readings.yaml; keep one"
    notes = overview()[2]
    assert notes[-1] == f"readings: {clash}"
    assert not any("without a query file" in note for note in notes)
    commands.status("readings")
    assert f"WARNING: {clash}" in capsys.readouterr().out.splitlines()
    (place / "queries" / "third.yaml").write_text(copy.read_text())
    third = "readings: 3 query files are called readings: copy.yaml and readings.yaml and third.yaml; keep one"
    assert overview()[2][-1] == third


def test_a_stream_that_failed_is_shown_as_that_with_its_reason_below(place, host, layout):
    layout.stream.mkdir(parents=True)
    Status("failed", 1, 0, wall_ms(), 3, rows=1, problem="c.csv: it was changed").write(layout)
    host.is_now("failed", 2)
    columns, (row,), problems = overview()
    assert row[columns.index("stream")] == "failed"
    assert problems == ["readings: c.csv: it was changed"]


def test_the_overview_fits_80_columns(gone, monkeypatch, capsys):
    monkeypatch.setattr(screen.out, "width", 80)
    monkeypatch.setattr(tables, "out", screen.out)
    commands.status(None, wide=False)
    output = capsys.readouterr().out
    assert max(map(len, output.splitlines())) <= 80
    assert "--wide shows also" in output
    commands.status(None, wide=True)
    assert "late" in capsys.readouterr().out


def test_a_driver_whose_query_file_is_gone_is_stopped(gone, layout):
    commands.status("readings")
    commands.stop("readings", wait=1.0)
    assert gone.stopped == [1.0]


def test_a_driver_whose_query_file_is_gone_is_drained(gone, layout):
    commands.drain("readings", deadline=0.05, wait=1.0)
    assert gone.stopped == [1.0]


def test_a_query_without_a_driver_yet_is_not_alarming(gone, capsys):
    """As just after a trigger of its DAG."""
    commands.status("declared")
    assert capsys.readouterr().out.splitlines() == [
        "declared: no driver has started yet",
        "a run of the DAG stream_declared starts its driver, after a check; so does tailrace deploy declared; "
        "if a run has failed, the log of its task says why",
    ]
    commands.status("begun")
    assert capsys.readouterr().out.startswith("begun: it has no driver\nstreaming, ")


@pytest.fixture
def uncorrected(place, host):
    """The running stream of `readings`, with a late tuple that waits for its correction; returns the query's file."""
    file = place / "queries" / "readings.yaml"
    hours = pa.array([0, 9, 0], pa.int64())
    at = pc.add(pa.scalar(1_700_006_400_000), pc.multiply(hours, 3_600_000)).cast(pa.timestamp("ms", "UTC"))
    came = pa.array([1_700_100_000_000 + 60_000 * minute for minute in range(3)], pa.timestamp("ms", "UTC"))
    rows = {"event_time": at, "arrival_time": came, "id": ["a", "b", "c"], "value": [1.0, 2.0, 3.0]}
    (place / "queries" / "readings").mkdir()
    pq.write_table(pa.table(rows), place / "queries" / "readings" / "1.parquet")
    package.load(file).run(place / "warehouse", engine="local")
    host.is_now("running")
    return file


def test_a_status_says_what_there_is_to_correct_with_a_driver_host_as_without_one(place, layout, uncorrected, capsys):
    commands.status("readings")
    with_host = capsys.readouterr().out.splitlines()[-1]
    print_status(place / "warehouse", "readings", wide=False)
    without = capsys.readouterr().out.splitlines()[-1]
    assert without == f"1 late tuple to correct: tailrace correct {uncorrected} --warehouse {place / 'warehouse'}"
    assert with_host == f"{without}; or the DAG, unpaused: airflow dags trigger correct_readings"
    columns, (row,), _ = overview()
    assert row[columns.index("to correct")] == "1"
    package.load(uncorrected).at(place / "warehouse").correct(engine="local")
    assert overview()[1][0][columns.index("to correct")] == "0"
    commands.status("readings")
    assert "to correct" not in capsys.readouterr().out


def test_a_status_is_shown_though_the_tables_are_damaged(layout, uncorrected, capsys):
    for commit in (layout.home / "metrics" / "_delta_log").iterdir():
        commit.write_text("no commit")
    commands.status("readings")
    out = capsys.readouterr().out
    assert out.startswith("readings: running, pid 100\n")
    assert "\nwhat there is to correct can't be read: " in out
    columns, (row,), problems = overview()
    assert row[columns.index("to correct")] == "–"
    assert problems[0].startswith("readings: what there is to correct can't be read: ")


@pytest.mark.parametrize("name", ["nobody", "../readings", "Readings"])
def test_a_name_of_nothing_is_refused(gone, name):
    for command in (lambda: commands.status(name), lambda: commands.stop(name, wait=1.0)):
        with pytest.raises(Refused, match=f"query {name}"):
            command()


def test_a_program_of_others_on_the_same_host_is_no_query(gone):
    gone.inspect = lambda name: gone.driver.__class__(name, "running", 7, None, "")
    assert "nginx" not in gone.names()
    with pytest.raises(Refused, match="nginx"):
        commands.stop("nginx", wait=1.0)
    assert gone.stopped == []
