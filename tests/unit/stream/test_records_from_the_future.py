"""Records whose times lie in the future, through a whole stream: they stop no clock, and stay rejected."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from kit.oracles.oracle import Settings, Tuple, batch
from kit.runs.kind_streams import KINDS, Row, query_of, sides_of
from kit.runs.kind_streams import write_files as write_rows
from kit.runs.local_driver import Driver
from kit.runs.warehouse import EPOCH, make_query, make_stream, tables_of, write_files
from tailrace.spark import distributed_correction as module
from tailrace.spark.distributed_correction import correct
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables

SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 2_000))
HOUR, YEAR = 3_600_000, 365 * 86_400_000
GOOD = make_stream(300, seed=5)
END = max(item.arrival_time for item in GOOD)
READ = "arrival_time out of bounds: later than the clock when it was read"
AHEAD = "event_time out of bounds: too far ahead of arrival"


@pytest.fixture(autouse=True)
def no_spark(monkeypatch):
    monkeypatch.setattr(module, "session", None)  # so little needs no Spark


def with_record(event_ahead: int, arrival_ahead: int) -> list[Tuple]:
    """The good tuples, and amid them one whose times are so far ahead of the arrival of its neighbours."""
    arrival = GOOD[100].arrival_time
    wrong = Tuple(arrival + event_ahead, arrival + arrival_ahead, "wrong", "k0", 1e6)
    return [*GOOD[:100], wrong, *GOOD[100:]]


def run_stream(directory: Path, tuples: list[Tuple], source: str, **stream: object) -> Driver:
    """Run the stream while its records arrive: the clock of reading is that of the last one."""
    if source == "parquet":
        write_files(tuples, directory / "in", [0, 150, len(tuples)])
    else:
        (directory / "in").mkdir(parents=True)
        lines = [json.dumps(item._asdict()) for item in tuples]
        (directory / "in" / "0.jsonl").write_text("\n".join(lines))
    app = Driver(make_query(directory / "in", SETTINGS, source=source, **stream), directory / "wh", now=END)
    app.run(batch_rows=60)
    return app


@pytest.mark.needs("long")
@pytest.mark.parametrize("source", ["parquet", "json"])
@pytest.mark.parametrize(
    ("event_ahead", "arrival_ahead", "reason"),
    [
        (74 * YEAR, 74 * YEAR, READ),
        (0, 74 * YEAR, READ),
        (HOUR, END + 60_001 - GOOD[100].arrival_time, READ),
        (23 * HOUR, 0, AHEAD),
        (74 * YEAR, 0, AHEAD),
    ],
)
def test_a_record_from_the_future_is_rejected_and_changes_nothing_else(
    tmp_path, source, event_ahead, arrival_ahead, reason
):
    app = run_stream(tmp_path / "wrong", with_record(event_ahead, arrival_ahead), source)
    usual = run_stream(tmp_path / "usual", GOOD, source)
    assert [(row["reason"]) for row in app.tables.read("quarantine", ["reason"]).to_pylist()] == [reason]
    names = ["key", "window_start", "value", "tuples", "as_of", "k_ms"]
    rows, expected = (
        sorted(map(tuple, (row.values() for row in one.tables.read("results", names).to_pylist())))
        for one in (app, usual)
    )
    assert rows == expected
    assert len(rows) > 100


@pytest.mark.parametrize("source", ["parquet", "json"])
def test_what_was_rejected_stays_rejected_once_the_clock_has_come_there(tmp_path, source):
    app = run_stream(tmp_path, with_record(74 * YEAR, 74 * YEAR), source)
    app.now = END + 75 * YEAR
    app.run(flush=True)
    correct(app.query, tmp_path / "wh")
    answers, _ = read_answers(app.query, tmp_path / "wh", streamed=False)
    counts = {(row["key"], row["window_start"], row["window_end"]): row["tuples"] for row in answers.to_pylist()}
    assert counts == {window: true.tuples for window, true in batch(GOOD, SETTINGS).items()}


@pytest.mark.parametrize(("skew", "late"), [("0 s", range(20)), ("1 h", range(150, 200))])
def test_one_record_ahead_within_the_bound_makes_others_late_by_no_more_than_the_skew(tmp_path, skew, late):
    app = run_stream(tmp_path, with_record(HOUR, 0), "json", bounds={"skew": skew})
    assert app.tables.read("quarantine", ["reason"]).num_rows == 0
    assert sum(app.tables.read("late", ["tuples"]).column("tuples").to_pylist()) in late


def stream_of(directory: Path, wrong: list[Row]) -> None:
    """Write a stream, and after a third of it the wrong records."""
    draw, arrival, rows = random.Random(directory.name), EPOCH, list[Row]()
    for number in range(120):
        arrival += draw.randrange(60)
        rows.append(Row.draw(arrival - draw.choice([0, 50, 150]), arrival, f"{directory.name[0]}{number}", draw))
    write_rows([*rows[:40], *wrong, *rows[40:]], directory, 8)


def results_of(directory: Path, name: str, wrong: list[Row]) -> tuple[list[str], int]:
    """The answers of a kind, and how many records were rejected."""
    for side in sides_of(name):
        stream_of(directory / side, wrong if side in ("left", "readings") else [])
    Driver(query_of(name, directory), directory / "wh").run(24, flush=True)
    tables = tables_of(directory / "wh")
    rows = [{column: row[column] for column in row if column != "emitted_at"} for row in results_in(tables)]
    return sorted(map(str, rows)), tables.read("quarantine", ["reason"]).num_rows


def results_in(tables: Tables) -> list[dict[str, object]]:
    return tables.read("results").to_pylist() if tables.has("results") else []


@pytest.mark.needs("long")
@pytest.mark.parametrize("name", KINDS)
def test_records_from_the_future_change_no_answer_of_any_kind(tmp_path, name):
    later = [EPOCH + 23 * HOUR, EPOCH + 80 * YEAR]
    draw = random.Random(1)
    wrong = [Row.draw(later[0], EPOCH + 2_000, "ahead", draw), Row.draw(later[1], later[1], "arrival", draw)]
    usual, disturbed = (results_of(tmp_path / str(len(some)), name, some) for some in ([], wrong))
    assert disturbed == (usual[0], 2)
    assert len(usual[0]) > 20
