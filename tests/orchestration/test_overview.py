"""`tailrace status` without a name, and the commands on a query whose file is gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fake_host import declare, write_status
from tailrace.cli import driver_commands as commands
from tailrace.drivers.driver_status import DriverStatus
from tailrace.ground.errors import Refused
from tailrace.orchestration.overview import overview
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.terminal import screen, tables


@pytest.fixture
def gone(place, host, layout):
    """A running driver of `readings` whose query file is gone, beside a declared query and a begun one."""
    declare(place / "queries", "declared")
    (place / "queries" / "readings.yaml").unlink()
    write_status(layout, 1_000)
    write_status(Layout.of(place / "warehouse", "begun"), 1_000)
    (place / "warehouse" / "no query").mkdir()
    host.is_now("running")
    inspect = type(host).inspect
    absent = host.driver.__class__("", "absent", None, None, "unknown")
    host.known_homes = {"readings": str(layout.home)}
    host.inspect = lambda name: inspect(host, name) if name.partition(".")[0] == "readings" else absent
    return host


def test_all_queries_and_drivers_are_listed(gone):
    columns, rows, problems = overview()
    at = columns.index
    assert [row[0] for row in rows] == ["begun", "declared", "readings"]
    assert [row[at("driver")] for row in rows] == ["absent", "absent", "running"]
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
