"""Sessions in a warehouse: streamed in batches, corrected by intervals in reverse, read, and delivered."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from kit.oracles.oracle import Settings, Tuple, ticks_of
from kit.runs.current_tables import rows_of
from kit.runs.local_driver import Driver, correct_here
from kit.runs.warehouse import EPOCH, query_fields, tables_of, write_files
from tailrace.calibration.calibrate import calibrate
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.late_in_sessions import late_in_sessions
from tailrace.correction.uncorrected import Uncorrected, count_uncorrected
from tailrace.delivery import current as current_table
from tailrace.delivery.current import refresh
from tailrace.ground.arrow.times import with_times
from tailrace.ground.errors import Refused
from tailrace.query.answers_section import CURRENT
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.storage.answer_range import AnswerRange
from tailrace.storage.results import read_answers
from tailrace.stream.local_stream import run
from tailrace.stream.run_options import RunOptions

ROWS = [("a", 0), ("a", 9), ("b", 60), ("a", 15), ("c", -500), ("b", 66), ("a", 30), ("a", 22), ("c", -492), ("b", 80)]
"""Key and event time in ms, with gaps of 10 ms; each row is a tick of its own. K is 0."""


@pytest.fixture
def streamed(tmp_path: Path) -> Query:
    tuples = [Tuple(EPOCH + event, EPOCH + 1000 + 2 * n, f"t{n}", key, 1.0) for n, (key, event) in enumerate(ROWS)]
    write_files(tuples, tmp_path / "in", [0, 3, 6, len(tuples)])
    fields = query_fields(tmp_path / "in", Settings(10, 10, 1, "count"))
    query = declared_query(fields | {"window": {"session": "10 ms"}})
    run(query, tmp_path / "wh", RunOptions(3))
    return query


def found(query: Query, warehouse: Path, part: AnswerRange = AnswerRange()) -> dict:  # noqa: B008 (frozen)
    """The tuples and the coverage of each answer, by key, start and end."""
    rows = read_answers(query, warehouse, False, part)[0].to_pylist()
    sessions = [(row["key"], row["window_start"] - EPOCH, row["window_end"] - EPOCH) for row in rows]
    return {session: (row["tuples"], row["coverage"]) for session, row in zip(sessions, rows, strict=True)}


def test_intervals_in_reverse_are_corrected_read_and_delivered(streamed, tmp_path):
    warehouse = tmp_path / "wh"
    ends = [end for _, end in ticks_of([Tuple(0, EPOCH + 1000 + 2 * n, n, "", 0.0) for n in range(len(ROWS))], 1)]
    b = {("b", 60, 76): (2, 1), ("b", 80, 90): (1, 1)}
    assert found(streamed, warehouse) == b | {("a", 0, 19): (2, 2 / 3)}
    for low, high in ((ends[6], ends[9]), (ends[4], ends[6]), (ends[2], ends[4])):
        correct_here(streamed, warehouse, CorrectionRange(low, high, arrival=True))
        assert found(streamed, warehouse) == b | {("a", 0, 40): (5, 1), ("c", -500, -482): (2, 1)}
        current = tables_of(warehouse).read(CURRENT)
        assert rows_of(current.select(["window_start", "window_end", "tuples"])) == rows_of(
            read_answers(streamed, warehouse, False)[0].select(["window_start", "window_end", "tuples"])
        )
    assert found(streamed, warehouse, AnswerRange(EPOCH + 35, EPOCH + 36)) == {("a", 0, 40): (5, 1)}
    assert found(streamed, warehouse, AnswerRange(EPOCH + 41, EPOCH + 76)) == {("b", 60, 76): (2, 1)}


CAME = [("a", 0), ("b", 12), ("a", 9), ("b", 13), ("b", 40), ("b", 41)]
"""Another stream: the second tuple of a touches what has closed, and its own session is open until b's fifth."""


def assert_current(driver: Driver) -> None:
    """Check that `current` has the answers that readers get."""
    refresh(driver.layout, driver.query.fixed_by(driver.layout.manifest().structure), driver.pipeline.kind)
    names = ["window_start", "window_end", "tuples", "coverage"]
    right = read_answers(driver.query, driver.warehouse, False)[0].select(names)
    assert rows_of(driver.tables.read(CURRENT).select(names)) == rows_of(right)


def test_what_a_correction_leaves_open_waits_until_it_has_closed_and_is_corrected(tmp_path, monkeypatch):
    tuples = [Tuple(EPOCH + event, EPOCH + 1000 + 2 * n, f"t{n}", key, 1.0) for n, (key, event) in enumerate(CAME)]
    ends = [end for _, end in ticks_of(tuples, 1)]
    fields = query_fields(tmp_path / "in", Settings(10, 10, 1, "count"))
    query, warehouse = declared_query(fields | {"window": {"session": "10 ms"}}), tmp_path / "wh"
    driver = Driver(query, warehouse)
    write_files(tuples, tmp_path / "in", [0, 4])
    driver.run(100)
    assert count_uncorrected(driver.tables) == 1
    correct_here(query, warehouse, CorrectionRange(ends[0] - 1, ends[2], arrival=True))
    assert found(query, warehouse) == {("a", 0, 10): (1, 1 / 2)}
    assert count_uncorrected(driver.tables) == 0  # the stream will answer it first
    write_files(tuples, tmp_path / "in", [4, 6], first=1)
    driver.run(100)
    assert count_uncorrected(driver.tables) == 1
    second = {("a", 9, 19): (1, 1 / 2)}
    assert found(query, warehouse) == {("a", 0, 10): (1, 1 / 2), ("b", 12, 23): (2, 1)} | second
    assert found(query, warehouse, AnswerRange(EPOCH + 18, EPOCH + 19)).items() >= second.items()
    assert_current(driver)
    monkeypatch.setattr(current_table, "PART_ROWS", 1)
    shutil.rmtree(driver.layout.table(CURRENT))  # so that all of it is written, in parts
    assert_current(driver)
    waiting = Uncorrected.read(driver.tables)
    assert (waiting.event_time.tolist(), waiting.arrived.tolist()) == ([EPOCH + 9], [ends[4]])
    assert waiting.interval(1) == (ends[2], waiting.until)
    correct_here(query, warehouse, CorrectionRange(ends[2], ends[4], arrival=True))
    assert found(query, warehouse) == {("a", 0, 19): (2, 1), ("b", 12, 23): (2, 1)}
    assert count_uncorrected(driver.tables) == 0


def test_a_late_tuple_that_its_session_holds_is_counted_once(tmp_path):
    tuples = [Tuple(EPOCH + event, EPOCH + 1000 + 2 * n, f"t{n}", key, 1.0) for n, (key, event) in enumerate(CAME)]
    write_files(tuples, tmp_path / "in", [0, len(CAME)])
    fields = query_fields(tmp_path / "in", Settings(10, 10, 1, "count"))
    driver = Driver(declared_query(fields | {"window": {"session": "10 ms"}}), tmp_path / "wh")
    driver.run(100)
    assert count_uncorrected(driver.tables) == 1
    (late,) = driver.tables.read("late")["arrived"].to_pylist()
    for low, rows in ((late - 1, 0), (late, 1)):  # in a gap with its arrival, and in one after that
        assert late_in_sessions(driver.tables, ["arrived"], [(low, late + 1000)]).num_rows == rows


def test_what_closed_by_quiet_belongs_to_the_next_interval(streamed, tmp_path):
    tables = tables_of(tmp_path / "wh")
    last = max(row["as_of"] for row in tables.read("results").to_pylist())
    newest = max(tables.read("metrics").to_pylist(), key=lambda row: row["batch"])
    quiet = newest | {"batch": newest["batch"] + 1, "ticks": 0, "answers": 1, "frontier": EPOCH + 600}
    tables.add("metrics", with_times(pa.Table.from_pylist([quiet]), tables.schema("metrics")))
    one = tables.read("results").to_pylist()[0]
    session = one | {"key": "d", "window_start": EPOCH + 500, "window_end": EPOCH + 520, "tuples": 2, "as_of": last}
    results = tables.schema("results")
    tables.add("results", with_times(pa.Table.from_pylist([session]), results))
    one, schema = tables.read("late").to_pylist()[0] | {"key": "d", "arrived": last - 1}, tables.schema("late")
    held = one | {"pane_start": EPOCH + 510, "frontier": EPOCH + 512}
    after = one | {"pane_start": EPOCH + 519, "frontier": EPOCH + 520}  # it came when the session had closed
    tables.add("late", with_times(pa.Table.from_pylist([held, after]), schema))
    committed = quiet["committed"]
    names = ["arrived", "pane_start"]
    assert late_in_sessions(tables, names, [(last, committed)]).num_rows == 0
    (row,) = late_in_sessions(tables, names, [(committed, committed + 10)]).to_pylist()
    assert row == {"arrived": committed + 1, "pane_start": EPOCH + 510}
    assert count_uncorrected(tables) == 5 + 2

    correct_here(streamed, tmp_path / "wh", CorrectionRange(EPOCH, EPOCH + 90))
    run = tables.read("correction_runs").to_pylist()[0] | {"arrived_from": None, "arrived_to": committed}
    ledger = tables.schema("correction_runs")
    tables.add("correction_runs", with_times(pa.Table.from_pylist([run]).select(ledger.names), ledger))
    assert count_uncorrected(tables) == 1  # what came is covered, but the session closed after that

    corrections = tables.schema("corrections")
    again = tables.read("corrections").to_pylist()[0] | session | {"as_of": committed, "retracted": False}
    tables.add("corrections", with_times(pa.Table.from_pylist([again]).select(corrections.names), corrections))
    assert count_uncorrected(tables) == 0


def test_waits_are_not_measured_over_sessions(streamed, tmp_path):
    with pytest.raises(Refused, match=r"window\.session: a calibration measures windows with a size"):
        calibrate(streamed, tmp_path / "wh", dry_run=True)


def test_sessions_are_no_stream_of_another_query(streamed, tmp_path):
    fields = {"name": "above", "kind": "aggregate", "window": "1 s", "aggregate": {"function": "count"}}
    source = {"source": {"format": "tailrace", "query": streamed.name}, "event_time": "window_end"}
    above = declared_query(fields | {"streams": {"below": source}, "disorder": {"deduplicate": True, "idle": "1 h"}})
    with pytest.raises(Refused, match="answers sessions, whose times a correction moves"):
        run(above, tmp_path / "wh", RunOptions(3))
