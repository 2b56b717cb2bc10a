"""Answers of a join in real tables: what readers get, and what the table of measured errors says of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from kit.oracles.pair_oracle import Item, Join
from kit.runs.memory_pair_tables import MemoryPairTables
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.quality import Promise, measure, put_quality, read_quality
from tailrace.correction.uncorrected import Uncorrected
from tailrace.ground.arrow.times import TIME, with_times
from tailrace.storage import results
from tailrace.storage.answer_range import AnswerRange
from tailrace.storage.layout import Layout
from tailrace.storage.results import AnswerTables, read_answers
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import Tables
from tailrace.terminal.answers import write_answers

JOIN = Join(reach=10, tick=10)
LEFT = [Item(1, 1, "a", "v"), Item(100, 100, "a", "w"), Item(500, 500, "far", "z")]
RIGHT = [Item(2, 2, "b", "v"), Item(101, 101, "d", "w"), Item(1000, 1000, "f", "y"), Item(5, 1011, "c", "v")]
COLUMNS = ["left_id", "right_id", "left_time", "right_time", "tuples", "coverage", "k_ms", "as_of"]


@pytest.fixture
def desk() -> MemoryPairTables:
    return MemoryPairTables((LEFT, RIGHT), JOIN)


@pytest.fixture
def tables(tmp_path, desk) -> Tables:
    wanted, there = schemas(desk.kind), Tables(Layout(tmp_path / "pairs"))
    there.create(wanted)
    add(there, desk, "results", desk.results)
    add(there, desk, "late", desk.late_rows)
    there.add("metrics", with_times(metrics(desk), wanted["metrics"]))
    return there


def add(tables: Tables, desk: MemoryPairTables, name: str, rows: pa.Table) -> None:
    schema = schemas(desk.kind)[name]
    if "emitted_at" in schema.names and "emitted_at" not in rows.column_names:
        rows = rows.append_column("emitted_at", pa.nulls(rows.num_rows, TIME))
    tables.add(name, with_times(rows, schema))


def metrics(desk: MemoryPairTables) -> pa.Table:
    schema = schemas(desk.kind)["metrics"]
    row = dict.fromkeys(schema.names) | {"batch": 0, "committed": desk.end, "frontier": desk.end}
    return pa.Table.from_pylist([row])


def correct(desk: MemoryPairTables, tables: Tables) -> None:
    rows = desk.revise(desk.kind.answers.closed(CorrectionRange().bounds, desk.end), desk.end, "all")
    add(tables, desk, "corrections", rows.drop_columns(["corrected"]))


def test_readers_get_pairs_with_their_times_in_order_and_without_those_taken_back(
    tmp_path, desk, tables, monkeypatch, capsys
):
    monkeypatch.setattr(results, "kind_of_stream", lambda query, manifest: desk.kind)
    monkeypatch.setattr(results, "require_begun", lambda tables, query: None)
    query = SimpleNamespace(name="pairs", streams={}, key_names=())
    answers, columns = read_answers(query, tmp_path, streamed=False)
    assert columns == COLUMNS
    assert [tuple(row.values()) for row in answers.select(columns).to_pylist()] == [
        ("a", "b", 1, 2, 2, 1.0, 0, 10),
        ("a", "d", 100, 101, 2, 1.0, 0, 110),
    ]
    correct(desk, tables)
    answers, _ = read_answers(query, tmp_path, streamed=False)
    assert [tuple(row.values()) for row in answers.select(columns).to_pylist()] == [
        ("a", "b", 1, 2, 2, 1.0, 0, 10),
        ("a", "c", 1, 5, 2, 1.0, None, 1020),
    ]
    assert len(read_answers(query, tmp_path, streamed=True)[0]) == 2
    write_answers(answers, columns, "csv", None, 10)
    first = capsys.readouterr().out.splitlines()[1]
    assert first.count("1970-01-01T00:00:00.") == 3  # left_time, right_time, as_of
    begun = SimpleNamespace(name="begun", streams={}, key_names=())  # its first batch has not come
    assert read_answers(begun, tmp_path, streamed=False)[0].select(COLUMNS).num_rows == 0


def test_versions_and_late_rows_are_read_by_ranges_of_event_time(desk, tables):
    answers = AnswerTables(tables, desk.kind.answers)
    affected = desk.kind.answers.closed((100, 102), desk.end)
    assert answers.versions(affected.ranges())["right_id"].to_pylist() == ["d"]
    assert answers.late(affected.ranges()).num_rows == 0
    assert answers.late(desk.kind.answers.closed((5, 6), 6).ranges())["id"].to_pylist() == ["c"]
    assert answers.ends(affected.ranges()).tolist() == [101]


def test_a_pair_is_read_by_its_later_time_whichever_side_that_is_on(desk, tables):
    """Beside a pair in a range stand those of which only the earlier time is in it."""
    row = dict(zip(["right_id", "left_time", "right_time"], ("x", 300, 309), strict=True))
    rows = desk.results.slice(0, 1).to_pylist()
    more = [rows[0] | row, rows[0] | row | {"right_id": "y", "left_time": 409, "right_time": 400}]
    add(tables, desk, "results", pa.Table.from_pylist(more, desk.results.schema))
    answers = AnswerTables(tables, desk.kind.answers)

    def read(low: int, high: int) -> list[str]:
        ends = np.array([low]), np.array([high])
        ids = answers.versions(ends)["right_id"].to_pylist()
        assert len(answers.ends(ends)) == len(ids)
        return ids

    assert (read(308, 309), read(408, 409), read(299, 300), read(309, 399)) == (["x"], ["y"], ["x"], [])


def test_the_versions_of_a_pair_have_times_up_to_two_reaches_away(desk, tables):
    row = desk.results.slice(0, 1).to_pylist()[0] | {"right_id": "x"}
    rows = [row | {"left_time": time, "right_time": time} for time in (300, 300 + 2 * JOIN.reach)]
    add(tables, desk, "results", pa.Table.from_pylist(rows, desk.results.schema))
    answers = AnswerTables(tables, desk.kind.answers)
    pair = pa.Table.from_pylist(rows[:1], desk.results.schema).select(answers.model.identity.columns)
    for versions in (answers.versions_of(pair), answers.versions(AnswerRange(300, 301))):
        assert versions["left_time"].to_pylist() == [300, 320]


def test_the_late_tuples_are_not_read_where_no_answer_can_lack_one(desk, tables, monkeypatch):
    answers, read = AnswerTables(tables, desk.kind.answers), []
    rows, whole = answers.latest(), Tables.read
    monkeypatch.setattr(Tables, "read", lambda self, name, *args, **more: read.append(name) or whole(self, name, *args))
    assert answers.with_coverage(rows)["coverage"].to_pylist() == [1.0, 1.0]
    assert read == []


def test_quality_counts_missing_pairs_and_those_taken_back(tmp_path, desk, tables, monkeypatch):
    correct(desk, tables)
    promise = Promise(accuracy=0.9)
    versions = AnswerTables(tables, desk.kind.answers).versions()
    (row,) = measure(desk.kind, versions, 1000, promise).to_pylist()
    names = ["bucket_start", "answers", "corrected", "missing", "off", "mean_k_ms", "accuracy"]
    assert [row[name] for name in names] == [0, 2, 1, 1, 2, 0.0, 0.9]
    assert (row["share"], row["mean_error"]) == pytest.approx((2 / 3, 2 / 3))
    query = SimpleNamespace(policy=SimpleNamespace(accuracy=0.9), name="pairs")
    answers = AnswerTables(tables, desk.kind.answers)
    put_quality(query, desk.kind, answers, versions["left_time"].to_numpy(), desk.end)
    monkeypatch.setattr("tailrace.correction.quality.build", lambda query: desk.kind)
    monkeypatch.setattr("tailrace.correction.quality.require_begun", lambda tables, query: None)
    rows, _ = read_quality(query, tmp_path)
    assert rows.select(["answers", "missing", "off"]).to_pylist() == [{"answers": 2, "missing": 1, "off": 2}]


def test_a_pair_counts_in_the_stretch_of_its_later_time(desk, tables):
    correct(desk, tables)
    versions = AnswerTables(tables, desk.kind.answers).versions()
    rows = measure(desk.kind, versions, 2, Promise()).to_pylist()
    # (1, 2) is right, (1, 5) was missing, (100, 101) is taken back
    assert [(row["bucket_start"], row["answers"], row["missing"]) for row in rows] == [
        (0, 1, 0),
        (4, 0, 1),
        (100, 1, 0),
    ]


def test_the_gap_of_late_tuples_is_told_from_their_event_times(tables):
    late = Uncorrected.read(tables)
    assert (late.event_time.tolist(), late.arrived.tolist(), late.span_ms(1)) == ([5], [1020], 1)
