"""Answers with expressions over `min`, `max`, `first` and `last`: whatever a run has written, each reader gives."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import tailrace as package
from kit.runs.shown import shown
from tailrace.panels.query_view import DeclaredView
from tailrace.panels.registry import PANELS
from tailrace.query.loading import load
from tailrace.storage.layout import Layout

QUERY = """\
name: trades
kind: aggregate
streams:
  trades: {source: {format: json, path: in}, event_time: at, arrival_time: came, id: id, key: pair}
window: 1 min
aggregate:
  hi: {function: max, column: price}
  lo: {function: min, column: price}
  open: {function: first, column: price}
  close: {function: last, column: price}
  twice: {expression: "hi * 2"}
  span: {expression: "hi - lo"}
  rise: {expression: "close - open"}
disorder: {policy: k_slack, k: 0 s}
"""
RECORDS = [  # the one of 08:00:50 comes when its window has closed
    {"id": "a", "at": "2026-01-01T08:00:05Z", "came": "2026-01-01T08:00:06Z", "pair": "x", "price": 7},
    {"id": "b", "at": "2026-01-01T08:00:40Z", "came": "2026-01-01T08:00:41Z", "pair": "x", "price": 5},
    {"id": "c", "at": "2026-01-01T08:01:10Z", "came": "2026-01-01T08:01:11Z", "pair": "x", "price": None},
    {"id": "d", "at": "2026-01-01T08:00:50Z", "came": "2026-01-01T08:01:30Z", "pair": "x", "price": 9},
]
NAMES = ("hi", "lo", "open", "close", "twice", "span", "rise")
STREAMED = [(7, 5, 7, 5, 14, 2, -2), (None,) * 7]
CORRECTED = [(9, 5, 7, 9, 18, 4, 2), (None,) * 7]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with the query, which was run and corrected."""
    folder = tmp_path_factory.mktemp("trades")
    (folder / "in").mkdir()
    (folder / "in" / "1.json").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    (folder / "trades.yaml").write_text(QUERY)
    package.load(folder / "trades.yaml").run(folder / "warehouse", engine="local").correct(engine="local")
    return folder


@pytest.mark.parametrize(("as_of", "expected"), [("stream", STREAMED), ("corrected", CORRECTED)])
def test_results_in_each_form(place, tmp_path, tailrace, as_of, expected):
    named = ("results", place / "trades.yaml", "--warehouse", place / "warehouse", "--as-of", as_of)
    assert tailrace(*named).stdout.count("2026-01-01T08:0") >= len(expected), "a table, as wide as the terminal is"
    lines = [json.loads(line) for line in tailrace(*named, "--format", "jsonl").stdout.splitlines()]
    assert [tuple(line[name] for name in NAMES) for line in lines] == expected
    rows = [*csv.DictReader(tailrace(*named, "--format", "csv").stdout.splitlines())]
    texts = [tuple("" if value is None else str(value) for value in row) for row in expected]
    assert [tuple(row[name] for name in NAMES) for row in rows] == texts
    tailrace(*named, "--format", "parquet", "--output", tmp_path / "answers.parquet")
    answers = pq.read_table(tmp_path / "answers.parquet")
    assert [tuple(row[name] for name in NAMES) for row in answers.to_pylist()] == expected
    assert {str(answers.schema.field(name).type) for name in NAMES} == {"int64"}


def test_the_other_readers(place, tmp_path, tailrace):
    query = place / "trades.yaml"
    in_warehouse = ("--warehouse", place / "warehouse")
    lines = tailrace("quality", query, *in_warehouse, "--format", "jsonl").stdout.splitlines()
    measured = [json.loads(line) for line in lines]
    assert [row["answer"] for row in measured] == list(NAMES)
    assert [row["worst_error"] for row in measured if row["answer"] == "twice"] == [pytest.approx(4 / 18)]
    assert json.loads(tailrace("late", query, *in_warehouse, "--format", "jsonl").stdout)["tuples"] == 1
    tailrace("plot", query, *in_warehouse, "--output", tmp_path / "trades.svg")
    assert (tmp_path / "trades.svg").stat().st_size > 0


def test_a_view_of_a_stream_has_the_types_of_its_answers(place):
    query = load(place / "trades.yaml")
    view = DeclaredView(Layout.for_query(place / "warehouse", query.name), None, query)
    assert {str(view.kind.answer.field(name).type) for name in NAMES} == {"int64"}
    for panel in PANELS:
        if panel.name != "answer":
            assert "NamedError" not in json.dumps(shown(panel, view))


def test_a_view_of_a_declaration_that_no_stream_runs_has_its_answers_without_types(place):
    edited = place / "edited.yaml"
    edited.write_text(QUERY.replace("column: price", "column: cost"))
    query = load(edited)
    view = DeclaredView(Layout.for_query(place / "warehouse", query.name), None, query)
    assert view.kind.names == NAMES


def test_before_the_first_batch_there_are_no_answers_but_their_columns(place, tmp_path, tailrace):
    query = load(place / "trades.yaml")
    begun = Layout.for_query(place / "warehouse", query.name).manifest()
    Layout.for_query(tmp_path, query.name).create_checkpoint(
        begun.structure, begun.types, begun.identities, begun.columns
    )
    named = (place / "trades.yaml", "--warehouse", tmp_path)
    tailrace("results", *named, "--format", "parquet", "--output", tmp_path / "answers.parquet")
    answers = pq.read_table(tmp_path / "answers.parquet")
    assert [str(answers.schema.field(name).type) for name in NAMES] == ["int64"] * len(NAMES)
    assert (answers.num_rows, tailrace("late", *named, "--format", "jsonl").stdout) == (0, "")
