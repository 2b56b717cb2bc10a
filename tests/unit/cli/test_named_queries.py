"""The commands on a query by its name: its rejected and late records, its quality, picture and status."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO

import pyarrow as pa
import pytest

import tailrace as package
from tailrace.api import stream_state
from tailrace.cli import driver_commands, record_readers
from tailrace.ground.errors import refuse
from tailrace.sources import record_place
from tailrace.storage.layout import Layout

QUERY = """name: warmth
kind: aggregate
streams:
  readings:
    source: {format: csv, path: readings.csv}
    event_time: measured
    arrival_time: received
    id: id
    key: sensor
window: 1 min
aggregate:
  readings: {function: count}
  sensors: {function: count_distinct, column: id}
disorder: {policy: k_slack, k: 0 s}
"""
READINGS = """id,measured,received,sensor
r1,2026-11-23 08:00:05,2026-11-23 08:00:06,hall
r2,2026-11-23 08:01:10,2026-11-23 08:01:11,hall
r3,yesterday,2026-11-23 08:01:21,roof
r4,2026-11-23 08:00:50,2026-11-23 08:01:30,roof
r5,2026-11-23 08:02:05,2026-11-23 08:02:06,hall
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a query that was run, with a rejected record and a late one, and is not corrected yet."""
    folder = tmp_path_factory.mktemp("warmth")
    (folder / "readings.csv").write_text(READINGS)
    (folder / "warmth.yaml").write_text(QUERY)
    package.load(folder / "warmth.yaml").run(folder / "warehouse", engine="local")
    return folder


@pytest.fixture(params=["name", "file"])
def named(request, place):
    """The arguments by which a command finds the query."""
    query = "warmth" if request.param == "name" else place / "warmth.yaml"
    return query, "--warehouse", place / "warehouse"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def test_the_rejected_records_are_shown_with_their_reasons(tailrace, named):
    (record,) = rows(tailrace("quarantine", *named, "--format", "csv").stdout)
    assert record["record"] == "r3,yesterday,2026-11-23 08:01:21,roof"
    assert "measured" in record["reason"]
    table = tailrace("quarantine", *named).stdout
    assert "r3,yesterday" in table
    assert re.search(r"readings\.csv, line \d", " ".join(table.split())), "as an editor numbers it"
    assert "the first 0 of 1" in tailrace("quarantine", *named, "--limit", 0).stdout


def test_the_rejected_records_are_in_the_order_of_their_files():
    numbers = [100, 9, 10]
    table = pa.table(
        {
            "arrival_time": [5] * 4,
            "stream": ["readings"] * 4,
            "position": [*(f"in/a#1.csv#{number}" for number in numbers), "kafka://broker/readings"],
        }
    )
    assert record_readers._in_order(table).to_pylist() == [1, 2, 0, 3]


def test_the_late_tuples_are_shown_by_key_and_pane(tailrace, named):
    (line,) = tailrace("late", *named, "--format", "jsonl").stdout.splitlines()
    late = json.loads(line)
    assert (late["key"], late["tuples"], late["pane_start"]) == ("roof", 1, "2026-11-23T08:00:00.000Z")
    assert "│ roof │" in tailrace("late", *named).stdout


def test_the_quality_of_a_name_is_that_of_its_file_and_its_columns_are_explained(tailrace, place):
    warehouse = "--warehouse", place / "warehouse"
    tailrace("correct", place / "warmth.yaml", *warehouse, "--engine", "local")
    by_file, by_name = (
        tailrace("quality", query, *warehouse, "--format", "csv").stdout for query in (place / "warmth.yaml", "warmth")
    )
    assert by_name == by_file
    assert [row["answer"] for row in rows(by_name)] == ["readings", "sensors"]
    shown = tailrace("quality", "warmth", *warehouse)
    assert "share: share of answers that were off\n" in shown.stderr
    columns = [line.partition(":")[0] for line in shown.stderr.splitlines()]
    assert columns == [name.strip() for name in shown.stdout.splitlines()[1].strip("┃").split("┃")]


def test_a_name_without_quality_yet_has_its_columns(tailrace, tmp_path, place):
    file = tmp_path / "warmth.yaml"
    file.write_text(QUERY.replace("readings.csv", str(place / "readings.csv")))
    package.load(file).run(tmp_path / "wh", engine="local")
    heads = tailrace("quality", "warmth", "--warehouse", tmp_path / "wh", "--format", "csv").stdout.splitlines()
    assert len(heads) == 1
    assert heads[0].startswith('"bucket_start"')


def test_a_name_that_the_warehouse_does_not_have_is_refused_with_those_that_it_has(tailrace, place):
    for command in ("quarantine", "late", "quality", "plot"):
        refused = tailrace(command, "warmht", "--warehouse", place / "warehouse", code=2).stderr
        assert "the warehouse has no query of this name" in refused
        assert "right would be: warmth, or the query's file" in refused
    assert "has no answers" in tailrace("late", "warmth", "--warehouse", place / "nowhere", code=2).stderr


def test_a_picture_by_name_is_of_the_file_of_the_last_run(tailrace, tmp_path, place):
    picture = tmp_path / "warmth.png"
    tailrace("plot", "warmth", "--warehouse", place / "warehouse", "--output", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda file, note: note.unlink(), "does not say which file declares it"),
        (lambda file, note: file.unlink(), "warmth.yaml, which declared it, is gone"),
        (lambda file, note: file.write_text(QUERY.replace("warmth", "cold")), "declares cold now"),
    ],
)
def test_a_name_that_no_file_declares_any_more_has_no_picture(tailrace, tmp_path, place, change, fault):
    file, home = tmp_path / "warmth.yaml", tmp_path / "wh" / "warmth"
    file.write_text(QUERY.replace("readings.csv", str(place / "readings.csv")))
    package.load(file).run(tmp_path / "wh", engine="local")
    change(file, home / "_stream" / "query_file.json")
    refused = tailrace("plot", "warmth", "--warehouse", tmp_path / "wh", "--output", tmp_path / "a.png", code=2).stderr
    assert fault in refused
    assert "right would be: the query's file in place of its name" in refused


# ---------------------------------------------------------------- status


def test_a_status_takes_the_query_file_as_well(tailrace, place):
    by_file, by_name = (
        tailrace("status", query, "--warehouse", place / "warehouse").stdout.splitlines()
        for query in (place / "warmth.yaml", "warmth")
    )
    assert by_file[0] == by_name[0] == "warmth: not running"
    assert "gone.yaml" in tailrace("status", place / "gone.yaml", "--warehouse", place / "warehouse", code=2).stderr


def test_the_status_of_a_warehouse_needs_no_driver_host(tailrace, tmp_path, place):
    file = tmp_path / "warmth.yaml"
    file.write_text(QUERY.replace("readings.csv", str(place / "readings.csv")))
    package.load(file).run(tmp_path / "wh", engine="local")
    warehouse = "--warehouse", tmp_path / "wh"
    heads, row = (
        [cell.strip() for cell in line.strip("┃│").split("┃" if "┃" in line else "│")]
        for line in tailrace("status", *warehouse, "--wide").stdout.splitlines()[1:4:2]
    )
    shown = dict(zip(heads, row, strict=True))
    assert (shown["query"], shown["state"], shown["frontier"]) == ("warmth", "not running", "2026-11-23T08:03:00")
    assert (shown["late"], shown["to correct"], shown["rejected"], shown["batches"]) == ("1", "1", "1", "1")
    lines = tailrace("status", "warmth", *warehouse).stdout
    assert lines.startswith("warmth: not running\nended")
    assert f"1 late tuple to correct: tailrace correct {file}" in lines
    tailrace("correct", file, *warehouse, "--engine", "local")
    assert "to correct" not in tailrace("status", "warmth", *warehouse).stdout
    Layout.for_query(tmp_path / "wh", "warmth").status.unlink()  # as after a restore
    assert "4 accepted, 1 late" in tailrace("status", "warmth", *warehouse).stdout


@pytest.mark.parametrize(("age_ms", "state"), [(1_000, "running"), (120_000, "not running")])
def test_a_stream_runs_while_it_reports(monkeypatch, place, age_ms, state):
    reported = package.load(place / "warmth.yaml", warehouse=place / "warehouse").status()
    monkeypatch.setattr(stream_state, "wall_ms", lambda: reported.at_ms + age_ms)
    found = stream_state.WarehouseStream.read(Layout.for_query(place / "warehouse", "warmth"))
    assert found.state == "not running"
    living = stream_state.WarehouseStream(
        "warmth", _with(reported, "streaming"), found.to_correct, reported.at_ms + age_ms
    )
    assert living.state == state


def _with(reported, state):
    return type(reported)(**{**vars(reported), "state": state})


def test_without_a_driver_host_the_warehouse_is_asked_and_without_streams_the_refusal_stands(
    tailrace, monkeypatch, tmp_path, place
):
    def refused(query: str | None, wide: bool) -> None:
        raise refuse("connection tailrace_driver_host", "Airflow knows none of this name", "to add it")

    monkeypatch.setattr(driver_commands, "_print_drivers", refused)
    monkeypatch.delenv("TAILRACE_WAREHOUSE", raising=False)
    monkeypatch.chdir(place)
    shown = tailrace("status")
    assert "warmth" in shown.stdout
    assert shown.stderr.startswith("no driver host is asked (connection tailrace_driver_host: Airflow knows none")
    cold = tailrace("status", "cold", code=2).stderr
    assert "right would be: to add it" in cold
    assert "the warehouse has no query of this name\n    right would be: warmth" in cold
    monkeypatch.chdir(tmp_path)
    assert "right would be: to add it" in tailrace("status", code=2).stderr


# ---------------------------------------------------------------- the warehouse


def test_without_the_option_the_warehouse_is_the_environments_or_the_folder_here(tailrace, monkeypatch, place):
    monkeypatch.delenv("TAILRACE_WAREHOUSE", raising=False)
    monkeypatch.chdir(place)
    here = tailrace("results", "warmth", "--format", "csv")
    assert here.stderr == "warehouse: warehouse, here; --warehouse or TAILRACE_WAREHOUSE names another\n"
    monkeypatch.setenv("TAILRACE_WAREHOUSE", str(place / "warehouse"))
    monkeypatch.chdir("/")
    by_variable = tailrace("results", "warmth", "--format", "csv")
    assert by_variable.stderr == f"warehouse: {place / 'warehouse'}, as TAILRACE_WAREHOUSE says\n"
    by_option = tailrace("results", "warmth", "--format", "csv", "--warehouse", place / "warehouse")
    assert by_option.stderr == ""
    assert here.stdout == by_variable.stdout == by_option.stdout


def test_a_refusal_names_no_warehouse_that_was_not_typed(tailrace, monkeypatch, tmp_path, place):
    """Unless it refuses the warehouse itself. Nor does the next command of this process, whose warehouse is typed."""
    monkeypatch.setenv("TAILRACE_WAREHOUSE", str(place / "warehouse"))
    unknown = tailrace("results", "warmht", code=2).stderr
    assert unknown.startswith("refused ")
    assert unknown.endswith(f"\nwarehouse: {place / 'warehouse'}, as TAILRACE_WAREHOUSE says\n")
    for command in (("correct", tmp_path / "none.yaml"), ("late", "warmth", "--limit", "x")):
        refused = tailrace(*command, code=2).stderr
        assert "refused " in refused
        assert "as TAILRACE_WAREHOUSE says" not in refused
    assert "TAILRACE_WAREHOUSE" not in tailrace("late", "warmth", "--warehouse", place / "warehouse").stderr


def test_work_and_failures_name_the_warehouse_before_all_else(tailrace, monkeypatch, tmp_path, place):
    warehouse = tmp_path / "wh"
    file = tmp_path / "warmth.yaml"
    file.write_text(QUERY.replace("readings.csv", str(place / "readings.csv")))
    monkeypatch.setenv("TAILRACE_WAREHOUSE", str(warehouse))
    said = f"warehouse: {warehouse}, as TAILRACE_WAREHOUSE says\n"
    ran = tailrace("run", file, "--bounded", "--engine", "local").stderr
    assert ran.startswith(said)
    assert ran.count(said) == 1
    monkeypatch.setattr(record_place, "places_of", lambda _: 1 / 0)
    assert tailrace("quarantine", "warmth", code=1).stderr.startswith(f"{said}failed ZeroDivisionError")
