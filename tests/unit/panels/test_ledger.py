"""The ledger as a panel: runs and gaps against the tables' rows, by plain Python."""

from __future__ import annotations

import shutil

import pytest

from kit.oracles.oracle import Settings
from kit.runs.late_tables import LateTables
from kit.runs.local_driver import Driver, correct_here
from kit.runs.shown import shown, view_of
from kit.runs.table_runs import make_query as join_with_table
from kit.runs.warehouse import EPOCH, even, make_query, make_stream, write_files
from tailrace.calibration.calibrate import calibrate
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.uncorrected import count_late
from tailrace.panels import ledger
from tailrace.panels.ledger import PANEL
from tailrace.storage.layout import Layout
from tailrace.storage.progress import committed_until
from tailrace.storage.tables import Tables

TUPLES = make_stream(6000, seed=3)
SETTINGS = Settings(500, 250, 100, "sum", ("k_slack", 50))
FROM, TO = EPOCH + 20_000, EPOCH + 40_000
LATER = EPOCH + 60_000, EPOCH + 70_000


@pytest.fixture(scope="module")
def corrected(tmp_path_factory):
    """A stream with two corrected intervals of arrival, one of event time, and a calibration between."""
    directory = tmp_path_factory.mktemp("ledger")
    write_files(TUPLES, directory / "in", even(6000, 6))
    query, warehouse = make_query(directory / "in", SETTINGS, calibrated=True), directory / "wh"
    Driver(query, warehouse).run(batch_rows=1000)
    correct_here(query, warehouse, CorrectionRange(FROM, TO, arrival=True))
    calibrate(query, warehouse)
    correct_here(query, warehouse, CorrectionRange(EPOCH, EPOCH + 5000))
    correct_here(query, warehouse, CorrectionRange(*LATER, arrival=True))
    return view_of(warehouse, query)


def late_between(view, low, high):
    """Late tuples that arrived in [low, high), by their rows."""
    rows = view.tables.read("late").to_pylist()
    return sum(row["tuples"] for row in rows if low < row["arrived"] <= high)


def test_runs_are_the_rows_of_the_tables_newest_first(corrected):
    answer = shown(PANEL, corrected)
    runs = corrected.tables.read("correction_runs").to_pylist()
    (proposal,) = corrected.tables.read("proposals").to_pylist()
    assert [run["kind"] for run in answer["runs"]] == ["correction", "correction", "calibration", "correction"]
    found = [run for run in answer["runs"] if run["kind"] == "correction"]
    for run, row in zip(found, sorted(runs, key=lambda row: -row["started_at"]), strict=True):
        assert {name: run[name] for name in row} == row
    calibration = answer["runs"][2]
    assert calibration["evidence"] == proposal["evidence"]
    assert (calibration["started_at"], calibration["as_of"]) == (proposal["made_at"], proposal["until"])
    assert (calibration["k_ms"], calibration["late"]) == (proposal["k_ms"], None)
    assert [(run["arrived_from"], run["arrived_to"]) for run in found] == [LATER, (None, None), (FROM, TO)]
    assert (answer["runs_total"], answer["note"]) == (4, None)
    sums = {name: sum(row[name] for row in runs) for name in ("late", "answers", "changed", "retracted")}
    assert answer["totals"] == {"corrections": 3, **sums}


def test_gaps_are_the_arrival_that_no_correction_covers_with_their_late_tuples(corrected):
    answer = shown(PANEL, corrected)
    committed = committed_until(Tables(corrected.layout))
    assert answer["committed"] == committed
    bounds = [(None, FROM), (TO, LATER[0]), (LATER[1], committed)]
    assert [(gap["from"], gap["to"]) for gap in answer["gaps"]] == bounds
    assert [gap["late"] for gap in answer["gaps"]] == [late_between(corrected, low or 0, high) for low, high in bounds]
    assert all(gap["late"] > 0 for gap in answer["gaps"])
    assert [gap["is_open"] for gap in answer["gaps"]] == [False, False, True], "the next correction takes the newest"


def test_a_range_of_arrival_has_its_runs_and_the_parts_of_gaps_in_it(corrected):
    low, high = TO - 1000, LATER[0] - 2000
    answer = shown(PANEL, corrected, **{"from": low, "to": high})
    assert [(run["arrived_from"], run["arrived_to"]) for run in answer["runs"]] == [(FROM, TO)]
    assert answer["gaps"] == [{"from": TO, "to": high, "late": late_between(corrected, TO, high), "is_open": False}]
    beyond = shown(PANEL, corrected, **{"from": answer["committed"] + 1})
    assert (beyond["runs"], beyond["gaps"]) == ([], [])
    assert beyond["note"] == "nothing was corrected or calibrated in this range yet"


def test_after_a_correction_of_everything_there_is_no_gap(tmp_path):
    write_files(TUPLES[:1000], tmp_path / "in", [0, 1000])
    query = make_query(tmp_path / "in", SETTINGS)
    Driver(query, tmp_path / "wh").run()
    assert len(shown(PANEL, view_of(tmp_path / "wh", query))["gaps"]) == 1
    correct_here(query, tmp_path / "wh")
    answer = shown(PANEL, view_of(tmp_path / "wh", query))
    assert answer["gaps"] == []
    assert (answer["runs"][0]["arrived_from"], answer["runs"][0]["arrived_to"]) == (None, answer["committed"])


def test_gaps_of_a_long_ledger_are_counted_each_by_itself(tmp_path, monkeypatch):
    """A condition on a table names a few ranges; where nearer gaps are merged, what lies between is not counted."""
    monkeypatch.setattr(ledger, "MOST", 30)
    there = LateTables(Layout(tmp_path / "readings"))
    there.late(*((point * 10, 0) for point in range(1, 101) for _ in range(point % 4)))
    for start in range(0, 1000, 20):
        there.run(start, start + 10)
    there.commit(1000)
    query = make_query(tmp_path / "in", SETTINGS)
    answer = shown(PANEL, view_of(tmp_path, query))
    wanted = [
        {"from": low, "to": low + 10, "late": (low // 10 + 1) % 4, "is_open": low == 990} for low in range(10, 1000, 20)
    ]
    wanted = [{"from": None, "to": 0, "late": 0, "is_open": False}, *wanted]
    assert answer["gaps"] == wanted[-30:]
    assert (len(answer["runs"]), answer["runs_total"], answer["gaps_total"]) == (30, 50, 51)
    assert answer["note"] == "the newest 30 of 50 runs, and 30 of 51 gaps"
    assert answer["gaps_late"] == sum(gap["late"] for gap in wanted), "of those that are not shown, too"
    assert answer["totals"]["corrections"] == 50


def test_late_tuples_of_very_many_gaps_are_counted(tmp_path):
    """A condition with a part for each of them would exhaust the stack of Arrow's threads."""
    there, gaps = LateTables(Layout(tmp_path / "readings")), [(20 * n, 20 * n + 10) for n in range(30_000)]
    there.late(*((arrived, 0) for arrived in range(0, 600_000, 5_005)))
    wanted = sum(0 < arrived % 20 <= 10 for arrived in range(0, 600_000, 5_005))
    assert count_late(there.tables, gaps).sum() == wanted > 0


def test_what_is_late_beyond_the_commit_is_no_gap_yet(tmp_path):
    there = LateTables(Layout(tmp_path / "readings"))
    there.late((10, 0), (30, 0))
    there.commit(20)
    answer = shown(PANEL, view_of(tmp_path, make_query(tmp_path / "in", SETTINGS)))
    assert answer["gaps"] == [{"from": None, "to": 20, "late": 1, "is_open": True}]


def test_before_anything_ran_there_is_nothing(tmp_path):
    query = make_query(tmp_path / "in", SETTINGS)
    answer = shown(PANEL, view_of(tmp_path / "wh", query))
    assert (answer["runs"], answer["gaps"], answer["committed"]) == ([], [], None)
    assert "committed nothing yet" in answer["note"]


def test_a_lost_ledger_is_a_damage_and_not_an_empty_one(tmp_path):
    there = LateTables(Layout(tmp_path / "readings"))
    there.commit(20)
    there.run(None, 10)
    shutil.rmtree(there.layout.table("correction_runs") / "_delta_log")
    answer = shown(PANEL, view_of(tmp_path, make_query(tmp_path / "in", SETTINGS)))
    (damaged,) = answer["damaged"]
    assert "log is lost" in damaged["fault"]
    assert {"runs", "totals", "gaps", "gaps_late"} <= set(damaged["fields"])
    assert (answer["gaps"], answer["note"], answer["committed"]) == ([], None, 20)


def test_a_join_with_a_table_has_nothing_to_correct(tmp_path):
    query = join_with_table(tmp_path)
    there = LateTables(Layout(tmp_path / query.name))
    there.commit(20)
    answer = shown(PANEL, view_of(tmp_path, query))
    assert answer["gaps"] == []
    assert answer["note"].startswith("a join with a table answers each tuple as it comes")
