"""The condition of answers: what is given is what meets it, streamed and corrected, wherever answers are read."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tailrace
from kit.draws.aggregate_files import query_of
from kit.fakes.fake_topic import as_shown, fake_topic, sending, texts
from kit.runs.chained_queries import START, declarations, write
from kit.runs.current_tables import Desk
from kit.runs.kind_streams import KINDS
from kit.runs.local_driver import Driver, correct_here
from kit.runs.query_views import view_of
from tailrace.aggregate.kind import Aggregate
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.quality import read_quality
from tailrace.delivery.topic_answers import send_corrections
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.errors import Refused, Unfit
from tailrace.panels import answers as answers_panel
from tailrace.panels.answer import AnswerRequest
from tailrace.panels.answer import read as read_answer
from tailrace.panels.answer_ids import AnswerId
from tailrace.panels.answers import AnswersRequest, read
from tailrace.query.column_lineage import column_lineage
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.storage.results import read_answers
from tailrace.stream import local_stream
from tailrace.stream.run_options import RunOptions

NAMED = {
    "total": {"function": "sum", "column": "x"},
    "least": {"function": "min", "column": "x"},
    "span": {"expression": "total - least"},
}
CASES: dict[str, tuple[dict[str, Any], str, Callable[[dict[str, Any]], bool]]] = {
    "added to": (NAMED, "span > 4 and count(*) < 9", lambda row: row["total"] - row["least"] > 4 and row["tuples"] < 9),
    "the short form": ({"function": "sum", "column": "x"}, "not sum(x) < 9", lambda row: not row["value"] < 9),
    "read again": ({"function": "median", "column": "x"}, "value >= 5", lambda row: row["value"] >= 5),
}
"""Sections, conditions, and the same in Python over an answer without it; late tuples are added to it, or not."""


def rows_of(query: Query, warehouse: Path, streamed: bool) -> list[str]:
    rows, columns = read_answers(query, warehouse, streamed)
    return [str(row) for row in rows.select(columns).to_pylist()]


@pytest.fixture(params=CASES)
def desks(request, tmp_path, monkeypatch) -> tuple[Desk, Desk, Callable[[dict[str, Any]], bool]]:
    """A query without a condition, the same one with it over the same streams, and the condition in Python."""
    section, having, gives = CASES[request.param]
    monkeypatch.setitem(KINDS["aggregate"], "aggregate", section)
    every = Desk("aggregate", tmp_path / "every", 3)
    monkeypatch.setitem(KINDS["aggregate"], "aggregate", {**section, "having": having})
    return every, Desk("aggregate", tmp_path / "some", 3), gives


TOTAL = {"total": {"function": "sum", "column": "v"}}


def query_over(
    directory: Path, rows: list[tuple[int, int, int | None]], aggregate: dict[str, Any], **fields: Any
) -> Query:
    """A query over a file of tuples, each with its event and arrival time, in s, and an integer."""
    (directory / "in").mkdir(parents=True)
    times, integers = pa.timestamp("ms"), pa.int64()
    columns = {
        name: pa.array([START + 1000 * row[at] for row in rows], times) for at, name in enumerate(("at", "came"))
    }
    columns |= {"id": pa.array(range(len(rows)), integers), "v": pa.array([row[2] for row in rows], integers)}
    pq.write_table(pa.table(columns), directory / "in" / "0.parquet")
    stream = {"source": {"format": "parquet", "path": str(directory / "in")}, "event_time": "at", "id": "id"}
    declared = {"name": "totals", "kind": "aggregate", "streams": {"rows": stream | {"arrival_time": "came"}}}
    declared |= {"window": "1 s", "aggregate": aggregate, "disorder": {"policy": "none"}}
    return declared_query(declared | fields)


def test_what_is_given_is_what_meets_the_condition(desks) -> None:
    every, some, gives = desks
    came, went = False, False
    for step in range(5):
        for desk in (every, some):
            desk.driver.run(1000, flush=step == 4)
            if step % 2 == 0:
                desk.correct()
            desk.write()
        for streamed in (True, False):
            rows, columns = read_answers(every.driver.query, every.driver.warehouse, streamed)
            expected = [str({name: row[name] for name in columns}) for row in rows.to_pylist() if gives(row)]
            assert len(expected) < rows.num_rows
            assert rows_of(some.driver.query, some.driver.warehouse, streamed) == expected
        some.refresh()
        some.assert_equal()
        streamed_, latest = (
            {
                (row["key"], row["window_end"])
                for row in read_answers(some.driver.query, some.driver.warehouse, way)[0].to_pylist()
            }
            for way in (True, False)
        )
        came, went = came or bool(latest - streamed_), went or bool(streamed_ - latest)
    assert came, "no correction gave an answer that the stream withheld"
    assert went, "no correction took an answer back"


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.needs("long"))])
def test_corrections_in_any_order_end_with_what_meets_the_condition(desks, seed) -> None:
    """A window may meet the condition by an early cut-off alone, whose correction may be the last one to run."""
    every, some, gives = desks
    for desk in desks[:2]:
        for _ in range(6):
            desk.write()
        desk.driver.run(1000, flush=True)
    arrived = sorted({row["arrived"] for row in some.driver.tables.read("late", ["arrived"]).to_pylist()})
    cuts = [arrived[0] - 100, *arrived[1 : -1 : len(arrived) // 4], arrived[-1] + 100]
    intervals = [CorrectionRange(*each, arrival=True) for each in itertools.pairwise(cuts)]
    random.Random(seed).shuffle(intervals)
    for interval in intervals:
        for desk in desks[:2]:
            correct_here(desk.driver.query, desk.driver.warehouse, interval)
    rows, columns = read_answers(every.driver.query, every.driver.warehouse, streamed=False)
    expected = [str({name: row[name] for name in columns}) for row in rows.to_pylist() if gives(row)]
    assert rows_of(some.driver.query, some.driver.warehouse, streamed=False) == expected


def test_an_early_cut_off_gives_no_answer_that_a_later_one_withheld(tmp_path) -> None:
    """The window has 3, then 6, then 16; the stream's 3 is withheld, and so is 16."""
    rows = [(1, 1, 3), (12, 12, 6), (2, 15, 3), (24, 24, 6), (3, 25, 10), (45, 45, 6)]
    query = query_over(tmp_path, rows, TOTAL | {"having": "total between 5 and 9"}, window="10 s")
    Driver(query, tmp_path / "wh").run(flush=True)
    for low, high in ((20, 30), (10, 20)):
        report = correct_here(
            query, tmp_path / "wh", CorrectionRange(START + 1000 * low, START + 1000 * high, arrival=True)
        )
        assert report.retracted == 0, "no answer was there to be taken back"
    answers, _ = read_answers(query, tmp_path / "wh", streamed=False)
    assert answers["window_start"].to_pylist() == [START + 10_000, START + 20_000, START + 40_000]


def test_a_stream_counts_and_shows_the_answers_that_it_gives(desks, monkeypatch) -> None:
    _, some, _ = desks
    some.driver.run(1000, flush=True)
    written = some.driver.tables.read("results").to_pylist()
    withheld = [row for row in written if row[RETRACTED]]
    metrics = some.driver.tables.read("metrics").to_pylist()
    assert sum(row["answers"] for row in metrics) == len(written) - len(withheld) > 0
    assert sum(dict(row["counts"] or ()).get("withheld", 0) for row in metrics) == len(withheld) > 0
    view = view_of(some.driver.query, some.driver.warehouse)
    monkeypatch.setattr(answers_panel, "LOOKED_AT", 3)
    shown = read(view, AnswersRequest(limit=2))
    pages = [len(shown.rows)]
    while shown.next is not None:
        shown = read(view, AnswersRequest(limit=2, before=shown.next))
        pages.append(len(shown.rows))
    assert set(pages[:-1]) == {2}
    assert sum(pages) == len(written) - len(withheld)
    assert RETRACTED not in {column.name for column in shown.columns}


def test_a_topic_gets_the_answers_that_are_given_and_loses_those_taken_back(desks, monkeypatch) -> None:
    _, some, _ = desks
    topic = fake_topic(monkeypatch)
    some.driver.query = sending(some.driver.query)
    some.driver.run(1000, flush=True)
    assert len(topic.records) == sum(not row[RETRACTED] for row in some.driver.tables.read("results").to_pylist())
    correct_here(some.driver.query, some.driver.warehouse)
    send_corrections(some.driver.layout, some.query, some.driver.pipeline.kind, 0)
    rows, columns = read_answers(some.driver.query, some.driver.warehouse, streamed=False)
    columns = [name for name in columns if name != "coverage"]
    assert texts(topic.shown(), columns) == as_shown(rows, columns)


def test_an_answer_that_came_or_went_is_wrong_as_streamed_and_one_that_was_withheld_twice_does_not_count(
    tmp_path,
) -> None:
    """The windows have 9 and -5, 1 and 9, 1 and 1, 9 and 9, of which the second value is late."""
    on_time, late = [9, 1, 1, 9], [-5, 9, 1, 9]
    rows = [*((n, n, v) for n, v in enumerate(on_time)), (8, 8, 0), *((n, 9, v) for n, v in enumerate(late))]
    query = query_over(tmp_path, rows, TOTAL | {"having": "total > 5"})
    Driver(query, tmp_path / "wh").run(flush=True)
    correct_here(query, tmp_path / "wh")
    answers, _ = read_answers(query, tmp_path / "wh", streamed=False)
    assert answers["total"].to_pylist() == [10, 18]
    quality, _ = read_quality(query, tmp_path / "wh")
    (bucket,) = quality.to_pylist()
    assert (bucket["answers"], bucket["missing"], bucket["off"], bucket["worst_error"]) == (2, 1, 3, 1.0)
    corrections = Driver(query, tmp_path / "wh").tables.read("corrections").to_pylist()
    assert {(row["window_end"] - START, row["total"], row[RETRACTED]) for row in corrections} == {
        (1000, 4, True),
        (2000, 10, False),
        (3000, 2, True),
        (4000, 18, False),
        (9000, 0, True),
    }
    withheld = AnswerId({"key": None, "window_start": START + 2000, "window_end": START + 3000})
    with pytest.raises(Refused, match="the id of no answer"):
        read_answer(view_of(query, tmp_path / "wh"), AnswerRequest(id=str(withheld)))


def test_a_chained_query_reads_the_answers_that_are_given(tmp_path) -> None:
    declared = declarations(tmp_path / "in")[:2]
    declared[0]["aggregate"]["having"] = "revenue % 2 = 0"
    revenue, hourly = (declared_query(each) for each in declared)
    events = [(START + 60_000 * n, START + 60_000 * n + 10, n, "a", n) for n in range(30)]
    write(events, tmp_path / "in" / "0.parquet")
    Driver(revenue, tmp_path / "wh").run()
    Driver(hourly, tmp_path / "wh").run()
    late = [(START + 60_000 * n + 5, START + 60_000 * 40 + n, 100 + n, "a", 1) for n in range(0, 30, 3)]
    write(late, tmp_path / "in" / "1.parquet")
    Driver(revenue, tmp_path / "wh").run(flush=True)
    correct_here(revenue, tmp_path / "wh")
    Driver(hourly, tmp_path / "wh").run(flush=True)
    correct_here(hourly, tmp_path / "wh")
    totals = [n + (n % 3 == 0) for n in range(30)]
    even = [total for total in totals if total % 2 == 0]
    answers, _ = read_answers(hourly, tmp_path / "wh", streamed=False)
    assert answers.select(["revenue", "minutes"]).to_pylist() == [{"revenue": sum(even), "minutes": len(even)}]


def test_nulls_and_failures_are_no_answers_and_the_run_says_how_many(tmp_path) -> None:
    rows = [(n, n, value) for n, value in enumerate([2, 0, None, 4])]
    said = []
    for name, having in (("some", "10 / max(v) > 3"), ("none", "max(v) > 99")):
        section = {"n": {"function": "count"}, "having": having}
        query = tailrace.Query(query_over(tmp_path / name, rows, section, name=name))
        run = query.run(engine="local", warehouse=tmp_path / "wh")
        said.append((run.results().arrow().num_rows, *(line for line in run.summary.lines() if "having" in line)))
    assert said == [
        (1, "3 of 4 answers withheld: having is not true for them"),
        (0, "warning: 4 of 4 answers withheld: having is not true for them"),
    ]


REFUSALS = [
    ("having: n > 1 and nn > 1", "aggregate.having: at 1:11: no answer has a column nn", "n; or an aggregate"),
    ("having: window_end > 1", "no answer has a column window_end", "tailrace results --where"),
    ("having: n >", "aggregate.having: at", ""),
    ("having: sum(v * 2) > 1", "v * 2 is no column of the stream", "columns: {name: v * 2}"),
    ("having: lag(n) > 1", "lag is no aggregate", ""),
    ("having: [n > 1]", "aggregate.having", ""),
    ("havin: n > 1", "aggregate.havin: 'havin' is no field here", "having: n > 1"),
]


@pytest.mark.parametrize(("having", "fault", "remedy"), REFUSALS)
def test_a_condition_that_no_answer_can_meet_is_refused_with_its_place(having: str, fault: str, remedy: str) -> None:
    with pytest.raises(Refused) as refused:
        query_of(f"  n: {{function: count}}\n  {having}\n")
    assert fault in str(refused.value)
    assert remedy in str(refused.value)
    assert "revenue.yaml:12" in str(refused.value)


def test_the_short_form_takes_its_own_aggregate_and_the_number_of_tuples() -> None:
    query = query_of("  function: sum\n  column: net\n  having: SUM( net ) > 10 and count(*) > 2\n")
    assert query.structure()["aggregate.having"] == "value > 10 and tuples > 2"
    for other in ("max(net)", "sum(net) filter (where net > 1)"):
        with pytest.raises(Refused, match=r"having: at 1:1: this \w+ is not the section's own sum, of its column"):
            query_of(f"  function: sum\n  column: net\n  having: {other} > 10\n")
    with pytest.raises(Refused, match=r"aggregate.having: .* does not fit"):
        query_of("  function: sum\n  column: net\n  having: {a: b}\n")


def test_a_condition_beside_the_section_is_told_its_place() -> None:
    with pytest.raises(Refused, match=r"revenue.yaml:12: having: 'having' is no field here\n.*aggregate: \{…, having"):
        query_of("  n: {function: count}\nhaving: n > 1\n")


@pytest.mark.parametrize(
    "section",
    [
        "  n: {function: count, estimate: true}\n  having: n > 1\n",
        "  function: count\n  estimate: true\n  having: value > 1\n",
    ],
)
def test_estimates_decide_nothing(section: str) -> None:
    with pytest.raises(Refused, match="no estimate, or no having"):
        query_of(section)


def test_a_condition_that_is_no_boolean_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    table = pa.table({"at": pa.array([0], pa.timestamp("ms")), "id": [1], "v": ["a"]})
    pq.write_table(table, tmp_path / "in" / "0.parquet")
    stream = {"source": {"format": "parquet", "path": str(tmp_path / "in")}, "event_time": "at", "id": "id"}
    for having, fault in (("n + 1", "the condition is"), ("sum(v) > 1", "function sum takes numbers")):
        aggregate = {"n": {"function": "count"}, "having": having}
        fields = {"name": "n", "kind": "aggregate", "streams": {"rows": stream}, "window": "1 s"}
        with pytest.raises(Unfit) as refused:
            local_stream.run(declared_query(fields | {"aggregate": aggregate}), tmp_path / "wh", RunOptions(live=False))
        assert "aggregate.having: 1:1" in str(refused.value)
        assert fault in str(refused.value)
    assert not [*(tmp_path / "wh").rglob("*.parquet")]


def test_an_aggregate_may_be_named_having_and_a_declaration_without_one_is_as_before() -> None:
    query = query_of("  having: {function: count}\n")
    assert query.value_names == {"having"}
    assert "aggregate.having" not in query.structure()
    assert "having" not in query_of("  function: count\n").model_dump(mode="json")["aggregate"]


def test_the_columns_of_a_condition_decide_which_answers_there_are() -> None:
    query = query_of("  n: {function: count}\n  having: max(net) > 10\n")
    lineage = column_lineage(query)
    assert lineage.columns.keys() == {"key", "window_start", "window_end"}
    assert ("net", "FILTER", "max(net) > 10") in {(each.column, each.way, each.expression) for each in lineage.answers}


def test_a_kind_without_a_condition_marks_nothing(tmp_path: Path) -> None:
    desk = Desk("aggregate", tmp_path, random.Random(0).randrange(9))
    desk.driver.run(1000)
    assert isinstance(desk.driver.pipeline.kind, Aggregate)
    assert RETRACTED not in desk.driver.tables.schema("results").names
